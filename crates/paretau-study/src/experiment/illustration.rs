//! Plans without data: what the kernels do to a few weights, drawn. The paper's figure 2 is one of them.

use paretau_core::{Error, Result, Seed};
use paretau_kernels::KernelError;
use paretau_kernels::fallback::TailFit;
use paretau_kernels::pareto::HardPareto;
use paretau_kernels::soft_pareto::SoftPareto;
use paretau_kernels::soft_pareto_options::{SoftParetoOptions, Units};
use paretau_kernels::soft_rank::SoftRank;
use paretau_report::{Content, Figure, FigureLine, FigurePoint, Panel, RunTail};
use serde::{Deserialize, Serialize};

/// Points of a curve.
const POINTS: usize = 241;
/// Looks of what is neither hard nor soft: the weights as they come.
const PLAIN: u8 = 8;
/// Ranks that are shown of the weights.
const RANKS: usize = 120;

/// What to draw: ranks and smoothing, hard and soft.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Illustration {
    /// Weights among which one weight moves.
    pub others: Vec<f64>,
    /// Strengths of the soft ranks, on the weights as they are.
    pub rank_eps: Vec<f64>,
    /// Number of inverse propensity weights that are smoothed.
    pub weights: usize,
    /// Standard deviation of the log odds that these weights come from: the larger, the heavier their tail.
    pub log_odds_sd: f64,
    /// Strengths of soft smoothing, in scale-free units.
    pub smoothing_eps: Vec<f64>,
    /// Steepness of the step of soft smoothing.
    pub kappa: f64,
}

impl Illustration {
    pub(super) fn check(&self) -> Result<()> {
        let positive = |values: &[f64]| values.iter().all(|v| v.is_finite() && *v > 0.0);
        if self.others.len() < 2 || !positive(&self.others) {
            return Err(Error::unfit("an illustration needs at least two other weights above 0"));
        }
        if !positive(&self.rank_eps) || !positive(&self.smoothing_eps) || !positive(&[self.kappa, self.log_odds_sd]) {
            return Err(Error::unfit("eps, kappa and log_odds_sd of an illustration must be above 0"));
        }
        if !(25..=100_000).contains(&self.weights) {
            return Err(Error::unfit("an illustration smooths between 25 and 100000 weights"));
        }
        Ok(())
    }

    /// The figure, and what was fitted.
    pub(crate) fn draw(&self, title: &str) -> Result<(Figure, Vec<RunTail>)> {
        let (smoothed, tails) = self.smoothed()?;
        let figure = Figure {
            title: title.to_owned(),
            caption: format!(
                "(a) One weight moves among {}: its rank jumps, its soft rank does not. (b) {} inverse propensity \
                 weights (log odds of standard deviation {}), largest first, before and after smoothing. (c) One of \
                 them moves: what smoothing makes of it. Soft smoothing has eps in scale-free units and kappa {}.",
                self.others.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
                self.weights,
                self.log_odds_sd,
                self.kappa
            ),
            panels: vec![self.ranks()?, smoothed, self.moving()?],
        };
        Ok((figure, tails))
    }

    /// The rank of one weight among the others, hard and soft.
    fn ranks(&self) -> Result<Panel> {
        let top = self.others.iter().fold(0.0_f64, |a, b| a.max(*b)) + 1.0;
        let xs = grid(0.0, top, POINTS);
        let mut lines = vec![];
        // A step is a line that goes up at once.
        let hard = xs.iter().map(|&x| {
            let below = self.others.iter().filter(|w| **w < x).count() as f64;
            let equal = self.others.iter().filter(|w| **w == x).count() as f64;
            (x, 1.0 + below + equal / 2.0)
        });
        lines.push(line("hard rank", 0, hard));
        let mut kernel = SoftRank::default();
        for (k, &eps) in self.rank_eps.iter().enumerate() {
            let mut points = vec![];
            for &x in &xs {
                let w: Vec<f64> = std::iter::once(x).chain(self.others.iter().copied()).collect();
                let mut r = vec![0.0; w.len()];
                kernel.forward(&w, eps, &mut r).map_err(numeric)?;
                points.push((x, r[0]));
            }
            lines.push(line(&format!("eps = {eps}"), 1 + k as u8, points));
        }
        Ok(panel("soft rank", "moving weight", "its rank", (false, false), lines))
    }

