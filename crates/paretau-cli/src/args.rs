//! The command line's grammar. Help, man page and completions are all made from these types.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Who does a treatment work for, by how much, and how far can the answer be trusted?
#[derive(Debug, Parser)]
#[command(name = "paretau", version, max_term_width = 100, propagate_version = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// Threads to use [default: all]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), display_order = 900)]
    pub(crate) threads: Option<u16>,
    /// Seed of all randomness
    #[arg(long, global = true, value_name = "N", default_value_t = 0, display_order = 901)]
    pub(crate) seed: u64,
    /// Print one JSON document on stdout
    #[arg(long, global = true, display_order = 902)]
    pub(crate) json: bool,
    /// No progress and no notes on stderr
    #[arg(long, global = true, display_order = 903)]
    pub(crate) quiet: bool,
    /// File that keeps a log: the command, stages, notes and errors with their times; written at its end
    #[arg(long, global = true, value_name = "FILE", display_order = 904)]
    pub(crate) log: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Do the whole job once on made-up data: simulate, fit, compare, write model, effects and report
    Demo(DemoArgs),
    /// List estimators, metrics, simulators, data sets or plans
    List(ListArgs),
    /// Describe an estimator, with its parameters, defaults and ranges, or a term of the glossary
    Describe(DescribeArgs),
    /// Make a seeded data set whose true effects are known
    Simulate(SimulateArgs),
    /// Show how a data file is understood: each column's kind, range, gaps, oddities and role
    Check(CheckArgs),
    /// Write a commented configuration for `fit --config` from a data file
    Init(InitArgs),
    /// Fit one estimator and write one model file
    Fit(FitArgs),
    /// Predict each row's effect with a fitted model
    Effect(EffectArgs),
    /// Score a fitted model on data, with or without the truth
    Evaluate(EvaluateArgs),
    /// Examine the arms' overlap in data before a fit, or what a fitted model found: DATA may be a model file (.paretau)
    Diagnose(DiagnoseArgs),
    /// Find whom to treat: a readable tree, its value and the targeting curve
    Policy(PolicyArgs),
    /// Estimate the average effect again where the answer is known: placebos, noise, subsets, features left out
    Refute(RefuteArgs),
    /// Say how strong a hidden cause would have to be to overturn the average effect
    Sensitivity(SensitivityArgs),
    /// Compare estimators on rows that their fits did not see, by losses that need no truth
    Compare(CompareArgs),
    /// Test which columns steer the treatment, the outcome, or both
    Roles(RolesArgs),
    /// Write one self-contained HTML page about a fitted model or about the folder of a run
    Report(ReportArgs),
    /// Search for parameters on rows that the fits do not see; prints the best --set line
    Tune(TuneArgs),
    /// Run an experiment plan; resumable, nothing is done twice
    Run(RunArgs),
    /// Put the records of several folders of one plan together: shards that ran on several machines
    Merge(MergeArgs),
    /// Print completions for a shell
    Completions(CompletionsArgs),
    /// Print the manual page, or that of one command
    Man(ManArgs),
    /// Print the JSON Schema of what commands print with --json
    Schema(SchemaArgs),
    /// Print the names of a data file's columns, one per line; what completions ask
    #[command(hide = true)]
    ColumnNames(ColumnNamesArgs),
}

