"""Real clusters on this machine, started and stopped by the tests: Ray with two nodes, Spark and Dask with two workers each."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_DISABLE_IMPORT_WARNING"] = "1"
RAY = str(Path(sys.executable).with_name("ray"))


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class RayNode:
    """A node of a Ray cluster: `ray start --block` in a process group of its own."""

    def __init__(self, *args: str) -> None:
        common = ["--block", "--num-cpus=1", "--object-store-memory=100000000", "--node-ip-address=127.0.0.1", "--disable-usage-stats"]
        self.process = subprocess.Popen(
            [RAY, "start", *args, *common], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )

    def workers(self) -> list[int]:
        """Processes of this node that do a task at this moment."""
        import psutil

        found = []
        for child in psutil.Process(self.process.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if child.cmdline() and child.cmdline()[0].startswith("ray::perform"):
                    found.append(child.pid)
        return found

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(20)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)


@pytest.fixture(scope="session")
def ray_nodes():
    """A head and a second node on the loopback; the driver is connected."""
    with ray_cluster() as nodes:
        yield nodes


@contextlib.contextmanager
def ray_cluster():
    """The same for who is no test."""
    ray = pytest.importorskip("ray", reason="ray is not installed")
    port = free_port()
    address = f"127.0.0.1:{port}"
    nodes = [RayNode("--head", f"--port={port}", "--include-dashboard=false")]
    try:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.5)
        time.sleep(3)
        nodes.append(RayNode(f"--address={address}"))
        os.environ["RAY_ADDRESS"] = address
        ray.init(address=address, log_to_driver=False)
        while sum(node["Alive"] for node in ray.nodes()) < 2:
            assert time.monotonic() < deadline, "the second node did not come"
            time.sleep(0.5)
        yield nodes
    finally:
        ray.shutdown()
        os.environ.pop("RAY_ADDRESS", None)
        for node in reversed(nodes):
            node.stop()


@pytest.fixture(scope="session")
def dask_client():
    """A scheduler and two worker processes."""
    distributed = pytest.importorskip("distributed", reason="dask is not installed")
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1")
    client = distributed.Client(cluster)
    yield client
    client.close()
    cluster.close()


@pytest.fixture(scope="session")
def spark():
    """Spark in local-cluster mode with two workers."""
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    import pyspark
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("paretau")
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "500",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def people():
    import paretau

    return paretau.make_synthetic(n=1500, d=9, noise=0.5, random_state=3).frame()


def records(folder: Path) -> dict[str, dict]:
    """Records of a run by key, without what a clock says; none is there twice."""
    lines = (folder / "records.jsonl").read_text().splitlines()
    found = {record["key"]: record for record in map(json.loads, lines)}
    assert len(found) == len(lines)
    for record in found.values():
        del record["seconds"]
    return found
