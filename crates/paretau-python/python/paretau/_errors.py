"""Exceptions: each is a `ParetauError` and the built-in exception that a caller would expect."""

from __future__ import annotations

try:
    from sklearn.exceptions import NotFittedError as _NotFitted  # pyright: ignore[reportAssignmentType]
except ImportError:  # scikit-learn is optional

    class _NotFitted(ValueError, AttributeError):  # type: ignore[no-redef]
        """The bases that scikit-learn gives to its own `NotFittedError`."""


class ParetauError(Exception):
    """Base of everything that paretau raises on purpose."""


class UsageError(ParetauError, ValueError):
    """A name does not exist, a parameter is out of range, or the estimator cannot do what was asked."""


class InputTypeError(ParetauError, TypeError):
    """An argument has a type that cannot be read."""


class DataError(ParetauError, ValueError):
    """The data are not fit for the job; the message names the place and the remedy."""


class SchemaError(DataError):
    """The columns are not those that the model was fitted on."""


class ModelFileError(ParetauError, ValueError):
    """A model file is damaged, foreign or of a later version."""


class FileError(ParetauError, OSError):
    """The operating system refused a read or a write."""


class MissingFileError(FileError, FileNotFoundError):
    """A file is not there."""


class NumericError(ParetauError, ArithmeticError):
    """A numerical procedure failed although its input was acceptable."""


class InternalError(ParetauError, RuntimeError):
    """A bug in paretau; the message asks for a report."""


class NotFittedError(ParetauError, _NotFitted):
    """Something was asked of an estimator that has not been fitted."""


class DataWarning(UserWarning):
    """The data or the fit give reason to look twice."""
