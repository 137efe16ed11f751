//! How the model was made, and how to make it again.

use super::Section;
use crate::html::{Cell, Table, code, command, escape, prose};
use crate::number::significant;
use crate::records::{Mixture, ModelRecords};

pub(crate) fn making(records: &ModelRecords) -> Section {
    let making = &records.making;
    let question = &records.question;
    let mut html = format!(
        "<p>{}: {}. <span class=\"muted\">{}</span></p>",
        code(&question.estimator),
        escape(question.summary.trim_end_matches('.')),
        escape(&question.reference)
    );
    html += &records.mixture.as_ref().map_or_else(String::new, mixture);
    html += &format!(
        "<h3>Reproduce this</h3><pre class=\"command\" tabindex=\"0\"><code>{}</code></pre><p>Fitted with paretau {} and seed {}; \
         the same command gives the same numbers, whatever the number of threads.</p>",
        command(&making.command),
        escape(&making.version),
        making.seed
    );
    if !records.notes.is_empty() {
        let items: String = records.notes.iter().map(|n| format!("<li>{}</li>", prose(n))).collect();
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
        let table = Table {
            caption: "Numbers from the estimator’s own fit, which the answer above does not rest on",
            header: &["number", "value"],
            rows,
        };
        html += &table.folded("Numbers from the fit");
    }
    Section { id: "making", heading: "How it was made", html }
}

/// Who was considered, who was taken, and by which losses.
fn mixture(found: &Mixture) -> String {
    let loss = |value: f64| Cell::number(value, &significant(value, 4));
    let line = |label: &str, share: f64, losses: [f64; 2]| {
        let percent = if share > 0.0 { format!("{:.0} %", 100.0 * share) } else { "–".to_owned() };
        vec![Cell::html(code(label)), Cell::number(share, &percent), loss(losses[0]), loss(losses[1])]
    };
    let candidates = found.candidates.iter().map(|c| line(&c.label, c.share, [c.dr_loss, c.r_loss]));
    let rows = std::iter::once(line("mixture", 1.0, [found.dr_loss, found.r_loss])).chain(candidates).collect();
    let header = &["estimator", "share", "doubly robust loss", "R-loss"];
    let table = Table { caption: "Losses on rows that the fits did not see; lower is better", header, rows };
    let words =
        format!("It was {}. The mixture's own losses stand on weights that did not see the rows either.", found.words);
    format!("<p>{}</p>{}", escape(&words), table.folded(&format!("{} candidates", found.candidates.len())))
}
