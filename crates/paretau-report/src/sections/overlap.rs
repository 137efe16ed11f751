//! Whether the arms can be compared: propensities, weights, their tails, effective rows.

use paretau_core::Result;

use super::Section;
use crate::axis::Axis;
use crate::html::{Cell, Table};
use crate::number::{count, fixed, people, percent, significant, tick};
use crate::paint::Paint;
use crate::plot::{Key, Mark, Plot, Shape};
use crate::records::{ArmFindings, ArmOverlap, ArmWeights, ModelRecords, OverlapSummary, WeightRank};

const ARMS: [&str; 2] = ["control", "treated"];
const PAINTS: [Paint; 2] = [Paint::Control, Paint::Treated];

pub(crate) fn overlap(records: &ModelRecords) -> Result<Section> {
    let mut html = String::new();
    for (k, own) in records.overlap.iter().enumerate() {
        html += &arm_heading(records, k);
        let findings = records.findings.as_ref().and_then(|findings| findings.arms.get(k));
        html += &of_arm(own, findings, k)?;
    }
    Ok(Section { id: "overlap", heading: "Can the arms be compared?", html })
}

/// What stands above what is shown of the `k`-th treated arm; nothing where there is one.
pub(super) fn arm_heading(records: &ModelRecords, k: usize) -> String {
    match records.overlap.get(k) {
        Some(own) if records.overlap.len() > 1 => {
            let [arm, control] = [&own.arm, &records.question.arms[0]].map(|name| records.options.term(name));
            format!("<h3>{arm} against {control}</h3>")
        }
        _ => String::new(),
    }
}

/// The name of a chart about the `k`-th treated arm.
pub(super) fn arm_id(name: &str, k: usize) -> String {
    if k == 0 { name.to_owned() } else { format!("{name}-arm{}", k + 1) }
}

/// The range of propensities; in a trial all may be one number.
fn range_words((lo, hi): (f64, f64)) -> String {
    let (lo, hi) = (significant(lo, 2), significant(hi, 2));
    if lo == hi { format!("are {lo} for everybody") } else { format!("run from {lo} to {hi}") }
}

/// The `k`-th treated arm and the control.
fn of_arm(overlap: &OverlapSummary, findings: Option<&ArmFindings>, k: usize) -> Result<String> {
    let mut html = format!(
        "<p>People can be compared where both arms occur. Propensities, the chances of being treated given the features, {}. \
         Weighting by their inverse makes the arms alike, at a price: a person who is rare in their arm counts \
         for many.</p>",
        range_words(overlap.range)
    );
    html += "<div class=\"pair\">";
    html += &Plot { id: arm_id("propensities", k), ..propensities(overlap) }.html("")?;
    html += &Plot { id: arm_id("effective-rows", k), ..effective(overlap) }.html(
        "The effective sample size: how many people an unweighted comparison of the same precision would need. “Truncated” keeps \
         propensities between 0.1 and 0.9.",
    )?;
    html += "</div>";
    match findings {
        Some(findings) if findings.weights.iter().all(alike) => {
            html +=
                "<p>The weights of each arm are alike to within 5 %, as in a trial: there is no tail to smooth.</p>";
            html += &table(overlap);
        }
        Some(findings) => {
            html += "<div class=\"pair\">";
            for (arm, weights) in findings.weights.iter().enumerate() {
                let plot = weights_by_rank(arm, weights);
                html += &Plot { id: arm_id(&plot.id, k), ..plot }.html(&tail_words(&overlap.arms[arm], weights))?;
            }
            if findings.weights.iter().any(|w| w.tail.is_some() && !alike(w)) {
                html += &Plot { id: arm_id("tail-fit", k), ..tails(&findings.weights) }.html(&khat_words(overlap))?;
            }
            html += &table(overlap);
            html += "</div>";
        }
        None => html += &table(overlap),
    }
    Ok(html)
}

/// Whether an arm's weights hardly vary.
fn alike(weights: &ArmWeights) -> bool {
    match (weights.ranks.first(), weights.ranks.last()) {
        (Some(largest), Some(smallest)) => largest.raw <= 1.05 * smallest.raw,
        _ => true,
    }
}

