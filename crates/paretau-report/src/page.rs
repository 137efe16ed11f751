//! The page around the sections.

use std::fmt::Write as _;

use paretau_core::Result;

use sha2::{Digest as _, Sha256};

use crate::html::{code, escape};
use crate::options::labelled;
use crate::records::{ModelRecords, RunRecords};
use crate::sections::{self, Section};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The page about a fitted model.
pub fn render(records: &ModelRecords) -> Result<String> {
    let records = &labelled(records);
    let question = &records.question;
    let mut parts: Vec<Section> = vec![sections::answer(records)?];
    parts.extend(sections::who(records)?);
    parts.push(sections::overlap(records)?);
    parts.extend(sections::balance(records)?);
    parts.extend(sections::features(records)?);
    parts.push(sections::making(records));
    parts.extend(sections::training(records)?);
    let title = format!("Effect of {} on {}", question.treatment, question.outcome);
    let title = records.options.title.clone().unwrap_or(title);
    let heading = sections::title(records);
    Ok(page(&title, (&heading, records.options.date.as_deref()), &records.making.version, &parts))
}

/// The page about an experiment's run.
pub fn render_run(run: &RunRecords) -> Result<String> {
    let heading = if run.cells > 0 {
        format!("How well do estimators do in {}?", code(&run.name))
    } else {
        format!("What {} draws", code(&run.name))
    };
    Ok(page(&format!("Run {}", run.name), (&heading, None), &run.version, &sections::run(run)?))
}

/// The page: plain title, heading with markup and a date, sections.
fn page(title: &str, (heading, date): (&str, Option<&str>), version: &str, parts: &[Section]) -> String {
    let script = format!("\n{SCRIPT}");
    let policy = script_policy(&script);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src '{policy}'; img-src data:\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"paretau {}\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
        escape(version),
        escape(title)
    );
    let date = date.map_or_else(String::new, |date| format!(", {}", escape(date)));
    let _ = write!(
        out,
        "<header><p class=\"brand\">paretau report{date}</p><h1>{heading}</h1><nav aria-label=\"Contents\"><ul>"
    );
    for part in parts {
        let _ = write!(out, "<li><a href=\"#{}\">{}</a></li>", part.id, part.heading);
    }
    out += "</ul></nav></header>\n<main>\n";
    for part in parts {
        let _ = writeln!(
            out,
            "<section id=\"{0}\" aria-labelledby=\"{0}-h\"><h2 id=\"{0}-h\">{1}</h2>{2}</section>",
            part.id, part.heading, part.html
        );
    }
    let _ = write!(out, "</main>\n<script>{script}</script>\n</body>\n</html>\n");
    out
}

/// What the page's policy allows to run: the script of this very text and no other, whatever comes into the page.
fn script_policy(script: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = "sha256-".to_owned();
    for chunk in Sha256::digest(script.as_bytes()).chunks(3) {
        let word = (0..3).fold(0_usize, |word, k| word << 8 | usize::from(chunk.get(k).copied().unwrap_or(0)));
        for k in 0..4 {
            out.push(if k <= chunk.len() { char::from(DIGITS[word >> (18 - 6 * k) & 63]) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_names_the_digest_of_the_script() {
        // The digest of the empty text is known to everyone.
        assert_eq!(script_policy(""), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
        let html = page("t", ("h", None), "1", &[]);
        let inside = html.split("<script>").nth(1).and_then(|rest| rest.split("</script>").next());
        assert!(html.contains(&format!("script-src '{}'", script_policy(inside.unwrap_or_default()))));
        assert!(!html.contains("script-src 'unsafe-inline'"));
    }
}
