//! Golden files: numbers of reference libraries that our kernels must reproduce.
//!
//! Every `testdata/golden/make_*.py` writes JSON files into the folder given to it. `--check` makes them anew with
//! the real libraries and compares; it needs the network and minutes, so it is not part of `test`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::shell;
use crate::venv::Venv;

/// Reference libraries of another build may differ in the last digits; more than this is a change.
const TOLERANCE: f64 = 1e-9;

pub(crate) fn run(check: bool) -> Result<()> {
    let folder = shell::root().join("testdata/golden");
    let venv = Venv::with_requirements(".venv-golden", Path::new("testdata/golden/requirements.txt"))?;
    let made = if check { shell::root().join("target/golden") } else { folder.clone() };
    fs::create_dir_all(&made)?;
    for script in sorted_files(&folder, "py")? {
        println!("== {}", script.display());
        shell::run(&mut venv.command(&[&script.to_string_lossy(), &made.to_string_lossy()]))?;
    }
    if check { compare_folders(&folder, &made) } else { Ok(()) }
}

fn compare_folders(committed: &Path, made: &Path) -> Result<()> {
    let files = sorted_files(committed, "json")?;
    for file in &files {
        let other = made.join(file.file_name().unwrap_or_default());
        let read = |path: &Path| -> Result<Value> {
            Ok(serde_json::from_str(&fs::read_to_string(path).with_context(|| path.display().to_string())?)?)
        };
        if let Some(place) = first_difference(&read(file)?, &read(&other)?, "") {
            bail!("{} differs from what its script makes now, at {place}", file.display());
        }
    }
    println!("{} golden files agree with the reference libraries", files.len());
    Ok(())
}

fn sorted_files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)?.map(|e| e.map(|e| e.path())).collect::<Result<_, _>>()?;
    files.retain(|p| p.extension().is_some_and(|e| e == extension));
    files.sort();
    Ok(files)
}

fn first_difference(a: &Value, b: &Value, place: &str) -> Option<String> {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => {
            let (x, y) = (x.as_f64()?, y.as_f64()?);
            let close = (x - y).abs() <= TOLERANCE * x.abs().max(y.abs()).max(1.0);
            (!close).then(|| format!("{place}: {x} is now {y}"))
        }
        (Value::Array(x), Value::Array(y)) if x.len() == y.len() => {
            x.iter().zip(y).enumerate().find_map(|(i, (x, y))| first_difference(x, y, &format!("{place}[{i}]")))
        }
        (Value::Object(x), Value::Object(y)) if x.keys().eq(y.keys()) => {
            x.iter().find_map(|(key, value)| first_difference(value, &y[key], &format!("{place}.{key}")))
        }
        _ => (a != b).then(|| format!("{place}: {a} is now {b}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_changed_number_is_found_and_rounding_is_not() {
        let old = json!({"k": [0.5, 1.0], "name": "a"});
        assert_eq!(first_difference(&old, &json!({"k": [0.5, 1.0 + 1e-12], "name": "a"}), ""), None);
        assert_eq!(
            first_difference(&old, &json!({"k": [0.5, 1.1], "name": "a"}), ""),
            Some(".k[1]: 1 is now 1.1".into())
        );
        assert!(first_difference(&old, &json!({"k": [0.5], "name": "a"}), "").is_some());
    }
}