/// Where the data are and what their columns mean.
#[derive(Debug, Clone, Args)]
pub(crate) struct DataArgs {
    /// Data file: .csv[.gz], .tsv, .xlsx, .xls, .ods, .json, .ndjson, .dta, .parquet, .arrow, .feather, .npz, .svm, a News
    /// pair, or - for CSV on stdin; a folder of such files, or a glob in quotes such as 'part-*.parquet', is one table, and
    /// folders named column=value give a column
    #[arg(value_name = "DATA")]
    pub(crate) data: PathBuf,
    #[command(flatten)]
    pub(crate) roles: RoleArgs,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

/// What columns mean.
#[derive(Debug, Clone, Args)]
pub(crate) struct RoleArgs {
    /// Treatment column
    #[arg(long, value_name = "COL", help_heading = "Columns")]
    pub(crate) treatment: Option<String>,
    /// Outcome column
    #[arg(long, value_name = "COL", help_heading = "Columns")]
    pub(crate) outcome: Option<String>,
    /// Feature columns, e.g. 'a,b,x_*' [default: all others]
    #[arg(long, value_name = "COLS", value_delimiter = ',', help_heading = "Columns")]
    pub(crate) features: Vec<String>,
    /// Columns to leave out
    #[arg(long, value_name = "COLS", value_delimiter = ',', help_heading = "Columns")]
    pub(crate) ignore: Vec<String>,
    /// Column that names the rows; carried through, never a feature
    #[arg(long, value_name = "COL", help_heading = "Columns")]
    pub(crate) id: Option<String>,
    /// Column of row weights
    #[arg(long, value_name = "COL", help_heading = "Columns")]
    pub(crate) weight: Option<String>,
    /// Column of propensities known from the study's design
    #[arg(long, value_name = "COL", help_heading = "Columns")]
    pub(crate) propensity: Option<String>,
    /// Column of groups (clusters) that must stay together
    #[arg(long, value_name = "COL", help_heading = "Columns")]
    pub(crate) group: Option<String>,
    /// True expected outcomes without and with treatment, for scoring only
    #[arg(long, value_name = "MU0,MU1", value_delimiter = ',', num_args = 1, help_heading = "Columns")]
    pub(crate) truth: Vec<String>,
    /// Value of the treatment column that means treated, when it is not 0/1
    #[arg(long, value_name = "V", help_heading = "Columns")]
    pub(crate) treated_value: Option<String>,
    /// Value that means control [default: the only other value]
    #[arg(long, value_name = "C", help_heading = "Columns")]
    pub(crate) control_value: Option<String>,
}

/// How the cells of a file are written. What is not given is found from the cells, or known from the model.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReadArgs {
    /// Memory that the data may take, e.g. 8G or 500M; a file that claims more is refused [default: 3/4 of the machine's]
    #[arg(long, value_name = "SIZE", value_parser = crate::commands::data::memory_size, display_order = 800)]
    pub(crate) max_memory: Option<u64>,
    /// The file has no header line; columns are called column1, column2, …
    #[arg(long, help_heading = "Reading")]
    pub(crate) no_header: bool,
    /// Decimal mark, '.' or ',' [default: found from the cells]
    #[arg(long, value_name = "MARK", help_heading = "Reading")]
    pub(crate) decimal: Option<char>,
    /// What separates thousands: '.', ',', ' ' or "'" [default: found from the cells]
    #[arg(long, value_name = "MARK", help_heading = "Reading")]
    pub(crate) thousands: Option<char>,
    /// Marks that mean missing besides the usual ones, e.g. '-,?,unknown,-999'
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true, help_heading = "Reading")]
    pub(crate) na: Vec<String>,
    /// Columns of numbers in which every other cell counts as missing
    #[arg(long, value_name = "COLS", value_delimiter = ',', help_heading = "Reading")]
    pub(crate) numeric: Vec<String>,
    /// Columns of categories, though they may look like numbers
    #[arg(long, value_name = "COLS", value_delimiter = ',', help_heading = "Reading")]
    pub(crate) categorical: Vec<String>,
    /// Order of day, month and year in dates: dmy, mdy or ymd [default: found from the cells]
    #[arg(long, value_name = "ORDER", help_heading = "Reading")]
    pub(crate) date_order: Option<String>,
    /// Sheet of a workbook [default: the first]
    #[arg(long, value_name = "NAME", help_heading = "Reading")]
    pub(crate) sheet: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Folder for the data, the model, the effects and the report
    #[arg(long, value_name = "DIR", default_value = "paretau-demo")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ListKind {
    Estimators,
    Metrics,
    Simulators,
    Datasets,
    Plans,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// What to list
    #[arg(value_enum)]
    pub(crate) what: ListKind,
}