    /// Inverse propensity weights as a study meets them.
    fn sample_weights(&self) -> Vec<f64> {
        let mut rng = Seed(2).named("weights of the illustration").rng();
        (0..self.weights).map(|_| 1.0 + (self.log_odds_sd * rng.normal()).exp()).collect()
    }

    fn soft(&self, eps: f64) -> Result<SoftPareto> {
        let options =
            SoftParetoOptions { eps, kappa: self.kappa, units: Units::ScaleFree, ..SoftParetoOptions::default() };
        SoftPareto::new(options).map_err(numeric)
    }

    /// Weights by rank before and after smoothing.
    fn smoothed(&self) -> Result<(Panel, Vec<RunTail>)> {
        let w = self.sample_weights();
        let mut tails = vec![];
        let mut out = vec![0.0; w.len()];
        let mut lines = vec![line("raw", PLAIN, by_rank(&w))];
        let fit = HardPareto::default().forward(&w, &mut out).map_err(numeric)?;
        lines.push(line("hard", 0, by_rank(&out)));
        tails.extend(tail_row("hard", fit, &out));
        for (k, &eps) in self.smoothing_eps.iter().enumerate() {
            let fit = self.soft(eps)?.forward(&w, &mut out).map_err(numeric)?;
            let name = format!("soft, eps = {eps}");
            lines.push(line(&name, 1 + k as u8, by_rank(&out)));
            tails.extend(tail_row(&name, fit, &out));
        }
        Ok((panel("smoothed weights", "rank, the largest first", "weight", (true, true), lines), tails))
    }

    /// What smoothing makes of one weight as it moves.
    fn moving(&self) -> Result<Panel> {
        let mut w = self.sample_weights();
        let mut sorted = w.clone();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        // From well inside the batch to beyond all others but a few.
        let xs = grid(sorted[n * 3 / 4], sorted[n - (n / 60).max(2)], POINTS);
        let mut out = vec![0.0; n];
        let mut lines = vec![line("raw", PLAIN, xs.iter().map(|&x| (x, x)))];
        let mut hard = HardPareto::default();
        let mut points = vec![];
        for &x in &xs {
            w[0] = x;
            hard.forward(&w, &mut out).map_err(numeric)?;
            points.push((x, out[0]));
        }
        lines.push(line("hard", 0, points));
        for (k, &eps) in self.smoothing_eps.iter().enumerate() {
            let mut soft = self.soft(eps)?;
            let mut points = vec![];
            for &x in &xs {
                w[0] = x;
                soft.forward(&w, &mut out).map_err(numeric)?;
                points.push((x, out[0]));
            }
            lines.push(line(&format!("soft, eps = {eps}"), 1 + k as u8, points));
        }
        Ok(panel("one weight's smoothing", "moving weight", "smoothed weight", (false, false), lines))
    }
}

fn panel(title: &str, x: &str, y: &str, (log_x, log_y): (bool, bool), lines: Vec<FigureLine>) -> Panel {
    let content = Content::Lines(lines);
    Panel { title: title.to_owned(), x_label: x.to_owned(), y_label: y.to_owned(), log_x, log_y, content }
}

fn line(name: &str, series: u8, points: impl IntoIterator<Item = (f64, f64)>) -> FigureLine {
    let point = |(x, y)| FigurePoint { x, y, band: None, n: 0 };
    FigureLine { name: name.to_owned(), series, points: points.into_iter().map(point).collect() }
}

fn grid(from: f64, to: f64, n: usize) -> Vec<f64> {
    (0..n).map(|k| from + (to - from) * k as f64 / (n - 1) as f64).collect()
}

