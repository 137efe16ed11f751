"""scikit-learn's base class where it is installed, and the few methods of it that we need where it is not."""

from __future__ import annotations

import inspect
from typing import Any

try:
    from sklearn.base import BaseEstimator as BaseEstimator  # pyright: ignore[reportAssignmentType]

    HAS_SKLEARN = True
except ImportError:
    HAS_SKLEARN = False

    class BaseEstimator:  # type: ignore[no-redef]
        """Parameters by introspection, as scikit-learn does it."""

        @classmethod
        def _get_param_names(cls) -> list[str]:
            return sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Parameters by name."""
            return {name: getattr(self, name) for name in self._get_param_names()}

        def set_params(self, **params: Any) -> BaseEstimator:
            """Sets parameters by name."""
            known = self._get_param_names()
            for name, value in params.items():
                if name not in known:
                    raise ValueError(f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: {known!r}.")
                setattr(self, name, value)
            return self

        def __repr__(self) -> str:
            defaults = inspect.signature(type(self).__init__).parameters
            changed = (
                f"{name}={value!r}"
                for name, value in self.get_params().items()
                if not _same(value, defaults[name].default)
            )
            return f"{type(self).__name__}({', '.join(changed)})"

        def __getstate__(self) -> dict[str, Any]:
            return dict(self.__dict__)

        def __setstate__(self, state: dict[str, Any]) -> None:
            self.__dict__.update(state)


def _same(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except ValueError:
        return False
