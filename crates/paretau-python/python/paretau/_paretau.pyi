"""The compiled module. Private: the package's own modules are what to call."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_Vector = NDArray[np.float64]

__version__: str
DEFAULT_BENCHMARKS: int
DEFAULT_COMPARE_FOLDS: int
DEFAULT_DEPTH: int
DEFAULT_FDR: float
DEFAULT_OBJECTIVE: str
DEFAULT_REPLICATES: int
DEFAULT_SEARCH: str
DEFAULT_STRENGTH: float
DEFAULT_TRIALS: int
DEFAULT_TUNE_FOLDS: int
DEFAULT_VALID_SHARE: float

class Table:
    def __init__(self) -> None: ...
    @staticmethod
    def read(path: str, reading: str) -> Table: ...
    def to_ipc(self) -> bytes: ...
    def numbers(self, name: str, values: _Vector, *, dates: bool = False) -> None: ...
    def matrix(self, names: Sequence[str], values: NDArray[np.float64]) -> None: ...
    def matrix_f32(self, names: Sequence[str], values: NDArray[np.float32]) -> None: ...
    def text(self, name: str, levels: Sequence[str], codes: NDArray[np.int64]) -> None: ...
    def csr(
        self,
        names: Sequence[str],
        n_rows: int,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int64],
        values: _Vector,
    ) -> None: ...

class Model:
    @staticmethod
    def load(path: str) -> Model: ...
    @staticmethod
    def from_bytes(bytes: bytes, *, pickled: bool = False) -> Model: ...
    def save(self, path: str) -> None: ...
    def to_bytes(self, *, pickled: bool = False) -> bytes: ...
    def about(self) -> str: ...
    def summary(self) -> str: ...
    def overlap_lines(self, *, arm: int) -> list[str]: ...
    def findings(self) -> str: ...
    def average(self, population: str, *, arm: int, level: float) -> tuple[float, float, float, float]: ...
    def extrapolates(self, population: str, *, arm: int) -> str | None: ...
    def held_out_effects(self) -> list[_Vector] | None: ...
    def encoded_owners(self) -> dict[str, str]: ...
    def group_effects(self, table: Table, *, arm: int) -> str: ...
    def report(self) -> str: ...
    def input_names(self) -> list[str]: ...
    def reads_sparse(self) -> bool: ...
    def encoded_names(self) -> list[str]: ...
    def encoded(self, table: Table) -> _Vector: ...
    def score_stream(
        self, stream: bytes, *, id: str | None, level: float | None, kind: str, n_jobs: int | None
    ) -> bytes: ...
    def contrasts(self, table: Table, *, n_jobs: int | None = None) -> list[dict[str, Any]]: ...
    def effect(
        self,
        table: Table,
        *,
        level: float | None = None,
        kind: str = "conditional",
        arm: int = 1,
        n_jobs: int | None = None,
    ) -> dict[str, Any]: ...
    def predict(self, table: Table, *, propensity: bool, n_jobs: int | None = None) -> dict[str, Any]: ...

class TaskData:
    @staticmethod
    def from_ipc(bytes: bytes) -> TaskData: ...
    @staticmethod
    def read(path: str) -> TaskData: ...

def perform_task(task: str, data: TaskData | None, *, n_jobs: int | None) -> str: ...

class ScoredRows:
    @staticmethod
    def of_training(model: Model, arm: int) -> ScoredRows: ...
    @staticmethod
    def of_new_rows(model: Model, table: Table, *, roles: str, seed: int, n_jobs: int | None) -> ScoredRows: ...
    def scores(self) -> dict[str, Any]: ...
    def best_linear_projection(self, table: Table | None) -> str: ...
    def calibration(self) -> str: ...
    def calibration_groups(self, k: int) -> str: ...
    def rank(self, priorities: _Vector | None, points: int) -> str: ...

def lend_base(adapter: Any) -> int: ...
def return_base(handle: int) -> None: ...
def fit(
    table: Table,
    *,
    roles: str,
    estimator: str,
    params: str,
    seed: int,
    valid_share: float,
    n_jobs: int | None,
    listener: Callable[[str], None] | None,
    intervals: int | None = None,
    executor: Callable[[list[str]], Any] | None = None,
) -> Model: ...
def fit_in_blocks(
    path: str,
    *,
    roles: str,
    estimator: str,
    params: str,
    reading: str,
    seed: int,
    valid_share: float,
    n_jobs: int | None,
    listener: Callable[[str], None] | None,
    block_rows: int,
    scratch: str,
) -> Model: ...
def evaluate(
    model: Model, table: Table, *, roles: str, seed: int, n_jobs: int | None, in_sample: str
) -> str: ...
def policy(
    model: Model,
    table: Table,
    *,
    roles: str,
    cost: float | None,
    cost_column: str | None,
    budget: float | None,
    depth: int,
    lower_is_better: bool,
    seed: int,
    n_jobs: int | None,
) -> str: ...
def sensitivity(
    table: Table,
    *,
    roles: str,
    cf_y: float,
    cf_d: float,
    benchmarks: list[str],
    n_benchmarks: int,
    seed: int,
    n_jobs: int | None,
) -> str: ...
def compare_estimators(
    table: Table,
    *,
    roles: str,
    estimators: list[str],
    folds: int,
    seed: int,
    records: str | None,
    resume: bool,
    n_jobs: int | None,
    listener: Callable[[str], None] | None,
    executor: Callable[[list[str]], Any] | None,
) -> str: ...
def test_roles(table: Table, *, roles: str, fdr: float, seed: int, n_jobs: int | None) -> str: ...
def refute(table: Table, *, roles: str, checks: list[str], replicates: int, seed: int, n_jobs: int | None) -> str: ...
def run(
    plan: str,
    folder: str,
    *,
    resume: bool,
    shard: str | None,
    quick: bool,
    params: str,
    realisations: int | None,
    tune: int | None,
    data_folder: str,
    n_jobs: int | None,
    listener: Callable[[str], None] | None,
    executor: Callable[[list[str]], Any] | None,
) -> str: ...
def compare(folder: str) -> str: ...
def tune(
    table: Table,
    *,
    roles: str,
    estimator: str,
    spec: str,
    seed: int,
    valid_share: float,
    records: str | None,
    resume: bool,
    n_jobs: int | None,
    listener: Callable[[str], None] | None,
    executor: Callable[[list[str]], Any] | None,
) -> str: ...
def describe(name: str) -> str: ...
def describe_all() -> str: ...
def list_metrics() -> str: ...
def metric(
    name: str,
    effect: _Vector,
    *,
    rows: tuple[NDArray[np.uint8], _Vector] | None = None,
    nuisance: Sequence[_Vector] | None = None,
    truth: _Vector | None = None,
    encoders: str | None = None,
    weight: _Vector | None = None,
    seed: int = 0,
) -> tuple[float, float | None] | None: ...
def simulate(name: str, params: str, seed: int) -> dict[str, Any]: ...
def tree_shapley(
    roots: NDArray[np.uint32],
    left: NDArray[np.uint32],
    right: NDArray[np.uint32],
    column: NDArray[np.uint32],
    value: _Vector,
    turns: NDArray[np.uint8],
    background: NDArray[np.uint8],
    *,
    n_columns: int,
) -> _Vector: ...
def in_python(message: str) -> str: ...
def soft_rank(w: _Vector, eps: float) -> _Vector: ...
def soft_rank_vjp(w: _Vector, eps: float, g: _Vector) -> tuple[_Vector, _Vector]: ...
def pareto_smooth(w: _Vector) -> _Vector: ...
def pareto_smooth_vjp(w: _Vector, g: _Vector) -> tuple[_Vector, _Vector]: ...
def soft_pareto(w: _Vector, eps: float, kappa: float, paper: bool) -> _Vector: ...
def soft_pareto_vjp(w: _Vector, eps: float, kappa: float, g: _Vector, paper: bool) -> tuple[_Vector, _Vector]: ...
def psis(log_weights: _Vector, r_eff: float, normalize: bool) -> tuple[_Vector, float]: ...
def khat_threshold(n: int) -> float: ...
def gpd_fit(x: _Vector, method: str) -> tuple[float, float]: ...
def ess(w: _Vector) -> float: ...
def mmd_rbf(
    a: NDArray[np.float64], b: NDArray[np.float64], bandwidth: float | None, unbiased: bool, with_grad: bool
) -> tuple[float, NDArray[np.float64] | None, NDArray[np.float64] | None]: ...
def mmd_rbf_f32(
    a: NDArray[np.float32], b: NDArray[np.float32], bandwidth: float | None, unbiased: bool, with_grad: bool
) -> tuple[float, NDArray[np.float32] | None, NDArray[np.float32] | None]: ...
def sinkhorn(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    *,
    eps: float,
    squared: bool,
    tolerance: float,
    max_iterations: int,
    with_grad: bool,
) -> tuple[float, NDArray[np.float64] | None, NDArray[np.float64] | None]: ...
