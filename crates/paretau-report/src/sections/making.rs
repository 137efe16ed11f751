//! How the model was made, and how to make it again.

use super::Section;
use crate::html::{Cell, Table, code, escape};
use crate::number::significant;
use crate::records::ModelRecords;

pub(crate) fn making(records: &ModelRecords) -> Section {
    let making = &records.making;
    let question = &records.question;
    let mut html = format!(
        "<p>{}: {}. <span class=\"muted\">{}</span></p>",
        code(&question.estimator),
        escape(question.summary.trim_end_matches('.')),
        escape(&question.reference)
    );
    html += &format!(
        "<h3>Reproduce this</h3><pre class=\"command\" tabindex=\"0\"><code>{}</code></pre><p>Fitted with paretau {} and seed {}; \
         the same command gives the same numbers, whatever the number of threads.</p>",
        escape(&making.command),
        escape(&making.version),
        making.seed
    );
    if !records.notes.is_empty() {
        let items: String = records.notes.iter().map(|n| format!("<li>{}</li>", escape(n))).collect();
        html += &format!("<h3>What was done to the data</h3><ul>{items}</ul>");
    }
    if !making.params.is_empty() {
        let rows = making
            .params
            .iter()
            .map(|p| {
                let value = if p.value == p.default { code(&p.value) } else { format!("<b>{}</b>", code(&p.value)) };
                vec![Cell::html(code(&p.name)), Cell::html(value), Cell::html(code(&p.default)), Cell::text(&p.help)]
            })
            .collect();
        let table = Table { caption: "Parameters", header: &["parameter", "value", "default", "meaning"], rows };
        html += &format!("<h3>Parameters</h3>{}", table.folded(&format!("{} parameters", making.params.len())));
    }
    if !records.numbers.is_empty() {
        let rows = records
            .numbers
            .iter()
            .map(|(name, value)| vec![Cell::html(code(name)), Cell::number(*value, &significant(*value, 4))])
            .collect();
        let table = Table { caption: "Numbers of the fit", header: &["number", "value"], rows };
        html += &table.folded("Numbers from the fit");
    }
    Section { id: "making", heading: "How it was made", html }
}
