//! Who takes part in `auto`, by the data's shape and the effort. Counted in work, never by the clock, so that the same seed
//! gives the same bits on any machine.

use paretau_core::{Design, Features, Params};
use serde::{Deserialize, Serialize};

/// How much work `auto` may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Lines, forests and meta-learners over them, three folds.
    Quick,
    /// A small net too, where rows allow, and five folds.
    Normal,
    /// Further nets and forests, and five folds.
    Thorough,
}

impl Effort {
    /// The words.
    pub(crate) const CHOICES: &'static [&'static str] = &["quick", "normal", "thorough"];

    /// Folds of cross-fitting.
    pub(crate) fn folds(self) -> usize {
        if self == Self::Quick { 3 } else { 5 }
    }
}

/// What candidates are chosen by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Rows.
    pub n_rows: usize,
    /// Feature columns after encoding.
    pub n_cols: usize,
    /// Rows of the smaller arm.
    pub smaller_arm: usize,
    /// Cells that hold a value: rows times columns, of sparse features those that are not 0.
    pub n_cells: usize,
}

impl Shape {
    /// The shape of a design.
    pub fn of(design: &Design) -> Self {
        let treated = design.t().iter().filter(|&&t| t == 1).count();
        Self {
            n_rows: design.n_rows(),
            n_cols: design.x().n_cols(),
            smaller_arm: treated.min(design.n_rows() - treated),
            n_cells: match design.x() {
                Features::Sparse(sparse) => sparse.values().len(),
                Features::Dense(_) => design.n_rows().saturating_mul(design.x().n_cols()),
            },
        }
    }
}

/// An estimator that may take part.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// What it is called among the candidates.
    pub label: &'static str,
    /// Registry name.
    pub name: &'static str,
    /// Parameters that differ from its defaults.
    pub params: Params,
}

impl Candidate {
    pub(super) fn new(name: &'static str) -> Self {
        Self { label: name, name, params: Params::none() }
    }

    /// Over another base learner than its default, and called after it.
    fn over(name: &'static str, base: &'static str, label: &'static str) -> Self {
        Self { label, ..Self::new(name).with("base", base) }
    }

    fn with(mut self, key: &str, value: impl Into<serde_json::Value>) -> Self {
        self.params = self.params.with(key, value);
        self
    }
}

/// Fewer rows than this in an arm are too few for trees of its own.
const FEW: usize = 25;
/// Fewer rows than this in an arm are too few for a net with validation rows.
const FEW_FOR_NETS: usize = 60;
/// More columns than this are wide: trees rarely find the few that matter, and lines are quicker.
const WIDE: usize = 1000;
/// Cells up to which a net takes part at normal effort.
const NET_CELLS: usize = 5_000_000;

/// Candidates for data of a shape, cheap ones first; a constant effect takes part in any case and is not among them.
pub fn candidates(shape: &Shape, effort: Effort) -> Vec<Candidate> {
    let mut all = vec![Candidate::new("lr-2")];
    if shape.smaller_arm < FEW || shape.n_cols > WIDE {
        all.push(Candidate::new("x-learner").with("base", "ridge"));
        all.push(Candidate::new("dr-learner").with("base", "ridge"));
        if shape.smaller_arm < FEW {
            return all;
        }
    } else {
        all.extend(["t-learner", "x-learner", "dr-learner"].map(Candidate::new));
        all.push(Candidate::over("t-learner", "boosting", "t-learner over boosting"));
        all.push(Candidate::over("x-learner", "boosting", "x-learner over boosting"));
        all.push(Candidate::over("x-learner", "stack", "x-learner over a stack"));
        if effort != Effort::Quick {
            all.push(Candidate::over("t-learner", "stack", "t-learner over a stack"));
        }
    }
    all.push(Candidate::new("causal-forest"));
    if effort == Effort::Quick {
        return all;
    }
    all.push(Candidate::new("r-learner"));
    let nets = shape.smaller_arm >= FEW_FOR_NETS;
    if nets && (effort == Effort::Thorough || shape.n_cells <= NET_CELLS) {
        let members = if effort == Effort::Thorough { 5 } else { 2 };
        all.push(Candidate::new("tarnet").with("members", members));
    }
    if effort == Effort::Thorough {
        all.push(Candidate::new("s-learner"));
        if nets {
            all.push(Candidate::new("dpsw-norm"));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(shape: Shape, effort: Effort) -> Vec<&'static str> {
        candidates(&shape, effort).iter().map(|c| c.label).collect()
    }

    #[test]
    fn shape_and_effort_decide() {
        let shape = Shape { n_rows: 1000, n_cols: 20, smaller_arm: 400, n_cells: 20_000 };
        let quick = names(shape, Effort::Quick);
        let learners = ["t-learner", "x-learner", "dr-learner"];
        let over = ["t-learner over boosting", "x-learner over boosting", "x-learner over a stack"];
        assert_eq!(quick, [&["lr-2"], &learners[..], &over, &["causal-forest"]].concat());
        let normal = names(shape, Effort::Normal);
        assert!(quick.iter().all(|name| normal.contains(name)) && normal.contains(&"tarnet"));
        // Labels tell candidates apart: seeds and reports go by them.
        let thorough = names(shape, Effort::Thorough);
        assert!(thorough.iter().enumerate().all(|(k, name)| !thorough[..k].contains(name)));
        assert!(names(shape, Effort::Thorough).contains(&"dpsw-norm"));
        let few = Shape { smaller_arm: 10, ..shape };
        assert!(!names(few, Effort::Thorough).contains(&"tarnet"));
        // What is not there costs nothing: sparse features count by their values.
        let large = Shape { n_rows: 5000, n_cells: 20_000_000, ..shape };
        assert!(!names(large, Effort::Normal).contains(&"tarnet"));
        let wide = Shape { n_cols: 3000, ..shape };
        assert!(!names(wide, Effort::Quick).contains(&"t-learner"));
    }
}
