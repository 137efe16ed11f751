//! One error type for the whole workspace. It holds values, not sentences glued together early:
//! the command line, Python and tests each need the parts.

use std::path::{Path, PathBuf};

use crate::printable;

/// Shorthand for a result with paretau's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What kind of thing went wrong; the command line turns it into its exit code and Python into an exception class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The caller named something that does not exist or gave a value out of range.
    Usage,
    /// A file, a column, a cell or a configuration is not fit for the job.
    Data,
    /// The computation itself did not succeed, or our own code is at fault.
    Failed,
    /// The user asked to stop.
    Interrupted,
}

/// Everything that can go wrong in paretau's libraries.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name is not in its list.
    #[error("unknown {what} `{}`{}", printable(name), printable(&did_you_mean(suggestion.as_deref(), known)))]
    UnknownName {
        /// What was named, e.g. "estimator".
        what: &'static str,
        /// The name given.
        name: String,
        /// The nearest known name, when one is near.
        suggestion: Option<String>,
        /// All known names.
        known: Vec<String>,
    },
    /// A base learner has no such parameter.
    #[error("`{}`: `{base}` has no parameter `{}`{}", printable(key), printable(name), did_you_mean(suggestion.as_deref(), known))]
    UnknownBaseParameter {
        /// The whole key, e.g. `base.min_node_size`.
        key: String,
        /// The base learner.
        base: String,
        /// The parameter that it does not have.
        name: String,
        /// Its nearest parameter, when one is near.
        suggestion: Option<String>,
        /// All its parameters.
        known: Vec<String>,
    },
    /// A parameter's value has the wrong type or lies outside its range.
    #[error("{} must be {expected}, not `{}`", parameter(owner, name), printable(value))]
    BadParameter {
        /// The estimator or learner it belongs to.
        owner: String,
        /// Parameter name.
        name: String,
        /// The value given.
        value: String,
        /// What would be accepted.
        expected: String,
    },
    /// Two inputs that must have one length do not.
    #[error("{what} has {found} entries, but {expected} rows were expected")]
    LengthMismatch {
        /// Which input.
        what: &'static str,
        /// Rows expected.
        expected: usize,
        /// Entries found.
        found: usize,
    },
    /// A number is not finite where it must be.
    #[error("{}: row {row} holds {value}; {remedy}", printable(what))]
    NonFinite {
        /// Which input or column.
        what: String,
        /// 1-based row.
        row: usize,
        /// The offending value.
        value: f64,
        /// What to do about it.
        remedy: &'static str,
    },
    /// The data as a whole do not permit the analysis.
    #[error("{}", printable(message))]
    UnfitData {
        /// What is wrong and what to do.
        message: String,
    },
    /// A place in a file is wrong.
    #[error("{}{}{}", shown(path), printable(&place(column.as_deref(), *row)), printable(&after_place(message)))]
    File {
        /// The file.
        path: PathBuf,
        /// Column name, when one is to blame.
        column: Option<String>,
        /// 1-based line or data row, when one is to blame.
        row: Option<u64>,
        /// What is wrong and what to do.
        message: String,
    },
    /// The model does not fit the data given to it.
    #[error("{}", printable(message))]
    SchemaMismatch {
        /// What differs and what to do.
        message: String,
    },
    /// A model file or a state cannot be read.
    #[error("not a usable model: {}", printable(message))]
    BadModel {
        /// What is wrong with it.
        message: String,
    },
    /// The estimator cannot do what was asked.
    #[error("`{estimator}` {}", printable(message))]
    Unsupported {
        /// Registry name.
        estimator: String,
        /// What it cannot do, and what can.
        message: String,
    },
    /// A numerical procedure failed although its input was acceptable.
    #[error("{what} failed: {}", printable(message))]
    Numeric {
        /// The procedure.
        what: &'static str,
        /// How it failed.
        message: String,
    },
    /// The operating system refused a read or a write.
    #[error("{}: {}{}", shown(path), printable(&source.to_string()), io_remedy(source))]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Our own code broke a promise: nothing that a caller does should lead here.
    #[error("this is a bug in paretau, please report it: {what}: {message}")]
    Internal {
        /// What was being done.
        what: &'static str,
        /// How it failed.
        message: String,
    },
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// The kind of failure, for exit codes and exception classes.
    pub fn kind(&self) -> ErrorKind {
        match self {
            // A column that is not in the file is a matter of the data; any other name one of the call.
            Self::UnknownName { what: "column", .. }
            | Self::LengthMismatch { .. }
            | Self::NonFinite { .. }
            | Self::UnfitData { .. }
            | Self::File { .. }
            | Self::SchemaMismatch { .. }
            | Self::BadModel { .. }
            | Self::Io { .. } => ErrorKind::Data,
            Self::UnknownName { .. }
            | Self::UnknownBaseParameter { .. }
            | Self::BadParameter { .. }
            | Self::Unsupported { .. } => ErrorKind::Usage,
            Self::Numeric { .. } | Self::Internal { .. } => ErrorKind::Failed,
            Self::Interrupted => ErrorKind::Interrupted,
        }
    }

    /// An [`Error::UnfitData`] from any message.
    pub fn unfit(message: impl Into<String>) -> Self {
        Self::UnfitData { message: message.into() }
    }

    /// An [`Error::BadModel`] from any message.
    pub fn bad_model(message: impl Into<String>) -> Self {
        Self::BadModel { message: message.into() }
    }

    /// An [`Error::Internal`]: what was being done, and any reason.
    pub fn internal(what: &'static str, reason: impl std::fmt::Display) -> Self {
        Self::Internal { what, message: reason.to_string() }
    }

    /// An [`Error::UnknownName`] with the nearest of `known` as a suggestion.
    pub fn unknown_name<'a>(what: &'static str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let known: Vec<String> = known.into_iter().map(str::to_owned).collect();
        let suggestion = crate::nearest(name, known.iter().map(String::as_str)).map(str::to_owned);
        Self::UnknownName { what, name: name.to_owned(), suggestion, known }
    }
}