fn by_rank(w: &[f64]) -> Vec<(f64, f64)> {
    let mut sorted = w.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    sorted.into_iter().take(RANKS).enumerate().map(|(k, w)| ((k + 1) as f64, w)).collect()
}

/// The fitted tail and the largest weight after smoothing; `None` when the kernel left the weights as they were.
fn tail_row(name: &str, fit: TailFit, out: &[f64]) -> Option<RunTail> {
    let TailFit::Smoothed { sigma, xi, soft_m, .. } = fit else { return None };
    let largest = out.iter().fold(0.0_f64, |a, b| a.max(*b));
    Some(RunTail { name: name.to_owned(), tail: soft_m, sigma, xi, largest })
}

/// A kernel's refusal of weights that the illustration made itself.
fn numeric(error: KernelError) -> Error {
    Error::Numeric { what: "Pareto smoothing of the weights", message: error.to_string() }
}

/// The curves, one row per point, for programs.
pub(super) fn csv(figure: &Figure) -> String {
    let mut out = "panel,line,x,y\n".to_owned();
    for panel in &figure.panels {
        let Content::Lines(lines) = &panel.content else { continue };
        for line in lines {
            for point in &line.points {
                out += &format!("\"{}\",\"{}\",{},{}\n", panel.title, line.name, point.x, point.y);
            }
        }
    }
    out
}

/// The fits as a table, for people.
pub(super) fn markdown(name: &str, figure: &Figure, tails: &[RunTail]) -> String {
    let mut out = format!("# {name}\n\n{}\n\n![{}](figure.svg)\n\n{}\n\n", figure.title, figure.title, figure.caption);
    out += "| smoothing | weights in the tail | scale | shape | largest weight after |\n|---|---|---|---|---|\n";
    for row in tails {
        out += &format!(
            "| {} | {:.1} | {:.3} | {:.3} | {:.3} |\n",
            super::tables::table_cell(&row.name),
            row.tail,
            row.sigma,
            row.xi,
            row.largest
        );
    }
    out += "\nThe curves are in `table.csv`.\n";
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::experiment::Plan;

    fn fig2() -> Illustration {
        Plan::open("fig2").unwrap().illustration.unwrap()
    }

    fn lines(panel: &Panel) -> &[FigureLine] {
        let Content::Lines(lines) = &panel.content else { panic!("no lines") };
        lines
    }

    #[test]
    fn soft_ranks_near_the_hard_ones_as_eps_shrinks_and_do_not_jump() {
        let small = Illustration { rank_eps: vec![1e-6, 3.0], ..fig2() };
        let panel = small.ranks().unwrap();
        let [hard, nearly, soft] = lines(&panel) else { panic!("three lines") };
        let at = |line: &FigureLine, k: usize| line.points[k].y;
        // Half-way between the others, no step is near.
        for (k, p) in hard.points.iter().enumerate().filter(|(_, p)| (p.x.fract() - 0.5).abs() < 0.3) {
            assert!((at(nearly, k) - p.y).abs() < 1e-6, "{p:?}");
        }
        let jump = |line: &FigureLine| line.points.windows(2).map(|w| w[1].y - w[0].y).fold(0.0, f64::max);
        assert!(jump(hard) >= 0.5 && jump(soft) < 0.05);
        // The rank of a weight below all others that nothing pools with is 1, and above all others 4.
        assert_eq!((at(hard, 0), hard.points.last().unwrap().y), (1.0, 4.0));
    }

    #[test]
    fn smoothing_takes_the_largest_weights_down_and_leaves_the_others() {
        let (panel, tails) = fig2().smoothed().unwrap();
        let all = lines(&panel);
        assert_eq!(tails.len(), 1 + fig2().smoothing_eps.len(), "no fit fell back");
        let (raw, hard) = (&all[0].points, &all[1].points);
        assert!(hard[0].y != raw[0].y);
        assert_eq!(hard[RANKS - 1].y, raw[RANKS - 1].y);
        assert!(tails.iter().all(|t| t.largest.is_finite() && t.sigma > 0.0));
    }
}
