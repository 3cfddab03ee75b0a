"""A warm process that hangs, dies, lies or belongs to another user: the command answers by itself."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from muisti import __version__
from muisti.surfaces.warm import client, protocol
from tests.surfaces.warm.conftest import MAIN, World, socket_path, wait_for

Behaviour = Callable[[socket.socket, dict[str, object]], None]


@contextmanager
def fake_server(vault: Path, behave: Behaviour) -> Iterator[list[dict[str, object]]]:
    """Listen in the warm process's place; yield the requests that came."""
    path = socket_path(vault)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    requests: list[dict[str, object]] = []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    line = connection.makefile("rb").readline()
                    if line:
                        requests.append(json.loads(line))
                        with suppress(OSError):  # the client has gone
                            behave(connection, requests[-1])

        threading.Thread(target=serve, daemon=True).start()
        yield requests
        listener.shutdown(socket.SHUT_RDWR)
    path.unlink(missing_ok=True)


def reply(**values: object) -> Behaviour:
    def behave(connection: socket.socket, request: dict[str, object]) -> None:
        answer = {"muisti": __version__, "vault": request["vault"], **values}
        connection.sendall(json.dumps(answer).encode() + b"\n")

    return behave


def send(data: bytes) -> Behaviour:
    return lambda connection, _: connection.sendall(data)


def hang(connection: socket.socket, request: dict[str, object]) -> None:
    connection.settimeout(30)
    connection.recv(1)


def send_forever(connection: socket.socket, request: dict[str, object]) -> None:
    while True:
        connection.sendall(b"[" * 1_000_000)


LIES = {
    "hangs": hang,
    "dies at once": send(b""),
    "dies in the middle": send(b'{"muisti": "' + __version__.encode() + b'", "output": [[1, "Al'),
    "never ends": send_forever,
    "is not JSON": send(b"hello\n"),
    "is not an object": send(b"[]\n"),
    "is nested deeply": send(b"[" * 100_000 + b"\n"),
    "is not UTF-8": send(b"\xff\xfe\n"),
    "is of another version": reply(muisti="99.0", output=[[1, "lie"]]),
    "is of another vault": reply(vault="/elsewhere", output=[[1, "lie"]]),
    "refuses": reply(refused="no"),
    "has no output": reply(),
    "has no list": reply(output="lie"),
    "has other streams": reply(output=[[7, "lie"]]),
    "has no texts": reply(output=[[1, 5]]),
    "has no pairs": reply(output=[1, 2, 3]),
}


@pytest.mark.parametrize("lie", LIES)
def test_K_the_answer_comes_the_other_way(world: World, lie: str) -> None:
    expected = world.cold("which database")
    before = world.recalls()
    with fake_server(world.vault, LIES[lie]) as requests:
        found = world.search("which database")
        assert len(requests) >= 1
    assert (found.stdout, found.stderr) == (expected.stdout, expected.stderr)
    assert b"PostgreSQL" in found.stdout
    assert found.returncode == 0
    assert world.recalls() == before + 1


@pytest.mark.parametrize("lie", ["hangs", "dies in the middle", "has no output"])
def test_K_a_hook_answers_by_itself(world: World, lie: str) -> None:
    prompt = {"session_id": "s1", "cwd": "/", "prompt": "Which database did we choose, PostgreSQL?"}
    command = [sys.executable, "-P", "-c", "from muisti.surfaces.cli.main import main; main()"]
    command += ["hook", "UserPromptSubmit", "--vault", str(world.vault)]
    with fake_server(world.vault, LIES[lie]) as requests:
        done = subprocess.run(
            command, check=False, input=json.dumps(prompt).encode(), capture_output=True
        )
        assert len(requests) >= 1
    assert b"PostgreSQL" in done.stdout
    prompts = list((Path(os.environ["MUISTI_STATE"]) / "sessions").glob("*.prompts"))
    assert len(prompts) == 1
    assert len(prompts[0].read_bytes().splitlines()) == 1  # captured once


def test_K_a_stopped_process_is_not_waited_for(world: World) -> None:
    process = world.start(beat=30)
    os.kill(process.pid, signal.SIGSTOP)
    try:
        long_ago = 1_000_000_000
        os.utime(socket_path(world.vault), (long_ago, long_ago))
        with pytest.raises(client.NoAnswer) as caught:
            client.ask(str(world.vault), {"do": "status"}, 30.0)
        assert "TimeoutError" in str(caught.value)
        assert b"PostgreSQL" in world.search("which database").stdout
    finally:
        os.kill(process.pid, signal.SIGCONT)


def test_K_a_process_that_is_killed_in_the_middle_of_an_answer(world: World) -> None:
    expected = world.cold("which database")
    process = world.start(beat=30)
    os.kill(process.pid, signal.SIGSTOP)  # it accepts connections, and does not answer
    command = [sys.executable, "-P", "-c", MAIN, "search", "--vault", str(world.vault)]
    command += ["which database"]
    searching = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    descriptors = Path(f"/proc/{searching.pid}/fd")

    def is_asking() -> bool:
        with suppress(OSError):
            return any(os.readlink(fd).startswith("socket:") for fd in descriptors.iterdir())
        return False

    wait_for(is_asking)
    os.kill(process.pid, signal.SIGKILL)
    output, notes = searching.communicate()
    assert (output, notes) == (expected.stdout, expected.stderr)
    assert searching.returncode == 0
    assert b"PostgreSQL" in output


