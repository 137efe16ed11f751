"""Where the fits of a study are done: `executor=` of `run`, `tune`, `compare` and `fit`.

A study is a list of tasks; each is a pure function of rows, estimator, parameters, seed and fold, and gives one record. An
executor does the tasks wherever it likes, so the records, and all that is made of them, are those of a local run.

`executor=` is a name ("threads", "processes", "joblib", "ray", "dask"), one of the classes here with settings of its own, a
`distributed.Client`, or anything with the `submit` of `concurrent.futures`.
"""

from __future__ import annotations

import concurrent.futures as futures
import os
import socket
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import _paretau
from ._errors import ParetauError, UsageError
from ._worker import Rows, perform

__all__ = ["ClusterError", "Dask", "Executor", "Futures", "Joblib", "Processes", "Ray"]

#: Times that a task is begun when its worker vanishes.
ATTEMPTS = 3
#: Seconds after which a waiting executor looks whether it is to stop.
POLL = 0.2

#: One task done: its place, its record or None, and why there is none. None: nothing has happened yet.
Done = tuple[int, "str | None", str] | None


class ClusterError(ParetauError, RuntimeError):
    """A cluster cannot be reached, or its workers cannot do the tasks; the message says what to do."""


class Lost(Exception):
    """A task's worker vanished."""


class Executor:
    """Does tasks by handing them to workers, a few at a time. Tasks whose worker vanished are done again."""

    #: Threads of a task.
    cpus: int = 1

    def start(self, rows: Rows | None, stream: Any) -> None:
        """Gets workers ready, and the rows to them, once."""
        self._rows, self._stream = rows, stream

    def width(self) -> int:
        """How many tasks may be under way."""
        raise NotImplementedError

    def submit(self, task: str) -> Any:
        """Hands a task to a worker."""
        raise NotImplementedError

    def wait(self, handles: list[Any], timeout: float) -> list[Any]:
        """Those of the handles that are done after `timeout` seconds at most."""
        raise NotImplementedError

    def result(self, handle: Any) -> tuple[str, str]:
        """What `paretau._worker.perform` returned; raises `Lost` when its worker vanished."""
        raise NotImplementedError

    def stop(self, handles: list[Any]) -> None:
        """Cancels what is under way and lets workers go."""

    def lost(self) -> None:
        """Called after workers vanished, before their tasks are handed out again."""

    def over(self, rows: Rows | None, stream: Any) -> Callable[[list[str]], Iterator[Done]]:
        """The function that the compiled part calls with its tasks."""

        def each(tasks: list[str]) -> Iterator[Done]:
            self.start(rows, stream)
            waiting = list(range(len(tasks)))[::-1]
            suspects: list[int] = []
            attempts = [0] * len(tasks)
            under_way: dict[Any, int] = {}
            try:
                while waiting or suspects or under_way:
                    # Tasks that were under way when workers vanished are begun alone, so that the guilty one is found.
                    while suspects and not under_way:
                        k = suspects.pop()
                        attempts[k] += 1
                        under_way[self.submit(tasks[k])] = k
                    while waiting and not suspects and len(under_way) < self.width() and not _alone(under_way, attempts):
                        k = waiting.pop()
                        attempts[k] += 1
                        under_way[self.submit(tasks[k])] = k
                    done = self.wait(list(under_way), POLL)
                    if not done:
                        yield None
                    gone = False
                    for handle in done:
                        k = under_way.pop(handle)
                        try:
                            what, text = self.result(handle)
                        except Lost as error:
                            gone = True
                            if attempts[k] < ATTEMPTS:
                                suspects.append(k)
                            else:
                                yield k, None, f"its worker vanished {attempts[k]} times ({error}); perhaps it needs more memory"
                            continue
                        if what == "fault":
                            raise ClusterError(text)
                        yield k, text, ""
                    if gone:
                        self.lost()
            finally:
                self.stop(list(under_way))

        return each

    def _arguments(self, task: str) -> tuple[Any, ...]:
        return task, self._rows, self._stream, self.cpus, _paretau.__version__


def _alone(under_way: dict[Any, int], attempts: list[int]) -> bool:
    return any(attempts[k] > 1 for k in under_way.values())


class Futures(Executor):
    """Anything with the `submit` of `concurrent.futures`: pools, `mpi4py.futures`, `client.get_executor()`."""

    def __init__(self, pool: Any, *, cpus: int = 1, workers: int | None = None) -> None:
        self.cpus, self._pool, self._workers = _count("cpus", cpus), pool, workers or os.cpu_count() or 1

    def width(self) -> int:
        return 2 * self._workers

    def submit(self, task: str) -> Any:
        try:
            return self._pool.submit(perform, *self._arguments(task))
        except futures.BrokenExecutor as error:
            raise ClusterError(f"the pool is broken ({error}); make a new one") from error

    def wait(self, handles: list[Any], timeout: float) -> list[Any]:
        return list(futures.wait(handles, timeout, return_when=futures.FIRST_COMPLETED).done)

    def result(self, handle: Any) -> tuple[str, str]:
        try:
            return handle.result()
        except (futures.BrokenExecutor, futures.CancelledError, MemoryError) as error:
            raise Lost(str(error) or type(error).__name__) from error

    def stop(self, handles: list[Any]) -> None:
        for handle in handles:
            handle.cancel()


