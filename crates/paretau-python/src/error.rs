//! paretau's errors as Python exceptions. The classes themselves are Python (`paretau._errors`), because they have
//! several bases each: ours and the built-in one that a caller would expect.

use paretau::Error;
use paretau::kernels::KernelError;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::wording::in_python;

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
        Error::File { .. } => ModelFileError::new_err(in_python(&error.to_string())),
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
