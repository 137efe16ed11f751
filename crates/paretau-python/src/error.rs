//! paretau's errors as Python exceptions. The classes themselves are Python (`paretau._errors`), because they have
//! several bases each: ours and the built-in one that a caller would expect.

use paretau::Error;
use paretau::kernels::KernelError;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

#[allow(unreachable_pub)]
mod classes {
    use pyo3::import_exception;

    import_exception!(paretau._errors, DataError);
    import_exception!(paretau._errors, FileError);
    import_exception!(paretau._errors, InternalError);
    import_exception!(paretau._errors, MissingFileError);
    import_exception!(paretau._errors, ModelFileError);
    import_exception!(paretau._errors, NumericError);
    import_exception!(paretau._errors, SchemaError);
    import_exception!(paretau._errors, UsageError);
}
use classes::{
    DataError, FileError, InternalError, MissingFileError, ModelFileError, NumericError, SchemaError, UsageError,
};

/// The exception for an error of the libraries.
pub(crate) fn to_py(error: Error) -> PyErr {
    let message = in_python(&error.to_string());
    match &error {
        Error::UnknownName { .. } | Error::BadParameter { .. } | Error::Unsupported { .. } => {
            UsageError::new_err(message)
        }
        Error::SchemaMismatch { .. } => SchemaError::new_err(message),
        Error::BadModel { .. } => ModelFileError::new_err(message),
        Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => MissingFileError::new_err(message),
        Error::Io { .. } => FileError::new_err(message),
        Error::Numeric { .. } => NumericError::new_err(message),
        Error::Internal { .. } => InternalError::new_err(message),
        Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        // Lengths, values, files and whatever kind of bad data comes later.
        _ => DataError::new_err(message),
    }
}

/// The exception for an error while a model file is read: whatever is wrong, the file is to blame.
pub(crate) fn of_model_file(error: Error) -> PyErr {
    match error {
        Error::File { .. } => ModelFileError::new_err(error.to_string()),
        other => to_py(other),
    }
}

/// The exception for what a kernel refuses.
pub(crate) fn of_kernel(error: KernelError) -> PyErr {
    match &error {
        KernelError::Parameter { .. } | KernelError::NotDifferentiable { .. } => UsageError::new_err(error.to_string()),
        KernelError::Overflow { .. } => NumericError::new_err(error.to_string()),
        _ => DataError::new_err(error.to_string()),
    }
}

/// The exception for a call that makes no sense.
pub(crate) fn usage(message: impl Into<String>) -> PyErr {
    UsageError::new_err(message.into())
}

/// The exception for data that cannot be used.
pub(crate) fn data(message: impl Into<String>) -> PyErr {
    DataError::new_err(message.into())
}

/// The exception for a panic: a bug of ours, which must not take the interpreter down.
pub(crate) fn of_panic(payload: &(dyn std::any::Any + Send)) -> PyErr {
    let text = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    InternalError::new_err(format!("this is a bug in paretau, please report it: {text}"))
}

/// The libraries' messages name options as the command line spells them (`--treated-value`); here they are arguments.
pub(crate) fn in_python(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    for (k, part) in message.split("--").enumerate() {
        let name_ends = part.find(|c: char| !(c.is_ascii_lowercase() || c == '-')).unwrap_or(part.len());
        let (name, rest) = part.split_at(name_ends);
        if k == 0 {
            out.push_str(part);
        } else if name.is_empty() || name.starts_with('-') {
            out.push_str("--");
            out.push_str(part);
        } else if name == "ignore" {
            // Classes have no such argument: what is not to be read is not handed over.
            out.push_str("ignore= (of paretau.fit), or drop from X:");
            out.push_str(rest);
        } else if name == "in-sample" {
            out.push_str("in_sample=True");
            out.push_str(rest);
        } else {
            out.push_str(&name.replace('-', "_"));
            out.push('=');
            out.push_str(rest.strip_prefix(' ').filter(|r| r.starts_with(char::is_alphanumeric)).unwrap_or(rest));
        }
    }
    out
}
