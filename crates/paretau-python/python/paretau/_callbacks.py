"""scikit-learn's callbacks (1.9 and later): stages of a fit and epochs of a net are its tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

_Method = TypeVar("_Method", bound=Callable[..., Any])

if TYPE_CHECKING:
    # What they are to a reader of types, whatever version is installed.
    class CallbackSupportMixin:
        """Where scikit-learn has callbacks, `set_callbacks`."""

    def with_callbacks(method: _Method) -> _Method:
        """The method, which ends what callbacks have begun."""
        return method

else:
    try:
        from sklearn.callback import CallbackSupportMixin, with_callbacks
    except ImportError:  # an older scikit-learn, or none: there is no `set_callbacks`

        class CallbackSupportMixin:
            """Nothing."""

        def with_callbacks(method: _Method) -> _Method:
            """The method as it is."""
            return method


class Tasks:
    """Hands the events of a fit to the callbacks that were set on the estimator.

    Callbacks hear of the fit, of its stages, and of the epochs within a stage. They cannot end a stage early; a callback that
    raises ends the fit.
    """

    def __init__(self, estimator: Any, X: Any, y: Any, metadata: dict[str, Any]) -> None:
        self._estimator = estimator
        self._rows = {"X": X, "y": y, "metadata": {k: v for k, v in metadata.items() if v is not None}}
        self._stage: Any = None
        self._root = estimator._init_callback_context(max_subtasks=None)
        self._root.call_on_fit_task_begin(estimator=estimator, **self._rows)

    @classmethod
    def begun(cls, estimator: Any, X: Any, y: Any, metadata: dict[str, Any]) -> Tasks | None:
        """Tells callbacks that a fit begins; None where there are none."""
        return cls(estimator, X, y, metadata) if getattr(estimator, "_skl_callbacks", None) else None

    def event(self, event: dict[str, Any]) -> None:
        """A stage ends the one before it; an epoch is a task within its stage."""
        if event["event"] == "stage":
            self._end_stage()
            self._stage = self._root.subcontext(task_name=event["name"], max_subtasks=None)
            self._stage.call_on_fit_task_begin(estimator=self._estimator)
        elif event["event"] == "epoch" and self._stage is not None:
            epoch = self._stage.subcontext(task_name="epoch")
            epoch.call_on_fit_task_begin(estimator=self._estimator, metadata=event["values"])
            epoch.call_on_fit_task_end(estimator=self._estimator, metadata=event["values"])

    def end(self) -> None:
        """Tells callbacks that the fit has ended; one that asks for the fitted estimator gets a copy."""
        self._end_stage()
        self._root.call_on_fit_task_end(
            estimator=self._estimator, **self._rows, reconstruction_attributes=lambda: {}
        )

    def _end_stage(self) -> None:
        if self._stage is not None:
            stage, self._stage = self._stage, None
            stage.call_on_fit_task_end(estimator=self._estimator)