def test_K_others_could_change_the_folder(world: World) -> None:
    world.start()
    socket_path(world.vault).parent.chmod(0o755)
    assert b"PostgreSQL" in world.search("which database").stdout
    socket_path(world.vault).parent.chmod(0o700)
    assert world.answered() == 0


def test_K_the_folder_is_a_link(world: World) -> None:
    with fake_server(world.vault, reply(output=[[1, "lie"]])) as requests:
        folder = socket_path(world.vault).parent
        moved = folder.rename(folder.with_name("moved"))
        folder.symlink_to(moved)
        found = world.search("which database")
        assert b"PostgreSQL" in found.stdout
        assert not requests


def test_K_a_file_in_the_place_of_the_socket(world: World) -> None:
    path = socket_path(world.vault)
    path.parent.mkdir(mode=0o700, parents=True)
    path.write_text("not a socket")
    assert b"PostgreSQL" in world.search("which database").stdout


ANOTHER_USER = """
import json, os, socket, sys
os.setgid({user}); os.setuid({user})
listener = socket.socket(socket.AF_UNIX)
listener.bind({path!r})
listener.listen()
print("ready", flush=True)
while True:
    connection, _ = listener.accept()
    request = json.loads(connection.makefile("rb").readline() or "{{}}")
    if not request:
        continue
    answer = {{"muisti": request.get("muisti"), "vault": request.get("vault"), "output": [[1, "lie"]]}}
    try:
        connection.sendall(json.dumps(answer).encode() + b"\\n")
    except OSError:
        pass
"""
NOBODY = 65_534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")


@needs_root
@pytest.mark.parametrize("is_owner_hidden", [False, True])
def test_K_a_process_of_another_user(world: World, is_owner_hidden: bool) -> None:
    path = Path(tempfile.gettempdir()) / f"muisti-test-{os.getpid()}.sock"
    code = ANOTHER_USER.format(user=NOBODY, path=str(path))
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        target = socket_path(world.vault)
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.rename(path, target)  # as if another user could write to our folder
        target.chmod(0o777)
        if is_owner_hidden:  # only the kernel knows who listens
            os.chown(target, os.geteuid(), os.getegid())
        found = world.search("which database")
        assert b"PostgreSQL" in found.stdout
        assert b"lie" not in found.stdout
        with pytest.raises(client.NoAnswer) as caught:
            client.ask(str(world.vault), {"do": "status"}, 5.0)
        assert "Untrusted" in str(caught.value)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()  # type: ignore[union-attr]


CLIENT = """
import os, socket
os.setgid({user}); os.setuid({user})
connection = socket.socket(socket.AF_UNIX)
connection.settimeout(30)
connection.connect({path!r})
connection.sendall(b'{{"do": "status"}}\\n')
print(connection.recv(1000))
"""


@needs_root
def test_K_a_client_of_another_user_gets_nothing(world: World) -> None:
    world.start()
    path = socket_path(world.vault)
    for folder in (path.parent.parent, path.parent):
        folder.chmod(folder.stat().st_mode | 0o011)
    path.chmod(0o777)
    code = CLIENT.format(user=NOBODY, path=str(path))
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (
        done.stdout == "b''\n" or "ConnectionResetError" in done.stderr or "Broken" in done.stderr
    )
    path.parent.chmod(0o700)
    assert world.status() is not None


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"hello\n",
        b"[]\n",
        b"[" * 100_000 + b"\n",
        b"\xff\n",
        b'{"do": "search"}\n',
        b'{"do": "status"',
        b"",
        b"x" * (protocol.MAX_REQUEST + 10) + b"\n",
    ],
)
def test_K_bad_requests_do_no_harm(world: World, line: bytes) -> None:
    world.start()
    connection = client.connect(os.path.realpath(world.vault))
    try:
        connection.settimeout(10)
        connection.sendall(line)
        connection.recv(1000)
    except OSError:
        pass
    finally:
        connection.close()
    wait_for(world.status)
    assert b"PostgreSQL" in world.search("which database").stdout
    assert world.answered() == 1


@pytest.mark.parametrize(
    "change",
    [
        {"arguments": "x"},
        {"arguments": None},
        {"variables": []},
        {"terminals": [True]},
        {"terminals": 5},
        {"folder": "/no/such/folder"},
        {"folder": None},
        {"do": "shell"},
        {"do": None},
        {"do": "recall"},
        {"do": "recall", "prompt": 5, "session": "", "project": "", "recalled": []},
        {"do": "recall", "prompt": "x y z", "session": "", "project": "", "recalled": [[]]},
    ],
)
def test_K_malformed_requests_are_refused(world: World, change: dict[str, object]) -> None:
    world.start()
    request: dict[str, object] = {
        "do": "search",
        "arguments": ["--vault", str(world.vault), "tea"],
        "variables": {},
        "terminals": [False, False],
        "folder": "/",
    }
    with pytest.raises(client.NoAnswer):
        client.ask(str(world.vault), {**request, **change}, 10.0)
    assert client.ask(str(world.vault), request, 10.0)["output"]