fn propensities(overlap: &OverlapSummary) -> Plot {
    let mut marks = vec![];
    let mut top: [f64; 2] = [0.0; 2];
    for (arm, (bins, side)) in [(&overlap.control, -1.0), (&overlap.treated, 1.0)].into_iter().enumerate() {
        let total = bins.iter().map(|b| b.n).sum::<usize>().max(1) as f64;
        for bin in bins.iter().filter(|b| b.n > 0) {
            let share = bin.n as f64 / total;
            top[arm] = top[arm].max(share);
            marks.push(Mark::Bar {
                x: (bin.from + 0.002, bin.to - 0.002),
                y: (0.0, side * share),
                paint: PAINTS[arm],
                tip: format!(
                    "{} in the {} arm ({}) with a propensity from {} to {}",
                    people(bin.n),
                    ARMS[arm],
                    percent(share),
                    tick(bin.from),
                    tick(bin.to)
                ),
            });
        }
    }
    marks.push(Mark::Along { y: 0.0, paint: Paint::Axis });
    Plot {
        id: "propensities".to_owned(),
        title: "Propensities by arm".to_owned(),
        alternative: format!(
            "Mirrored histogram: treated people upwards, control people downwards. Propensities {}.",
            range_words(overlap.range)
        ),
        x: Axis::of_shares("propensity", tick),
        y: Axis::over("share of the arm", [-top[0], top[1]]).shown(|v| format!("{} %", tick(100.0 * v.abs()))),
        names: None,
        legend: vec![
            Key::new(Paint::Treated, Shape::Square, "treated"),
            Key::new(Paint::Control, Shape::Square, "control"),
        ],
        marks,
        height: 270,
    }
}

fn effective(overlap: &OverlapSummary) -> Plot {
    let kinds = ["raw", "truncated", "smoothed"];
    let mut names = vec![];
    let mut marks = vec![];
    for (arm, own) in overlap.arms.iter().enumerate() {
        for (kind, &rows) in kinds.iter().zip(&own.effective) {
            let y = names.len() as f64;
            let share = rows / own.n.max(1) as f64;
            marks.push(Mark::Bar {
                x: (0.0, share),
                y: (y - 0.32, y + 0.32),
                paint: PAINTS[arm],
                tip: format!(
                    "{} arm, {kind} weights: effective sample size {} of {} ({})",
                    ARMS[arm],
                    fixed(rows, 0),
                    count(own.n),
                    percent(share)
                ),
            });
            names.push(format!("{}, {kind}", ARMS[arm]));
        }
    }
    let summary: Vec<String> = overlap
        .arms
        .iter()
        .zip(ARMS)
        .map(|(a, name)| {
            let [raw, truncated, smoothed] = a.effective.map(|v| fixed(v, 0));
            format!("{name}: {raw} raw, {truncated} truncated, {smoothed} smoothed, of {}", count(a.n))
        })
        .collect();
    Plot {
        id: "effective-rows".to_owned(),
        title: "What is left after weighting".to_owned(),
        alternative: format!("Effective sample sizes. {}.", summary.join("; ")),
        x: Axis::of_shares("effective sample size, share of the arm", |v| format!("{} %", tick(100.0 * v))),
        y: Axis::of_names(names.len()),
        names: Some(names),
        legend: vec![
            Key::new(Paint::Control, Shape::Square, "control"),
            Key::new(Paint::Treated, Shape::Square, "treated"),
        ],
        marks,
        height: 270,
    }
}

fn weights_by_rank(arm: usize, weights: &ArmWeights) -> Plot {
    let point = |r: &WeightRank, w: f64| (r.rank as f64, w);
    let smoothed: Vec<(f64, f64)> = weights.ranks.iter().map(|r| point(r, r.smoothed)).collect();
    let mut marks = vec![];
    let mut legend =
        vec![Key::new(Paint::Before, Shape::Ring, "before smoothing"), Key::new(Paint::After, Shape::Line, "after")];
    if let Some(tail) = weights.tail {
        marks.push(Mark::Across { x: tail.m as f64, paint: Paint::Muted });
        legend.push(Key::new(Paint::Muted, Shape::Line, "where the tail begins"));
    }
    marks.push(Mark::Line { points: smoothed, paint: Paint::After, width: 2.4, tip: String::new() });
    for r in &weights.ranks {
        let tip = format!(
            "number {} by size: {} before smoothing, {} after",
            count(r.rank),
            significant(r.raw, 3),
            significant(r.smoothed, 3)
        );
        marks.push(Mark::Dot { at: point(r, r.raw), paint: Paint::Before, hollow: true, tip });
    }
    let largest = weights.ranks.first().map_or((1.0, 1.0), |r| (r.raw, r.smoothed));
    Plot {
        id: format!("weights-{}", ARMS[arm]),
        title: format!("Weights of the {} arm, largest first", ARMS[arm]),
        alternative: format!(
            "Inverse propensity weights by rank, both axes logarithmic. The largest is {} before smoothing and {} after.",
            significant(largest.0, 3),
            significant(largest.1, 3)
        ),
        x: Axis::logarithmic("rank of the weight (log scale)", weights.ranks.iter().map(|r| r.rank as f64)),
        y: Axis::logarithmic("weight (log scale)", weights.ranks.iter().flat_map(|r| [r.raw, r.smoothed])),
        names: None,
        legend,
        marks,
        height: 270,
    }
}

