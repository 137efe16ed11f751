//! The libraries' messages in the words of Python. They name options as the command line spells them (`--treated-value`); here
//! these are arguments, or something else does their work.

use pyo3::prelude::*;

/// Sentences that need other words altogether, longer ones first.
const PHRASES: &[(&str, &str)] = &[
    ("`fit --intervals 40` (in Python `fit(..., intervals=40)`)", "`fit(..., intervals=40)`"),
    ("if the file has no header, add --no-header, and its columns are called column1, column2, …", NAMES_ABOVE),
    ("if it is data, use --no-header", NAMES_ABOVE),
    (", or raise --max-memory (max_memory in code)", ""),
    ("raise --max-memory, or ", ""),
    ("ask for the groups when it is fitted (--by)", "ask for the groups before it is saved"),
    ("because `fit` was not given --truth", "because the fit was given no truth"),
    ("the --out folder of `paretau run`", "the folder of `paretau.run`"),
    ("leave out --checkpoint", "leave out the checkpoint"),
    ("--projection", "the projection"),
    ("`--kind individual`", "`kind='individual'`"),
    ("add --na ", "replace it by NaN, or for a file give na="),
    ("add --ignore ", "give ignore= (of paretau.fit), or drop from X: "),
    ("--ignore ", "ignore= (of paretau.fit), or drop from X: "),
    ("`paretau compare`", "`paretau.compare`"),
    ("`paretau fit`", "`paretau.fit`"),
];
const NAMES_ABOVE: &str = "if it is data, write a line of names above it";

/// Options that are arguments of the same name, apart from dashes.
const ARGUMENTS: &[&str] = &[
    "block-rows",
    "by",
    "categorical",
    "control-value",
    "date-order",
    "decimal",
    "features",
    "group",
    "id",
    "ignore",
    "intervals",
    "na",
    "numeric",
    "outcome",
    "propensity",
    "scratch",
    "shard",
    "sheet",
    "thousands",
    "treated-value",
    "treatment",
    "weight",
];

/// Options that are switches there and arguments with a value here.
const SWITCHES: &[(&str, &str)] = &[("in-sample", "in_sample=True"), ("resume", "resume=True")];

/// Words that go on with a sentence behind an option, and are no value of it.
const GO_ON: &[&str] = &["and", "another", "are", "as", "beside", "if", "names", "or", "reads", "says", "to", "with"];

/// A message of the libraries, or a JSON document with such, as Python words it.
#[pyfunction]
pub(crate) fn in_python(message: &str) -> String {
    let message = PHRASES.iter().fold(message.to_owned(), |text, (theirs, ours)| text.replace(theirs, ours));
    let mut out = String::with_capacity(message.len());
    let mut rest = message.as_str();
    while let Some(at) = rest.find("--") {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let end = from[2..].find(|c: char| !(c.is_ascii_lowercase() || c == '-')).map_or(from.len(), |k| k + 2);
        let (option, behind) = from.split_at(end);
        // Within a word, a name with dashes of its own, say, it is no option.
        let stands_alone = !out.ends_with(|c: char| c.is_alphanumeric() || c == '-');
        rest = behind;
        match argument(&option[2..]).filter(|_| stands_alone) {
            None => out.push_str(option),
            Some(argument) => {
                out.push_str(&argument);
                if argument.ends_with('=') {
                    rest = value_follows(behind).unwrap_or(behind);
                }
            }
        }
    }
    out.push_str(rest);
    out
}

/// What an option is in Python; nothing for what is none.
fn argument(option: &str) -> Option<String> {
    let switch = SWITCHES.iter().find(|(name, _)| *name == option).map(|(_, ours)| (*ours).to_owned());
    switch.or_else(|| ARGUMENTS.contains(&option).then(|| format!("{}=", option.replace('-', "_"))))
}

/// The text from the option's value on, if one stands behind it.
fn value_follows(behind: &str) -> Option<&str> {
    let value = behind.strip_prefix(' ')?;
    let word = value.split(|c: char| c.is_whitespace() || c == ';').next()?;
    (!word.is_empty() && !GO_ON.contains(&word)).then_some(value)
}