#[derive(Debug, Args)]
pub(crate) struct DescribeArgs {
    /// Estimator name or alias, or a term of the glossary such as overlap or k-hat
    #[arg(required_unless_present = "all")]
    pub(crate) name: Option<String>,
    /// Describe every estimator
    #[arg(long, conflicts_with = "name")]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    /// Process, see `paretau list simulators`
    pub(crate) process: String,
    /// Rows
    #[arg(long)]
    pub(crate) n: Option<usize>,
    /// Features
    #[arg(long)]
    pub(crate) d: Option<usize>,
    /// Standard deviation of the outcome's noise
    #[arg(long)]
    pub(crate) noise: Option<f64>,
    /// Another parameter of the process; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Output file (.csv, .csv.gz, .parquet, .arrow), or - for CSV on stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Replace an existing file even if it is of another kind
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct EstimatorArgs {
    #[arg(long, short, value_name = "NAME", help = format!("Estimator, see `paretau list estimators` [default: {}]", paretau::DEFAULT_ESTIMATOR))]
    pub(crate) estimator: Option<String>,
    /// A parameter, see `paretau describe NAME`; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// TOML file with columns, reading and parameters, such as `paretau init` writes; flags win over it
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Share of rows that estimators with early stopping hold out
    #[arg(long, value_name = "SHARE", default_value_t = paretau::DEFAULT_VALID_SHARE)]
    pub(crate) valid: f64,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
}

impl EstimatorArgs {
    /// The estimator's name.
    pub(crate) fn name(&self) -> &str {
        self.estimator.as_deref().unwrap_or(paretau::DEFAULT_ESTIMATOR)
    }
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[arg(long, short, value_name = "NAME", help = format!("Estimator whose parameters are listed [default: {}]", paretau::DEFAULT_ESTIMATOR))]
    pub(crate) estimator: Option<String>,
    /// Configuration to write, or - for stdout
    #[arg(long, value_name = "FILE", default_value = "paretau.toml")]
    pub(crate) out: PathBuf,
    /// Replace an existing file even if it is of another kind
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Command, e.g. fit [default: the program as a whole]
    pub(crate) command: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// Command, e.g. fit, or error for what any command prints when it fails [default: all of them]
    pub(crate) command: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct FitArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) estimator: EstimatorArgs,
    /// Columns whose groups get an average effect each, numbers in quantile bins; they need not be features
    #[arg(long, value_name = "COLS", value_delimiter = ',')]
    pub(crate) by: Vec<String>,
    /// Columns on which the effect is projected (best linear projection): by how much it differs with each of them, with 95 %
    /// intervals; text becomes indicators
    #[arg(long, visible_alias = "blp", value_name = "COLS", value_delimiter = ',')]
    pub(crate) projection: Vec<String>,
    /// Whose average effect is the headline: ate (everyone), att (the treated), atc (those without treatment) or ato (those who
    /// could have been in either arm) [default: ate, or ato where the arms hardly overlap]
    #[arg(long, value_name = "WHOSE")]
    pub(crate) estimand: Option<String>,
    /// Keep the outcome models for intervals of individual effects, whatever the estimator; and refit N times on half-samples, e.g.
    /// 40, for intervals of the conditional effect of lr-1, lr-2, s-, t- and x-learner (the fit takes about N/2 times as long).
    /// auto, forests, dr- and r-learner, tarnet and dpsw-norm have theirs without refits
    #[arg(long, value_name = "N")]
    pub(crate) intervals: Option<usize>,
    /// Fit blocks of about N rows, one after the other, without ever holding the table: for Parquet, Arrow and delimited text that
    /// memory cannot hold. Rows are dealt to blocks at random. `causal-forest`, and `dr-learner` and `x-learner` over forests, are
    /// grown over all rows from a file of bins, `lr-1` and `lr-2` are the lines of all rows; of other estimators the model is the
    /// mean of the blocks' models. Averages are over all rows
    #[arg(long, value_name = "N")]
    pub(crate) block_rows: Option<usize>,
    /// Folder in which blocks are kept while they are fitted [default: the folder of --out]
    #[arg(long, value_name = "DIR", requires = "block_rows")]
    pub(crate) scratch: Option<PathBuf>,
    /// File that keeps the state of the training, written at intervals and on Ctrl-C (networks only)
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Continue from the checkpoint: the model is the one that an uninterrupted fit would have given
    #[arg(long, requires = "checkpoint")]
    pub(crate) resume: bool,
    /// Model file to write
    #[arg(long, value_name = "MODEL")]
    pub(crate) out: PathBuf,
    /// Replace an existing file even if it is of another kind
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct EffectArgs {
    /// Model file
    pub(crate) model: PathBuf,
    /// Data file, folder or glob, as for `fit`; the treatment column is optional here
    pub(crate) data: PathBuf,
    /// Add columns lo and hi, ends of an interval of each row's effect at this level (approximate; see --kind)
    #[arg(long, value_name = "LEVEL")]
    pub(crate) interval: Option<f64>,
    /// What the interval covers: `conditional`, the mean effect of people with these features (in simulations 95 % intervals held
    /// 90 % of rows or more, but of the tenth with the most extreme effects as few as half), or `individual`, one person's own
    /// effect
    #[arg(long, value_name = "KIND", default_value = "conditional", requires = "interval")]
    pub(crate) kind: String,
    /// Column that names the rows [default: the one of the fit]
    #[arg(long, value_name = "COL")]
    pub(crate) id: Option<String>,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    /// Output file (.csv, .csv.gz, .parquet, .arrow), - for CSV on stdout, or a folder, as in effects/, for one output per
    /// input file under the same name
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) out: PathBuf,
    /// Skip outputs in the folder that are complete and were made by the same model from the same file
    #[arg(long)]
    pub(crate) resume: bool,
    /// Say nothing about rows that the model learned from
    #[arg(long)]
    pub(crate) in_sample: bool,
    /// Replace an existing file even if it is of another kind
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct EvaluateArgs {
    /// Model file
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Score rows that the model learned from, too; such scores flatter, and the output says so
    #[arg(long)]
    pub(crate) in_sample: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DiagnoseArgs {
    // A model file (.paretau) in place of the data shows what its fit found.
    #[command(flatten)]
    pub(crate) data: DataArgs,
}

#[derive(Debug, Args)]
pub(crate) struct PolicyArgs {
    /// Model file
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// What treating a row costs, in units of the outcome: a number, or a column of the data
    #[arg(long, value_name = "C|COL", allow_hyphen_values = true)]
    pub(crate) cost: Option<String>,
    /// Largest share of the rows that may be treated, from 0 to 1
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub(crate) budget: Option<f64>,
    /// Depth of the tree, from 0 (one decision for all) to 3
    #[arg(long, value_name = "N", default_value_t = paretau::PolicyRequest::DEPTH)]
    pub(crate) depth: usize,
    /// Smaller outcomes are better
    #[arg(long)]
    pub(crate) lower_is_better: bool,
    /// File for each row's recommended arm (.csv, .csv.gz, .parquet, .arrow)
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace an existing file even if it is of another kind
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RefuteArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Data file, where DATA is a model file (.paretau): its columns' roles are used
    #[arg(value_name = "DATA")]
    pub(crate) second: Option<PathBuf>,
    /// Checks: placebo-treatment, dummy-outcome, random-cause, subset, shuffled-arms, leave-one-out [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) checks: Vec<String>,
    /// Replicates per check; each costs one stacked cross-fit of the rows
    #[arg(long, value_name = "N", default_value_t = paretau::RefuteRequest::REPLICATES)]
    pub(crate) replicates: usize,
}

#[derive(Debug, Args)]
pub(crate) struct SensitivityArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Data file, where DATA is a model file (.paretau): its columns' roles are used
    #[arg(value_name = "DATA")]
    pub(crate) second: Option<PathBuf>,
    /// Share of the outcome's residual variance that a hidden cause explains
    #[arg(long, value_name = "SHARE", default_value_t = paretau::SensitivityRequest::SHARE, allow_hyphen_values = true)]
    pub(crate) cf_y: f64,
    /// Share of the treatment's variation (of its Riesz representer) that it explains
    #[arg(long, value_name = "SHARE", default_value_t = paretau::SensitivityRequest::SHARE, allow_hyphen_values = true)]
    pub(crate) cf_d: f64,
    /// Features to compare a hidden cause with [default: the strongest]
    #[arg(long, value_name = "COLS", value_delimiter = ',')]
    pub(crate) benchmark: Vec<String>,
    /// How many of the strongest features to compare with; each costs one stacked cross-fit
    #[arg(long, value_name = "N", default_value_t = paretau::SensitivityRequest::BENCHMARKS)]
    pub(crate) benchmarks: usize,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Model file, or the folder of a run
    #[arg(value_name = "MODEL|DIR")]
    pub(crate) from: PathBuf,
    /// Page to write: .html, or .pdf where a Chromium or Chrome is installed
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    pub(crate) out: PathBuf,
    /// Title of the page [default: the question]
    #[arg(long, value_name = "TEXT", help_heading = "Words of the page")]
    pub(crate) title: Option<String>,
    /// Date below the title, as it is to be read, or `today`
    #[arg(long, value_name = "DATE", help_heading = "Words of the page")]
    pub(crate) date: Option<String>,
    /// Words for a column or for one of its values, e.g. qsmk="Quit smoking" or qsmk:1=yes; may be repeated
    #[arg(long = "label", value_name = "COL[:VALUE]=WORDS", help_heading = "Words of the page")]
    pub(crate) labels: Vec<String>,
    /// Unit of the outcome, e.g. kg
    #[arg(long, value_name = "UNIT", help_heading = "Words of the page")]
    pub(crate) unit: Option<String>,
    /// Smaller outcomes are better, so that a fall is an improvement
    #[arg(long, help_heading = "Words of the page")]
    pub(crate) lower_is_better: bool,
    /// Larger outcomes are better
    #[arg(long, conflicts_with = "lower_is_better", help_heading = "Words of the page")]
    pub(crate) higher_is_better: bool,
    /// Replace an existing file even if it is of another kind
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Built-in plan (see `paretau list plans`) or a .toml file
    pub(crate) plan: String,
    /// Folder for records, tables and figures
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Go on in a folder that already has records
    #[arg(long)]
    pub(crate) resume: bool,
    /// Do only the i-th of n parts
    #[arg(long, value_name = "I/N")]
    pub(crate) shard: Option<String>,
    /// The plan's small form: fewer data sets and smaller nets, about a minute
    #[arg(long)]
    pub(crate) quick: bool,
    /// A parameter for every method that has it, e.g. members=2; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// At most N realisations of each data set
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) realisations: Option<u32>,
    /// Search parameters with N trials per method before fitting, on training rows only
    #[arg(long, value_name = "N", conflicts_with = "quick", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) tune: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// Folders of runs
    #[arg(value_name = "DIR", required = true)]
    pub(crate) folders: Vec<PathBuf>,
    /// New folder for the records, tables and figures of all
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct TuneArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) estimator: EstimatorArgs,
    /// Trials, the defaults included
    #[arg(long, value_name = "N", default_value_t = paretau_study::tune::TuneSpec::TRIALS)]
    pub(crate) trials: usize,
    /// How the next trial is chosen: tpe, random or grid
    #[arg(long, value_name = "HOW", default_value = paretau_study::tune::TuneSpec::SEARCH.name())]
    pub(crate) search: String,
    /// Loss of a trial on held-out rows: factual (outcome error), dr or r (effect losses)
    #[arg(long, value_name = "LOSS", default_value = paretau_study::tune::TuneSpec::OBJECTIVE.name())]
    pub(crate) objective: String,
    /// Folds of cross-validation; 1 holds out a quarter of the rows once
    #[arg(long, value_name = "K", default_value_t = paretau_study::tune::TuneSpec::FOLDS)]
    pub(crate) folds: usize,
    /// File that keeps the trials, so that the search can be resumed
    #[arg(long, value_name = "FILE")]
    pub(crate) records: Option<PathBuf>,
    /// Go on with the trials in the file
    #[arg(long, requires = "records")]
    pub(crate) resume: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Estimators, e.g. 'lr-2,x-learner', or all [default: quick ones that suit the data's shape]
    #[arg(long, short, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) estimators: Vec<String>,
    /// Folds of cross-validation; fewer are used when an arm is small
    #[arg(long, value_name = "K", default_value_t = paretau::CompareOptions::FOLDS)]
    pub(crate) folds: usize,
}

#[derive(Debug, Args)]
pub(crate) struct RolesArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Share of false discoveries that is accepted among the columns found
    #[arg(long, value_name = "SHARE", default_value_t = paretau::RolesOptions::FDR)]
    pub(crate) fdr: f64,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ColumnNamesArgs {
    /// Data file
    #[arg(value_name = "DATA")]
    pub(crate) data: PathBuf,
}