fn tail_words(arm: &ArmOverlap, weights: &ArmWeights) -> String {
    match weights.tail {
        _ if alike(weights) => "These weights are alike to within 5 %: there is no tail to smooth.".to_owned(),
        Some(tail) => format!(
            "The {} largest of {} weights are replaced by those of a generalised Pareto tail that is fitted to them.",
            count(tail.m),
            count(arm.n)
        ),
        None => "No tail could be fitted, so the weights stay as they are.".to_owned(),
    }
}

fn tails(weights: &[ArmWeights; 2]) -> Plot {
    let mut marks = vec![];
    let mut all = vec![];
    let mut summary = vec![];
    for (arm, own) in weights.iter().enumerate() {
        let Some(tail) = own.tail else { continue };
        summary.push(format!("{}: the {} largest weights", ARMS[arm], count(tail.m)));
        for r in own.ranks.iter().filter(|r| r.rank <= tail.m) {
            all.extend([r.smoothed, r.raw]);
            marks.push(Mark::Dot {
                at: (r.smoothed, r.raw),
                paint: PAINTS[arm],
                hollow: false,
                tip: format!(
                    "{} weight number {}: {} found, {} expected by the fitted tail",
                    ARMS[arm],
                    count(r.rank),
                    significant(r.raw, 3),
                    significant(r.smoothed, 3)
                ),
            });
        }
    }
    let axis = |label: &str| Axis::logarithmic(label, all.iter().copied());
    let (x, y) = (axis("weight expected by the fitted tail (log scale)"), axis("weight found (log scale)"));
    let ends = vec![(x.range.start, x.range.start), (x.range.end, x.range.end)];
    marks.insert(0, Mark::Line { points: ends, paint: Paint::Muted, width: 1.2, tip: String::new() });
    let mut legend: Vec<Key> = (0..2)
        .filter(|&arm| weights[arm].tail.is_some())
        .map(|arm| Key::new(PAINTS[arm], Shape::Dot, ARMS[arm]))
        .collect();
    legend.push(Key::new(Paint::Muted, Shape::Line, "perfect fit"));
    Plot {
        id: "tail-fit".to_owned(),
        title: "How well the tail fits".to_owned(),
        alternative: format!(
            "Largest weights as found against those expected by the fitted Pareto tail. {}.",
            summary.join("; ")
        ),
        x,
        y,
        names: None,
        legend,
        marks,
        height: 270,
    }
}

fn khat_words(overlap: &OverlapSummary) -> String {
    let summary: Vec<String> = overlap
        .arms
        .iter()
        .zip(ARMS)
        .map(|(arm, name)| match arm.khat {
            Some(k) => format!(
                "{name}: k-hat {} ({} the limit of {})",
                fixed(k, 2),
                if k > arm.khat_limit { "above" } else { "within" },
                fixed(arm.khat_limit, 2)
            ),
            None => format!("{name}: no tail to fit"),
        })
        .collect();
    format!(
        "k-hat is the heaviness of a tail: above its limit a few people decide what weighting gives. {}.",
        summary.join("; ")
    )
}

fn table(overlap: &OverlapSummary) -> String {
    type Row<'a> = (&'a str, &'a dyn Fn(&ArmOverlap) -> Cell);
    let whole = |v: f64| Cell::number(v, &fixed(v, 0));
    let digits = |v: f64| Cell::number(v, &significant(v, 3));
    let measures: [Row<'_>; 9] = [
        ("people", &|a| Cell::number(a.n as f64, &count(a.n))),
        ("people with a propensity below 0.05 or above 0.95", &|a| Cell::number(a.at_risk as f64, &count(a.at_risk))),
        ("k-hat of the weights' tail", &|a| a.khat.map_or_else(Cell::none, |k| Cell::number(k, &fixed(k, 2)))),
        ("limit of k-hat", &|a| Cell::number(a.khat_limit, &fixed(a.khat_limit, 2))),
        ("largest weight, raw", &|a| digits(a.max_raw)),
        ("largest weight, smoothed", &|a| digits(a.max_smoothed)),
        ("effective sample size, raw weights", &|a| whole(a.effective[0])),
        ("effective sample size, truncated weights", &|a| whole(a.effective[1])),
        ("effective sample size, smoothed weights", &|a| whole(a.effective[2])),
    ];
    let rows = measures
        .iter()
        .map(|(name, value)| vec![Cell::text(name), value(&overlap.arms[0]), value(&overlap.arms[1])])
        .collect();
    let table = Table { caption: "Both arms in numbers", header: &["measure", "control", "treated"], rows };
    format!("<div>{}</div>", table.html())
}
