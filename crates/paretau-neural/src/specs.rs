//! Parameter specifications that several kinds of nets share: kind, range, meaning and what a search tries; defaults are
//! those of the configuration types.

use paretau_core::{ParamKind, ParamSpec, SearchRange};

pub(crate) const POSITIVE: ParamKind = ParamKind::Float { min: 1e-12, max: f64::INFINITY };
pub(crate) const NOT_NEGATIVE: ParamKind = ParamKind::Float { min: 0.0, max: f64::INFINITY };
const WIDTHS: ParamKind = ParamKind::IntList { min: 1, max: 4096 };
const STEPS: ParamKind = ParamKind::Int { min: 1, max: 100_000_000 };

const RATES: SearchRange = SearchRange::Ratio(3e-4, 1e-2);
const LAYERS: SearchRange = SearchRange::IntLists(&[&[32], &[64], &[128], &[64, 64]]);

pub(crate) const fn spec(name: &'static str, kind: ParamKind, help: &'static str) -> ParamSpec {
    ParamSpec::new(name, kind, help)
}

/// Number of specifications in several lists.
pub(crate) const fn total(lists: &[&[ParamSpec]]) -> usize {
    let (mut n, mut i) = (0, 0);
    while i < lists.len() {
        n += lists[i].len();
        i += 1;
    }
    n
}

/// Several lists as one; `N` is their [`total`].
pub(crate) const fn joined<const N: usize>(lists: &[&[ParamSpec]]) -> [ParamSpec; N] {
    let mut all = [SETTINGS; N];
    let (mut n, mut i) = (0, 0);
    while i < lists.len() {
        let mut j = 0;
        while j < lists[i].len() {
            all[n] = lists[i][j];
            n += 1;
            j += 1;
        }
        i += 1;
    }
    all
}

pub(crate) const SETTINGS: ParamSpec = spec(
    "settings",
    ParamKind::Choice(&["default", "paper-news", "paper-acic", "paper-synthetic"]),
    "Named set that fills in every parameter left at auto; the paper's sets reproduce its published scripts.",
);

pub(crate) const LOSS: ParamSpec = spec(
    "loss",
    ParamKind::Auto(&ParamKind::Choice(&["squared", "absolute", "logistic"])),
    "Loss per row; auto is squared for numbers and logistic for yes/no outcomes.",
);

/// The balance penalty.
pub(crate) const BALANCE: &[ParamSpec] = &[
    spec(
        "balance",
        ParamKind::Choice(&["none", "rbf", "linear", "linear-discrepancy", "wasserstein"]),
        "Penalty on the difference of a representation between arms.",
    ),
    spec("balance_weight", ParamKind::Auto(&NOT_NEGATIVE), "Strength of the balance penalty.")
        .searched(SearchRange::Ratio(1e-3, 1e1)),
    spec(
        "balance_width",
        ParamKind::Auto(&POSITIVE),
        "Width of the rbf kernel, or entropic strength of wasserstein; auto takes it from the distances of each batch.",
    ),
];

/// How rows are weighted in the outcome loss, by these names.
pub(crate) const fn weighting(names: &'static [&'static str]) -> ParamSpec {
    spec("weighting", ParamKind::Choice(names), "How rows are weighted in the outcome loss.")
}

pub(crate) const TRUNCATE: ParamSpec = spec(
    "truncate",
    ParamKind::Float { min: 1e-6, max: 0.499 },
    "Propensities below this or above one minus this are extreme (weightings trunc and ignore).",
);

pub(crate) const INDEPENDENCE: ParamSpec =
    spec("independence", NOT_NEGATIVE, "Strength of an independence penalty (HSIC) between the encoders' outputs.");

pub(crate) const PROPENSITY: ParamSpec =
    spec("propensity", ParamKind::Auto(&WIDTHS), "Hidden units of the propensity net, layer by layer.");

pub(crate) const PROPENSITY_RATE: ParamSpec =
    spec("propensity_rate", ParamKind::Auto(&POSITIVE), "Learning rate of the propensity net.");

/// The learning rate of a propensity net that is trained together with the outcome nets.
pub(crate) const JOINT_PROPENSITY_RATE: ParamSpec = PROPENSITY_RATE.searched(RATES);

