//! Attacks that are made once: full and read-only disks, closed pipes, one folder for two runs.

use std::process::{Command, Stdio};

use anyhow::Result;

use super::Field;
use super::scenarios::files;

/// An attack and how it went.
pub(super) struct Attack {
    pub(super) name: &'static str,
    pub(super) exit: String,
    /// What got through.
    pub(super) fault: Option<String>,
}

/// Makes all attacks.
pub(super) fn all(field: &Field) -> Result<Vec<Attack>> {
    let full = |name: &str| format!("ln -sf /dev/full {name}; ");
    let mut done = vec![];
    for (name, script, expected) in [
        ("model on a full disk", full("f.paretau") + "P fit people.csv --treatment t --outcome y -e lr-2 --out f.paretau", 3),
        ("effects on a full disk", full("f.csv") + "P effect model.paretau people.csv --out f.csv", 3),
        ("Parquet on a full disk", full("f.parquet") + "P effect model.paretau people.csv --out f.parquet", 3),
        ("page on a full disk", full("f.html") + "P report model.paretau --out f.html", 3),
        ("standard output on a full disk", "P list estimators > /dev/full".to_owned(), 3),
        ("effects to a full standard output", "P effect model.paretau people.csv > /dev/full".to_owned(), 3),
        ("effects to a reader that has gone", "P effect model.paretau many.csv | head -n 1 > /dev/null; exit ${PIPESTATUS[0]}".to_owned(), 0),
        ("a list to a reader that has gone", "P list estimators --json | true; exit ${PIPESTATUS[0]}".to_owned(), 0),
        ("standard error closed", "P fit people.csv --treatment t --outcome y -e lr-2 --out closed.paretau 2>&-; s=$?; rm -f closed.paretau; exit $s".to_owned(), 0),
        ("a file that may not grow", "trap '' XFSZ; ulimit -f 1; P effect model.paretau people.csv --out earlier-effects.csv".to_owned(), 3),
    ] {
        done.push(attack(field, name, &script, expected)?);
    }
    // Root may write anywhere, so that read-only folders are no attack then.
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|out| out.stdout == b"0\n");
    for (name, command) in [
        ("model into a read-only folder", "P fit people.csv --treatment t --outcome y -e lr-2 --out ro/m.paretau"),
        ("run into a read-only folder", "P run plan.toml --out ro --resume"),
    ] {
        let script = if is_root {
            // A folder of the system that takes no files from anyone.
            command.replace("ro/m.paretau", "/proc/m.paretau").replace("--out ro ", "--out /proc/run ")
        } else {
            format!("mkdir -p ro; chmod a-w ro; {command}; s=$?; chmod u+w ro; rmdir ro; exit $s")
        };
        done.push(attack(field, name, &script, 3)?);
    }
    Ok(done)
}

fn attack(field: &Field, name: &'static str, script: &str, expected: i32) -> Result<Attack> {
    let before = files_of(field)?;
    let script = script.replace("P ", &format!("'{}' ", field.program.display()));
    let out = Command::new("bash").args(["-c", &script]).current_dir(&field.folder).stdin(Stdio::null()).output()?;
    for link in ["f.paretau", "f.csv", "f.parquet", "f.html"] {
        let _ = std::fs::remove_file(field.at(link));
    }
    let text = String::from_utf8_lossy(&out.stderr);
    let fault = if out.status.code() != Some(expected) {
        Some(format!("ended with {}, not {expected}", out.status))
    } else if text.contains("panicked") {
        Some("panicked".to_owned())
    } else if files_of(field)? != before {
        Some("a file changed".to_owned())
    } else {
        None
    };
    Ok(Attack { name, exit: out.status.code().map_or("signal".to_owned(), |code| code.to_string()), fault })
}

/// The files of the field without the scenarios' folder.
fn files_of(field: &Field) -> Result<super::scenarios::Files> {
    let _ = std::fs::remove_dir_all(field.at("work"));
    files(&field.folder)
}
