//! A study's run: what it says in a sentence, its figure, published numbers beside ours, methods against each other, what
//! failed, and all numbers.

use paretau_core::Result;

use super::Section;
use crate::html::{Cell, Table, code, escape};
use crate::number::{count, fixed, significant};
use crate::records::{RunComparison, RunPair, RunPublished, RunRecords, RunScore, RunTail};

pub(crate) fn run(records: &RunRecords) -> Result<Vec<Section>> {
    let mut parts = vec![Section { id: "result", heading: "The result", html: result(records) }];
    if let Some(figure) = &records.figure {
        parts.push(Section { id: "figure", heading: "The figure", html: figure.html("figure")? });
    }
    if !records.tails.is_empty() {
        parts.push(Section { id: "tails", heading: "The fitted tails", html: tails(&records.tails).html() });
    }
    if !records.published.is_empty() {
        parts.push(Section { id: "published", heading: "Beside the published numbers", html: published(records) });
    }
    if let Some(comparison) = records.comparison.as_ref().filter(|c| c.ranks.len() > 1) {
        parts.push(Section { id: "comparison", heading: "Methods against each other", html: against(comparison) });
    }
    if !records.failures.is_empty() {
        let items: String = records.failures.iter().map(|f| format!("<li>{}</li>", escape(f))).collect();
        let html = format!(
            "<p>These cells have no scores and are missing from the means above.</p>\
             <div class=\"notice\"><h3>What failed</h3><ul>{items}</ul></div>"
        );
        parts.push(Section { id: "failures", heading: "Failures", html });
    }
    if !records.scores.is_empty() {
        parts.push(Section { id: "numbers", heading: "All numbers", html: table(&records.scores).html() });
    }
    Ok(parts)
}

fn result(records: &RunRecords) -> String {
    let mut html = format!("<p class=\"lead\">{}</p>", escape(&records.summary));
    if let Some(comparison) = &records.comparison {
        html += &format!("<p>{}</p>", verdict(comparison));
    }
    if !records.note.is_empty() {
        html += &format!("<p>{}</p>", escape(&records.note));
    }
    if records.cells > 0 {
        let fact = |name: &str, value: String| format!("<div><dt>{name}</dt><dd>{value}</dd></div>");
        html += "<dl class=\"facts\">";
        html += &fact("fits", format!("{} of {}", count(records.done), count(records.cells)));
        html += &fact("failed", count(records.failures.len()));
        html += &fact("hours of work", significant(records.hours, 2));
        html += "</dl>";
        if records.done < records.cells {
            html +=
                "<div class=\"notice\"><p>The run is not finished: what follows is about the fits so far.</p></div>";
        }
    }
    html
}

/// What the paired comparison says about the study's method, and how surely.
fn verdict(comparison: &RunComparison) -> String {
    let RunComparison { metric, n, ranks, hero, pairs } = comparison;
    let Some((best, best_rank)) = ranks.first() else { return String::new() };
    let own = ranks.iter().find(|(name, _)| name == hero);
    let mut out = format!(
        "By {} over {} realisations, {} has the best mean rank, {} of {}",
        code(metric),
        count(*n),
        code(best),
        fixed(*best_rank, 2),
        count(ranks.len())
    );
    if let Some((_, rank)) = own.filter(|_| hero != best) {
        out += &format!("; {}, which the study is about, has {}", code(hero), fixed(*rank, 2));
    }
    out += ". ";
    let overall = |pair: &&RunPair| pair.data == "all" || !pairs.iter().any(|p| p.data == "all");
    let names = |test: &dyn Fn(&RunPair) -> bool| -> Vec<String> {
        let mut found: Vec<String> =
            pairs.iter().filter(overall).filter(|p| test(p)).map(|p| code(&p.against)).collect();
        found.dedup();
        found
    };
    let groups = [
        ("Its error is surely smaller than that of", names(&|p| p.interval.1 < 1.0)),
        ("surely larger than that of", names(&|p| p.interval.0 > 1.0)),
        ("and not surely different from that of", names(&|p| p.interval.0 <= 1.0 && p.interval.1 >= 1.0)),
    ];
    let mut summary = vec![];
    for (words, names) in groups {
        if !names.is_empty() {
            summary.push(format!("{words} {}", names.join(", ")));
        }
    }
    if let Some(first) = summary.first_mut() {
        let plain = first.trim_start_matches("and ").trim_start_matches("Its error is ").to_owned();
        *first = format!("{}\u{2019}s error is {plain}", code(hero));
        out += &summary.join("; ");
        out += ". \u{201c}Surely\u{201d} means that the 95 % interval of the ratio of errors, over realisations, leaves out 1.";
    }
    out
}