pub(crate) const EPS: ParamSpec =
    spec("eps", ParamKind::Auto(&POSITIVE), "Strength of rank pooling in soft Pareto smoothing.");

pub(crate) const KAPPA: ParamSpec =
    spec("kappa", ParamKind::Auto(&POSITIVE), "Steepness of the tail's step in soft Pareto smoothing.");

pub(crate) const UNITS: ParamSpec = spec(
    "units",
    ParamKind::Auto(&ParamKind::Choice(&["scale-free", "raw"])),
    "Units of eps and kappa: scale-free, or those of the weights themselves as in the paper.",
);

/// Sizes of the nets and their training: parameters of every neural estimator.
pub(crate) const TRAINING: &[ParamSpec] = &[
    spec(
        "embedding",
        ParamKind::Auto(&ParamKind::Choice(&["plain", "piecewise"])),
        "How nets read numbers: standardised alone (plain), or with one further input per bin between a column's quantiles (piecewise); auto chooses on validation rows, and is plain for nets with a propensity of their own whose gamma is set.",
    ),
    spec(
        "bins",
        ParamKind::Int { min: 3, max: 64 },
        "Bins per column of the piecewise embedding; fewer where many columns are numbers.",
    ),
    spec("encoder", ParamKind::Auto(&WIDTHS), "Hidden units of each encoder, layer by layer.").searched(LAYERS),
    spec("representation", ParamKind::Auto(&ParamKind::Int { min: 1, max: 4096 }), "Units of each encoder's output.")
        .searched(SearchRange::Ints(&[16, 32, 64])),
    spec("heads", ParamKind::Auto(&WIDTHS), "Hidden units of each outcome head, layer by layer.").searched(LAYERS),
    spec(
        "activation",
        ParamKind::Choice(&["elu", "tanh", "softplus", "leaky-relu", "linear"]),
        "Activation of hidden units; with a propensity net, leaky-relu makes the weights' distribution jump and is warned about.",
    ),
    spec(
        "layer_norm",
        ParamKind::Bool,
        "Whether each row's sums in hidden layers of encoders and heads are normalised before the activation.",
    ),
    spec(
        "batch_norm",
        ParamKind::Bool,
        "Whether each hidden unit's sums in encoders and heads are normalised over the rows of a mini-batch before the activation, and by running statistics in prediction; not together with layer_norm.",
    ),
    spec(
        "dropout",
        ParamKind::Auto(&ParamKind::Float { min: 0.0, max: 0.9 }),
        "Share of hidden units dropped in training; auto chooses on validation rows.",
    )
    .searched(SearchRange::Between(0.0, 0.5)),
    spec("l2", ParamKind::Auto(&NOT_NEGATIVE), "L2 strength on weights; auto chooses on validation rows.")
        .searched(SearchRange::Ratio(1e-6, 1e-1)),
    spec("rate", ParamKind::Auto(&POSITIVE), "Learning rate.").searched(RATES),
    spec("batch", ParamKind::Auto(&ParamKind::Int { min: 2, max: 1_000_000 }), "Rows per mini-batch.")
        .searched(SearchRange::Ints(&[64, 128, 256, 512])),
    spec("max_steps", ParamKind::Auto(&STEPS), "Mini-batches at most."),
    spec("min_steps", ParamKind::Auto(&STEPS), "Mini-batches at least."),
    spec("patience", ParamKind::Auto(&STEPS), "Mini-batches without improvement on validation rows before stopping."),
    spec(
        "drops",
        ParamKind::Int { min: 0, max: 10 },
        "Times that training goes on from its best parameters with a lower learning rate before it stops.",
    ),
    spec("half_life", NOT_NEGATIVE, "Steps in which the learning rate halves; 0 for never."),
    spec("clip", NOT_NEGATIVE, "Longest gradient; 0 for any length."),
    spec("optimiser", ParamKind::Choice(&["adam", "sgd"]), "Optimiser."),
    spec("members", ParamKind::Int { min: 1, max: 1000 }, "Nets averaged, each with its own seed and validation rows."),
    spec(
        "second_stage",
        ParamKind::Base,
        "Base learner that regresses doubly robust pseudo-outcomes on top of the nets; auto for the forest, none for no second stage.",
    ),
];