fn shown(path: &Path) -> String {
    printable(&path.to_string_lossy()).into_owned()
}

fn did_you_mean(suggestion: Option<&str>, known: &[String]) -> String {
    match suggestion {
        Some(near) => format!("; did you mean `{near}`?"),
        None if known.is_empty() => String::new(),
        // A wide table has thousands of columns; the first few show the style of its names.
        None if known.len() > 20 => format!("; known: {} and {} more", known[..20].join(", "), known.len() - 20),
        None => format!("; known: {}", known.join(", ")),
    }
}

/// A parameter of something; a flag of the command line speaks for itself.
fn parameter(owner: &str, name: &str) -> String {
    if name.starts_with("--") { name.to_owned() } else { format!("parameter `{name}` of `{owner}`") }
}

/// What to do about the commonest refusals of the system.
fn io_remedy(source: &std::io::Error) -> &'static str {
    use std::io::ErrorKind as E;
    match source.kind() {
        E::NotFound => "; check the path",
        E::PermissionDenied => "; ask for the right to use it, or name another path",
        E::StorageFull | E::QuotaExceeded => "; make room, or write somewhere else",
        E::NotADirectory => "; a part of the path is a file, check it",
        E::IsADirectory => "; it is a folder, name a file in it",
        E::ReadOnlyFilesystem => "; write somewhere else",
        _ => "",
    }
}

/// What follows the place in a message: a line's number, with which a message may begin, belongs to the place.
fn after_place(message: &str) -> String {
    let line = message.strip_prefix("(line ").and_then(|rest| rest.split_once(") "));
    match line.filter(|(number, _)| number.bytes().all(|b| b.is_ascii_digit())) {
        Some((number, rest)) => format!(" (line {number}): {rest}"),
        None => format!(": {message}"),
    }
}

fn place(column: Option<&str>, row: Option<u64>) -> String {
    match (column, row) {
        (Some(c), Some(r)) => format!(", column `{c}`, row {r}"),
        (Some(c), None) => format!(", column `{c}`"),
        (None, Some(r)) => format!(", row {r}"),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_faults_ask_for_a_report_and_blame_neither_data_nor_call() {
        let error = Error::internal("writing the state of a model", "a key must be a string");
        let text = "this is a bug in paretau, please report it: writing the state of a model: a key must be a string";
        assert_eq!((error.to_string().as_str(), error.kind()), (text, ErrorKind::Failed));
    }

    #[test]
    fn names_from_a_file_cannot_steer_the_terminal() {
        let evil = "a\u{1b}]0;x\u{7}\u{202e}\n";
        let file = |message: &str| Error::File {
            path: evil.into(),
            column: Some(evil.to_owned()),
            row: Some(1),
            message: message.to_owned(),
        };
        let io = Error::Io { path: evil.into(), source: std::io::Error::other(evil) };
        for error in [
            file(evil),
            io,
            Error::unfit(evil),
            Error::bad_model(evil),
            Error::unknown_name("column", evil, [evil, "b"]),
            Error::unknown_name("column", "zebra", [evil]),
            Error::SchemaMismatch { message: evil.to_owned() },
        ] {
            let text = error.to_string();
            assert!(!text.contains(|c: char| c.is_control() || c == '\u{202e}'), "{text:?}");
        }
    }
}