fn published(records: &RunRecords) -> String {
    let note = if records.note.is_empty() {
        "The data are not the same, so neither are the numbers meant to be.".to_owned()
    } else {
        escape(&records.note)
    };
    let spread = |mean: f64, sd: Option<f64>| match sd {
        Some(sd) => format!("{} ± {}", significant(mean, 3), significant(sd, 2)),
        None => significant(mean, 3),
    };
    let row = |p: &RunPublished| {
        vec![
            Cell::html(code(&p.method)),
            Cell::text(&p.data),
            Cell::number(p.mean, &spread(p.mean, p.sd)),
            Cell::text(&p.published_data),
            Cell::number(p.published_mean, &spread(p.published_mean, Some(p.published_sd))),
            Cell::number(p.mean / p.published_mean, &fixed(p.mean / p.published_mean, 2)),
        ]
    };
    let table = Table {
        caption: "Mean ± standard deviation over realisations, ours and as published",
        header: &["method", "our data", "ours", "their data", "published", "ours / published"],
        rows: records.published.iter().map(row).collect(),
    };
    format!("<p>{note}</p>{}", table.html())
}

fn against(comparison: &RunComparison) -> String {
    let ranks = Table {
        caption: "Mean rank; 1 would be the smallest error in every realisation",
        header: &["method", "mean rank"],
        rows: comparison
            .ranks
            .iter()
            .map(|(name, rank)| vec![Cell::html(code(name)), Cell::number(*rank, &fixed(*rank, 2))])
            .collect(),
    };
    let pairs = Table {
        caption: "Ratio of errors; below 1 the first method's are smaller",
        header: &["against", "data", "ratio", "95 % interval", "wins", "of"],
        rows: comparison
            .pairs
            .iter()
            .map(|p| {
                vec![
                    Cell::html(code(&p.against)),
                    Cell::text(&p.data),
                    Cell::number(p.ratio, &fixed(p.ratio, 3)),
                    Cell::number(p.interval.0, &format!("{} to {}", fixed(p.interval.0, 3), fixed(p.interval.1, 3))),
                    Cell::number(p.wins as f64, &count(p.wins)),
                    Cell::number(p.n as f64, &count(p.n)),
                ]
            })
            .collect(),
    };
    format!(
        "<p>Within each realisation, so that what makes all methods err together cancels. {} against every other by {}; \
         intervals are bootstraps over realisations, and one that holds 1 settles nothing.</p>\
         <div class=\"pair\"><div>{}</div><div>{}</div></div>",
        code(&comparison.hero),
        code(&comparison.metric),
        ranks.html(),
        pairs.html()
    )
}

fn tails(tails: &[RunTail]) -> Table<'static> {
    Table {
        caption: "The generalised Pareto distribution that smooths the largest weights",
        header: &["smoothing", "weights in the tail", "scale", "shape", "largest weight after"],
        rows: tails
            .iter()
            .map(|t| {
                let number = |value: f64, decimals: usize| Cell::number(value, &fixed(value, decimals));
                vec![Cell::text(&t.name), number(t.tail, 1), number(t.sigma, 3), number(t.xi, 3), number(t.largest, 1)]
            })
            .collect(),
    }
}

fn table(scores: &[RunScore]) -> Table<'static> {
    Table {
        caption: "Mean and standard deviation over realisations and seeds",
        header: &["data", "method", "metric", "mean", "sd", "runs"],
        rows: scores
            .iter()
            .map(|s| {
                vec![
                    Cell::text(&s.data),
                    Cell::html(code(&s.method)),
                    Cell::html(code(&s.metric)),
                    Cell::number(s.mean, &significant(s.mean, 4)),
                    s.sd.map_or_else(Cell::none, |sd| Cell::number(sd, &significant(sd, 3))),
                    Cell::number(s.n as f64, &count(s.n)),
                ]
            })
            .collect(),
    }
}