class Processes(Futures):
    """Processes of this machine. `memory_mb` limits what each may take; a task that needs more is a failed record."""

    def __init__(self, workers: int | None = None, *, cpus: int = 1, memory_mb: int | None = None) -> None:
        super().__init__(None, cpus=cpus, workers=None if workers is None else _count("workers", workers))
        self._memory = memory_mb

    def _make(self) -> Any:
        import multiprocessing

        # Threads of the compiled part do not survive a fork.
        context = multiprocessing.get_context("spawn")
        return futures.ProcessPoolExecutor(self._workers, context, _limit, (self._memory,))

    def start(self, rows: Rows | None, stream: Any) -> None:
        super().start(rows, stream)
        if stream is not None:
            # Every task carries the rows' path, and not the rows: a pipe would copy them once per task.
            import tempfile

            self._file = tempfile.NamedTemporaryFile(prefix="paretau-rows-", delete=False)  # noqa: SIM115 (outlives this)
            self._file.write(stream)
            self._file.close()
            self._stream = _Spooled(self._file.name)
        self._pool = self._make()

    def width(self) -> int:
        return self._workers

    def lost(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = self._make()

    def submit(self, task: str) -> Any:
        try:
            return self._pool.submit(perform, *self._arguments(task))
        except futures.BrokenExecutor:
            self.lost()
            return self._pool.submit(perform, *self._arguments(task))

    def stop(self, handles: list[Any]) -> None:
        workers = list((getattr(self._pool, "_processes", None) or {}).values())
        self._pool.shutdown(wait=False, cancel_futures=True)
        if handles:
            for worker in workers:
                worker.terminate()
        if hasattr(self, "_file"):
            os.unlink(self._file.name)
            del self._file


class _Spooled:
    """Rows in a file of this machine, read by whoever needs them."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __bytes__(self) -> bytes:
        with open(self.path, "rb") as file:
            return file.read()


def _limit(memory_mb: int | None) -> None:
    if memory_mb is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory_mb << 20, memory_mb << 20))


class Joblib(Futures):
    """joblib's pool of processes, kept warm between studies (`loky`)."""

    def __init__(self, workers: int | None = None, *, cpus: int = 1) -> None:
        super().__init__(None, cpus=cpus, workers=None if workers is None else _count("workers", workers))

    def start(self, rows: Rows | None, stream: Any) -> None:
        super().start(rows, stream)
        loky = _import("joblib.externals.loky", "joblib")
        self._make = lambda: loky.get_reusable_executor(max_workers=self._workers)
        self._pool = self._make()

    def width(self) -> int:
        return self._workers

    def lost(self) -> None:
        self._pool = self._make()


class Ray(Executor):
    """A Ray cluster: the one that is connected, the one at `address`, or, without any, one of this machine alone.

    The rows go into the object store once, as Arrow. `cpus` are the CPUs that Ray sets aside for a task, and its threads.
    """

    def __init__(self, address: str | None = None, *, cpus: int = 1, memory_mb: int | None = None, **options: Any) -> None:
        self.cpus, self._address, self._options = _count("cpus", cpus), address, options
        self._memory = memory_mb

    def start(self, rows: Rows | None, stream: Any) -> None:
        super().start(rows, stream)
        self._ray = ray = _import("ray")
        if not ray.is_initialized():
            _check_answers(self._address or os.environ.get("RAY_ADDRESS"))
            try:
                ray.init(address=self._address, log_to_driver=False, **self._options)
            except Exception as error:
                raise ClusterError(
                    f"no Ray cluster answers at {self._address or 'this machine'} ({error}); start one with `ray start --head`, "
                    "or name its address"
                ) from error
        if stream is not None:
            # A numpy array of bytes is read in place by every worker of a node.
            self._stream = ray.put(np.frombuffer(stream, np.uint8))
        settings: dict[str, Any] = {"num_cpus": self.cpus, "max_retries": 0}
        if self._memory is not None:
            settings["memory"] = self._memory << 20
        self._task = ray.remote(**settings)(perform)
        if self.cpus > max((node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"]), default=0):
            raise ClusterError(f"no node of the Ray cluster has {self.cpus} CPUs, so that no task could ever begin")

    def width(self) -> int:
        return max(2, 2 * int(self._ray.cluster_resources().get("CPU", 1)) // self.cpus)

    def submit(self, task: str) -> Any:
        return self._task.remote(*self._arguments(task))

    def wait(self, handles: list[Any], timeout: float) -> list[Any]:
        return self._ray.wait(handles, num_returns=1, timeout=timeout)[0]

    def result(self, handle: Any) -> tuple[str, str]:
        errors = self._ray.exceptions
        try:
            return self._ray.get(handle)
        except errors.RayTaskError as error:
            cause = error.cause
            if isinstance(cause, MemoryError):
                raise Lost("out of memory") from error
            raise ClusterError(f"a Ray worker cannot do tasks of paretau: {_last_line(error)}") from error
        except errors.RayError as error:
            raise Lost(_first_line(error)) from error

    def lost(self) -> None:
        if not self._ray.is_initialized():
            raise ClusterError("the Ray cluster is gone; start it again and go on with resume=True")

    def stop(self, handles: list[Any]) -> None:
        for handle in handles:
            self._ray.cancel(handle, force=True)


def _check_answers(address: str | None) -> None:
    """Ray ends the whole process when nobody answers, so that we look first."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), 10).close()
    except OSError as error:
        raise ClusterError(
            f"no Ray cluster answers at {address} ({error}); start one with `ray start --head`, or name its address"
        ) from error


class Dask(Executor):
    """A Dask cluster: a `distributed.Client`, the address of a scheduler, or, without either, the client of this process."""

    def __init__(self, client: Any = None, *, cpus: int = 1) -> None:
        self.cpus, self._client = _count("cpus", cpus), client

    def start(self, rows: Rows | None, stream: Any) -> None:
        super().start(rows, stream)
        self._distributed = distributed = _import("distributed", "dask[distributed]")
        if isinstance(self._client, str):
            try:
                self._client = distributed.Client(self._client, timeout=10, set_as_default=False)
            except (OSError, TimeoutError) as error:
                raise ClusterError(
                    f"no Dask scheduler answers at {self._client} ({error}); start one with `dask scheduler`"
                ) from error
        if self._client is None:
            try:
                self._client = distributed.get_client()
            except ValueError as error:
                raise ClusterError("no Dask client is connected; pass a distributed.Client or a scheduler's address") from error
        if stream is not None:
            self._stream = self._client.scatter(np.frombuffer(stream, np.uint8), broadcast=True, hash=False)

    def width(self) -> int:
        return max(2, 2 * sum(self._client.nthreads().values()) // self.cpus)

    def submit(self, task: str) -> Any:
        # Retries are ours; a worker that dies takes the task with it to the scheduler, which gives up after a few.
        return self._client.submit(perform, *self._arguments(task), pure=False)

    def wait(self, handles: list[Any], timeout: float) -> list[Any]:
        try:
            return list(self._distributed.wait(handles, timeout=timeout, return_when="FIRST_COMPLETED").done)
        except (TimeoutError, self._distributed.TimeoutError):
            return []

    def result(self, handle: Any) -> tuple[str, str]:
        try:
            return handle.result()
        except (self._distributed.KilledWorker, MemoryError) as error:
            raise Lost(_first_line(error)) from error
        except futures.CancelledError as error:
            raise Lost("the scheduler forgot it") from error
        except ParetauError:
            raise
        except Exception as error:
            raise ClusterError(f"a Dask worker cannot do tasks of paretau: {error}") from error

    def stop(self, handles: list[Any]) -> None:
        if handles:
            self._client.cancel(handles)


_NAMES: dict[str, Callable[[int], Executor]] = {
    "processes": lambda cpus: Processes(cpus=cpus),
    "joblib": lambda cpus: Joblib(cpus=cpus),
    "ray": lambda cpus: Ray(cpus=cpus),
    "dask": lambda cpus: Dask(cpus=cpus),
}


def find(executor: Any, n_jobs: int | None) -> Executor | None:
    """The executor of a name, a client or a pool; None for threads of this process. `n_jobs` are the threads of a task."""
    if executor is None or executor == "threads":
        return None
    if isinstance(executor, Executor):
        return executor
    cpus = max(1, n_jobs or 1)
    if isinstance(executor, str):
        if executor not in _NAMES:
            raise UsageError(f"there is no executor {executor!r}; there are 'threads', {', '.join(map(repr, _NAMES))}")
        return _NAMES[executor](cpus)
    if type(executor).__module__.startswith("distributed"):
        return Dask(executor, cpus=cpus)
    if hasattr(executor, "submit"):
        return Futures(executor, cpus=cpus)
    raise UsageError(f"executor must be a name, one of paretau.executors or have a method submit, not {executor!r}")


def over(executor: Executor | None, table: Any = None, path: str | None = None) -> Any:
    """What the compiled part calls with tasks: the executor with the rows of a table, or of a file that workers read."""
    if executor is None:
        return None
    if path is not None:
        return executor.over(Rows(uuid.uuid4().hex, os.path.abspath(path)), None)
    if table is None:
        return executor.over(None, None)
    return executor.over(Rows(uuid.uuid4().hex), table.to_ipc())


def _import(module: str, package: str | None = None) -> Any:
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UsageError(f"this executor needs {package or module}: pip install '{package or module}'") from error


def _count(name: str, value: Any) -> int:
    if int(value) != value or value < 1:
        raise UsageError(f"{name} must be a whole number of at least 1, not {value!r}")
    return int(value)


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def _last_line(error: Exception) -> str:
    return next((line.strip() for line in reversed(str(error).splitlines()) if line.strip()), type(error).__name__)
