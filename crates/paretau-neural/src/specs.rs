//! Parameter specifications of the neural estimators: kind, range and meaning; defaults are [`NetConfig`](crate::NetConfig)'s.

use paretau_core::{ParamKind, ParamSpec, SearchRange};

const POSITIVE: ParamKind = ParamKind::Float { min: 1e-12, max: f64::INFINITY };
const NOT_NEGATIVE: ParamKind = ParamKind::Float { min: 0.0, max: f64::INFINITY };
const WIDTHS: ParamKind = ParamKind::IntList { min: 1, max: 4096 };
const STEPS: ParamKind = ParamKind::Int { min: 1, max: 100_000_000 };

const fn spec(name: &'static str, kind: ParamKind, help: &'static str) -> ParamSpec {
    ParamSpec::new(name, kind, help)
}

/// One specification for every field of the configuration.
pub const SPECS: &[ParamSpec] = &[
    spec(
        "network",
        ParamKind::Choice(&["shared", "dragon", "disentangled", "two-step", "ganite"]),
        "Which nets there are: one encoder, one with a propensity unit, three encoders, a propensity trained first, or GANITE.",
    ),
    spec(
        "weighting",
        ParamKind::Choice(&[
            "uniform",
            "inverse-share",
            "ipw",
            "norm",
            "trunc",
            "ignore",
            "pareto-hard",
            "psis",
            "pareto",
            "pareto-norm",
        ]),
        "How rows are weighted in the outcome loss.",
    ),
    spec(
        "settings",
        ParamKind::Choice(&["default", "paper-news", "paper-acic", "paper-synthetic"]),
        "Named set that fills in every parameter left at auto; the paper's sets reproduce its published scripts.",
    ),
    spec(
        "gamma",
        ParamKind::Auto(&ParamKind::Float { min: 0.0, max: 1.0 }),
        "Tempering exponent of the weights: 1 is the paper's, 0 no weighting; auto trains nets of both, mixes them by their loss on held-out rows and puts each arm's mean right by those rows' smoothed residuals.",
    ),
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
    spec("encoder", ParamKind::Auto(&WIDTHS), "Hidden units of each encoder, layer by layer.")
        .searched(SearchRange::IntLists(&[&[32], &[64], &[128], &[64, 64]])),
    spec("representation", ParamKind::Auto(&ParamKind::Int { min: 1, max: 4096 }), "Units of each encoder's output.")
        .searched(SearchRange::Ints(&[16, 32, 64])),
    spec("propensity", ParamKind::Auto(&WIDTHS), "Hidden units of the propensity net, layer by layer."),
    spec("heads", ParamKind::Auto(&WIDTHS), "Hidden units of each outcome head, layer by layer.")
        .searched(SearchRange::IntLists(&[&[32], &[64], &[128], &[64, 64]])),
    spec(
        "activation",
        ParamKind::Choice(&["elu", "tanh", "softplus", "leaky-relu", "linear"]),
        "Activation of hidden units; leaky-relu makes the weights' distribution jump and is warned about.",
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
    spec("rate", ParamKind::Auto(&POSITIVE), "Learning rate.").searched(SearchRange::Ratio(3e-4, 1e-2)),
    spec("propensity_rate", ParamKind::Auto(&POSITIVE), "Learning rate of the propensity net.")
        .searched(SearchRange::Ratio(3e-4, 1e-2)),
    spec("batch", ParamKind::Auto(&ParamKind::Int { min: 2, max: 1_000_000 }), "Rows of a mini-batch.")
        .searched(SearchRange::Ints(&[64, 128, 256, 512])),
    spec(
        "schedule",
        ParamKind::Auto(&ParamKind::Choice(&["each-step", "blocks"])),
        "Whether the propensity net steps on every mini-batch or in blocks of epochs.",
    )
    .searched(SearchRange::Words(&["each-step", "blocks"])),
    spec("block", ParamKind::Int { min: 1, max: 1_000_000 }, "Epochs of a block when schedule is blocks."),
    spec("max_steps", ParamKind::Auto(&STEPS), "Mini-batches at most."),
    spec("min_steps", ParamKind::Auto(&STEPS), "Mini-batches at least."),
    spec("patience", ParamKind::Auto(&STEPS), "Mini-batches without improvement on validation rows before stopping."),
    spec(
        "drops",
        ParamKind::Int { min: 0, max: 10 },
        "Times that training goes on from its best parameters with a lower learning rate before it stops.",
    ),
    spec("half_life", NOT_NEGATIVE, "Steps in which the learning rate halves; 0 for never."),
    spec("clip", NOT_NEGATIVE, "Longest gradient; 0 for any."),
    spec("optimiser", ParamKind::Choice(&["adam", "sgd"]), "Optimiser."),
    spec(
        "loss",
        ParamKind::Auto(&ParamKind::Choice(&["squared", "absolute", "logistic"])),
        "Loss of a row; auto is squared for numbers and logistic for yes/no outcomes.",
    ),
    spec("eps", ParamKind::Auto(&POSITIVE), "Strength of rank pooling in soft Pareto smoothing.")
        .searched(SearchRange::Ratio(1e-2, 1e1)),
    spec("kappa", ParamKind::Auto(&POSITIVE), "Steepness of the tail's step in soft Pareto smoothing.")
        .searched(SearchRange::Ratio(1e-1, 1e1)),
    spec(
        "units",
        ParamKind::Auto(&ParamKind::Choice(&["scale-free", "raw"])),
        "Units of eps and kappa: scale-free, or of the weights themselves as in the paper.",
    ),
    spec("per_arm", ParamKind::Bool, "Fit one tail in each arm instead of one over both."),
    spec(
        "truncate",
        ParamKind::Float { min: 1e-6, max: 0.499 },
        "Propensities below this or above one minus this are extreme (trunc, ignore).",
    ),
    spec("joint", NOT_NEGATIVE, "Strength of the cross-entropy inside the outcome loss (dragonnet)."),
    spec("targeted", NOT_NEGATIVE, "Strength of targeted regularisation (dragonnet)."),
    spec("independence", NOT_NEGATIVE, "Strength of an independence penalty (HSIC) between the encoders' outputs."),
    spec("alpha", NOT_NEGATIVE, "How hard GANITE's generator plays against its discriminator."),
    spec("beta", NOT_NEGATIVE, "How hard GANITE's inference net plays against its discriminator."),
    spec("members", ParamKind::Int { min: 1, max: 1000 }, "Nets averaged, each with its own seed and validation rows."),
    spec(
        "second_stage",
        ParamKind::Text,
        "Base learner that regresses doubly robust pseudo-outcomes on top of the nets: its name, auto, or none.",
    ),
];

const N: usize = SPECS.len();

/// One outcome net without a penalty on the representation.
pub(crate) const PLAIN: &[ParamSpec] = &searched(&["balance_weight", "propensity_rate", "schedule", "eps", "kappa"]);
/// Representations that are balanced between arms.
pub(crate) const BALANCED: &[ParamSpec] = &searched(&["propensity_rate", "schedule", "eps", "kappa"]);
/// Three representations.
pub(crate) const DISENTANGLED: &[ParamSpec] = &searched(&["eps", "kappa"]);
/// Three representations with soft Pareto smoothing.
pub(crate) const PARETO: &[ParamSpec] = SPECS;

/// The specifications with those parameters left alone by searches that make no difference to a preset.
const fn searched(idle: &[&str]) -> [ParamSpec; N] {
    let mut out = [SPECS[0]; N];
    let mut i = 0;
    while i < N {
        out[i] = SPECS[i];
        let mut k = 0;
        while k < idle.len() {
            if same(SPECS[i].name, idle[k]) {
                out[i].search = None;
            }
            k += 1;
        }
        i += 1;
    }
    out
}

/// Equality of texts in constants.
const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}
