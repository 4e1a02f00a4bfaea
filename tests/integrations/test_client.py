"""The client of sessions: one file that plays from any Python, over a Unix socket or HTTP, and says in one line what is wrong."""

from __future__ import annotations

import ast
import json
import socket
import stat
import subprocess
import sys
import tomllib
from asyncio import to_thread
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from shutil import which
from types import ModuleType
from typing import Any

import pytest
from bakery import write_files
from serving_bakery import bakery_scenario, serving

from simtrain.cli import main
from simtrain.contracts.trajectory import trajectory_of
from simtrain.mcp.serve.control import PROTOCOL
from simtrain.mcp.serve.ports import Listening
from simtrain.runs.episode_host import HostOptions
from simtrain.values.version import VERSION

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[2] / "simtrain" / "integrations" / "client"
FILE = FOLDER / "simtrain_client.py"

# Plays the birthday with nothing but the wheel, and prints what came out.
PLAY = """
import json, sys
sys.path.insert(0, sys.argv[1])
from simtrain_client import Sessions
with Sessions(sys.argv[2]) as sessions:
    session = sessions.open("birthday", case=2, seed=7)
    cake = session.call("cakes.get", {"name": session.prompt.split('"')[1]}).content
    order = session.call("orders.place", {"cake_id": cake["id"], "amount": 2}).content
    trajectory = session.finish("ANSWER: " + order["id"])
foreign = [name for name in sys.modules if name.partition(".")[0] not in {*sys.stdlib_module_names, "simtrain_client", "__main__"}]
print(json.dumps({"reward": trajectory["reward"], "foreign": foreign, "version": sys.version_info[:2]}))
"""


@pytest.fixture(scope="module")
def client() -> ModuleType:
    spec = spec_from_file_location("simtrain_client", FILE)
    assert spec is not None and spec.loader is not None
    module = sys.modules["simtrain_client"] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def served(*words: str) -> Iterator[dict[str, Any]]:
    """Where a server of sessions is, in a process of its own."""
    command = [sys.executable, "-m", "simtrain", "serve", "--sessions", "--json", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())
        finally:
            process.terminate()
            assert process.wait(20) == 0


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """A function that carries out a command line: exit code, standard output, standard error."""

    def run(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main([*words])
        return int(ended.value.code or 0), *capsys.readouterr()

    return run


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The socket of a server of the birthday, where a killed one had left its own; its control file lies beside."""
    folder = tmp_path_factory.mktemp("served")
    path, control = folder / "s.sock", folder / "control.json"
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(path))
    with served(str(write_files(folder)), "--socket", str(path), "--control-file", str(control)):
        yield str(path)
    assert not path.exists() and not control.exists()


@pytest.fixture
def sessions(client: ModuleType, address: str) -> Iterator[Any]:
    with client.Sessions(address) as opened:
        opened.name = opened.ask("GET", "/")["scenarios"][0]
        yield opened


def bare_python() -> str:
    """An interpreter that shares nothing with this one: 3.10 if there is one."""
    named = which("python3.10")
    candidates = [*([named] if named else []), *Path.home().glob(".pyenv/versions/3.10.*/bin/python")]
    works = (
        str(python)
        for python in candidates
        # A shim of pyenv is there for versions that are not in use.
        if subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0
    )
    return next(works, sys.executable)


def test_the_wheel_plays_an_episode_in_a_bare_interpreter(address: str, tmp_path: Path, client: ModuleType) -> None:
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", tmp_path, FOLDER], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name == f"simtrain_client-{VERSION}-py3-none-any.whl"
    with client.Sessions(address) as sessions:
        name = sessions.ask("GET", "/")["scenarios"][0]
    script = PLAY.replace('"birthday"', repr(name))
    done = subprocess.run(
        [bare_python(), "-I", "-S", "-c", script, wheel, address], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["reward"], told["foreign"]) == (1.0, []) and told["version"] >= [3, 10]


def test_the_client_is_one_file_of_the_standard_library_for_python_3_10() -> None:
    tree = ast.parse(FILE.read_text(), feature_version=(3, 10))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in imported} <= sys.stdlib_module_names
    project = tomllib.loads((FOLDER / "pyproject.toml").read_text())["project"]
    assert project["version"] == VERSION and "dependencies" not in project


def test_the_socket_is_for_its_owner_alone(address: str) -> None:
    assert stat.S_IMODE(Path(address).stat().st_mode) == 0o600


def test_a_fork_a_grade_and_a_close_over_the_wire(sessions: Any) -> None:
    session = sessions.open(sessions.name)
    cake = session.call("cakes.get", {"name": session.prompt.split('"')[1]}).content
    with session.fork() as fork:
        fork.call("orders.place", {"cake_id": cake["id"], "amount": 2})
        assert (session.grade()["reward"], fork.grade()["reward"]) == (0.0, 1.0)
    trajectory = session.finish("done", abstain=True, prompt_tokens=90, completion_tokens=3)
    read = trajectory_of(trajectory)
    assert (read.stop.reason, len(read.steps)) == ("abstained", 1) and read.usage and read.usage.tokens == 93
    assert sessions.ask("GET", "/")["open"] == 0


def test_a_batch_over_many_sessions_is_one_request(client: ModuleType, sessions: Any) -> None:
    opened = [sessions.open(sessions.name, case=case) for case in range(3)]
    opened[1].close()
    replies = sessions.calls([(session, "cakes.lst" if n else "cakes.list", {}) for n, session in enumerate(opened)])
    assert [type(reply) for reply in replies] == [client.Reply, client.SessionError, client.Reply]
    assert len(replies[0].content["cakes"]) == 8 and replies[2].text == "Unknown tool: cakes.lst"
    assert sessions.calls([]) == []


def test_many_threads_play_at_once(sessions: Any) -> None:
    shared = sessions.open(sessions.name)

    def play(case: int) -> float:
        session = sessions.open(sessions.name, case=case)
        cake = session.call("cakes.get", {"name": session.prompt.split('"')[1]}).content
        sessions.join(shared.name).call("cakes.list", {})
        order = session.call("orders.place", {"cake_id": cake["id"], "amount": 2}).content
        return session.finish(f"ANSWER: {order['id']}")["reward"]

    with ThreadPoolExecutor(6) as pool:
        assert [*pool.map(play, range(6))] == [1.0] * 6
    assert len(shared.finish()["turns"]) == 6


def test_sessions_that_were_not_finished_end_with_their_client(client: ModuleType, address: str) -> None:
    with client.Sessions(address) as sessions:
        name = sessions.ask("GET", "/")["scenarios"][0]
        sessions.open(name).fork()
        assert sessions.ask("GET", "/")["open"] == 2
    with client.Sessions(address) as sessions:
        assert sessions.ask("GET", "/")["open"] == 0


def test_what_is_wrong_is_said_in_one_line(client: ModuleType, sessions: Any) -> None:
    session = sessions.open(sessions.name)
    closed = sessions.open(sessions.name)
    closed.finish("ANSWER: 1")
    closed.close()
    big = {"name": "x" * 5_000_000}
    for use, problem in (
        (lambda: sessions.open("birthdy"), r"^the scenario 'birthdy' is not served here; "),
        (lambda: sessions.open(sessions.name, case=99), r" has no case 99$"),
        (lambda: sessions.join("nobody"), r"^no episode 'nobody' is open$"),
        (lambda: closed.call("cakes.list", {}), rf"^no episode '{closed.name}' is open$"),
        (lambda: closed.finish(), rf"^no episode '{closed.name}' is open$"),
        (
            lambda: session.call("cakes.get", big),
            r"^The request is larger than 4194304 bytes; send fewer calls at once",
        ),
    ):
        with pytest.raises(client.SessionError, match=problem) as caught:
            use()
        assert len(str(caught.value).splitlines()) == 1
    assert session.call("cakes.lst", {}) == client.Reply("Unknown tool: cakes.lst", True, None)
    assert session.call("cakes.list", {}).is_error is False


def test_a_client_of_another_version_is_told_which_to_install(
    client: ModuleType, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert client.PROTOCOL == PROTOCOL
    monkeypatch.setattr(client, "PROTOCOL", "2")
    line = f"the client speaks version 2 of the protocol of sessions, simtrain {VERSION} speaks 1; install simtrain-client {VERSION}"
    with pytest.raises(client.SessionError) as caught:
        client.Sessions(address)
    assert str(caught.value) == line


async def test_over_http_a_token_is_needed_and_a_server_that_is_gone_is_named(
    client: ModuleType, tmp_path: Path
) -> None:
    async with serving([bakery_scenario(tmp_path, more="limits: {calls: 1}\n")], listening=Listening()) as here:
        url, token = here.door.control_url or "", here.door.control_token
        with pytest.raises(client.SessionError, match="token is needed as a bearer token"):
            await to_thread(client.Sessions, url)
        with pytest.raises(client.SessionError, match="Nothing is served here"):
            await to_thread(client.Sessions, here.door.url, token=token)
        sessions = await to_thread(lambda: client.Sessions(url, token=token, timeout=20))
        session = await to_thread(sessions.open)
        await to_thread(session.call, "cakes.list", {})
        with pytest.raises(client.EpisodeOver, match="the episode is over: more than 1 calls"):
            await to_thread(session.call, "cakes.list", {})
    with pytest.raises(client.ServerGone, match=f"^{url}: nobody answers: "):
        session.call("cakes.list", {})
    sessions.close()


def test_an_address_where_nothing_is_served_is_named(client: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for name, problem in (("none.sock", "nothing is there; start simtrain serve"), ("file", "neither a Unix socket")):
        with pytest.raises(client.SessionError, match=problem):
            client.Sessions(tmp_path / name)


def test_a_control_file_says_where_sessions_are_and_the_commands_of_episodes_reach_them(
    client: ModuleType, address: str, typed: Callable[..., tuple[int, str, str]]
) -> None:
    control = Path(address).with_name("control.json")
    with client.Sessions(control) as sessions:
        name = sessions.open().name
        code, out, _ = typed("episode", "list", "--control", str(control), "--json")
        assert (code, [episode["episode"] for episode in json.loads(out)["episodes"]]) == (0, [name])


def test_a_socket_that_cannot_be_had_is_refused(
    address: str, typed: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    mine = tmp_path / "mine"
    mine.write_text("mine")
    for path, problem in ((address, "somebody listens here already"), (mine, "this is not a socket")):
        code, _, err = typed("serve", "--sessions", "--socket", str(path))
        assert code == 2 and err.strip().endswith(f"{Path(path).name}: {problem}; name another path with --socket")
    assert mine.read_text() == "mine"


async def test_without_a_name_every_scenario_is_opened_by_its_own(client: ModuleType, tmp_path: Path) -> None:
    async with serving([], HostOptions(any_scenario=True), Listening(default=False)) as here:
        sessions = await to_thread(lambda: client.Sessions(here.door.control_url, token=here.door.control_token))
        session = await to_thread(sessions.open, "helpdesk/refund")
        assert "refund" in session.prompt
        with pytest.raises(client.SessionError, match="did you mean 'helpdesk/refund'"):
            await to_thread(sessions.open, "helpdesk/refnd")
        with pytest.raises(client.SessionError, match="no scenario is named"):
            await to_thread(sessions.open)
        await to_thread(sessions.close)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "nothing is named to be served; name a world or a scenario, or add --sessions"),
        (["helpdesk", "--socket", "x.sock"], "--socket goes with --sessions; add --sessions, or leave it out"),
        (["helpdesk", "--sessions", "--stdio"], "--sessions goes with serving over HTTP or a socket"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    words: list[str], problem: str, typed: Callable[..., tuple[int, str, str]]
) -> None:
    code, _, err = typed("serve", *words)
    assert code == 2 and problem in err
