"""Bad input to `simtrain serve` and `simtrain episode`: one line, exit code 2, and nothing left behind."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bakery import WORLD
from serving_bakery import Served, free_bakery, serving

from simtrain.cli import main
from simtrain.mcp_wire.manifest import FORMAT
from simtrain.scenarios.ad_hoc import free_servers

pytestmark = pytest.mark.slow

Said = Callable[..., str]


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Said:
    """A function that carries out a command which must fail, in a folder with a world: the one line that it says."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "free.yaml").write_text(WORLD)

    def run(*words: str) -> str:
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(SystemExit) as ended:
            main(list(words))
        out, err = capsys.readouterr()
        assert (ended.value.code, out) == (2, "")
        assert err.startswith("error: ") and err.count("\n") == 1, err
        assert sorted(tmp_path.rglob("*")) == before
        return err

    return run


def manifest(*tools: Any, **more: Any) -> str:
    """A manifest of one server with these tools."""
    surface = {"era": "2025-11-25", "capabilities": {}, "greeting": {}, "lists": {"tools/list": [{"tools": tools}]}}
    return json.dumps({"format": FORMAT, "servers": {"a": {"surfaces": [surface], **more}}})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (manifest({"name": "x"})[:-20], "not JSON"),
        ('{"mcpServers": {}}', "not a manifest"),
        ("[1]", "not a manifest"),
        ("\x00\x01", "not JSON"),
        ("[" * 100_000, "the JSON is nested too deeply"),
        (manifest({"name": "x"}).replace(FORMAT, "simtrain-manifest/9"), "'simtrain-manifest/9', not"),
        (manifest(), "no tools"),
        (manifest({"nome": "x"}, {"name": 5}, {"name": ""}), "no tools"),
        (manifest({"name": "x"}).replace('"greeting": {}', '"greeting": []'), "servers.a.surfaces[0].greeting"),
        (manifest({"name": "n" * 300}), "tools[0].name"),
    ],
    ids=["torn", "foreign", "a list", "bytes", "nested", "another version", "empty", "nameless", "odd", "long name"],
)
def test_a_manifest_that_cannot_be_served_is_one_line(text: str, problem: str, said: Said, tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(text)
    line = said("serve", "m.json", "--port", "0", "--out", "run")
    assert "m.json" in line and problem in line


def test_a_manifest_of_odd_tools_is_served_all_the_same(tmp_path: Path) -> None:
    odd = [
        {"name": "a", "inputSchema": {"type": "object", "properties": 5, "required": 7}},
        {"name": "b", "inputSchema": {"type": "array"}, "description": 5, "annotations": {"weight": []}},
        {"name": "c d/e", "outputSchema": {"type": "objekt"}},
        {"name": 5},
    ]
    profile = {"unknown_tool": 5, "bad_arguments": {"error": {"code": "x"}}, "missing_resource": []}
    (tmp_path / "m.json").write_text(manifest(*odd, profile=profile))
    world = free_servers(tmp_path / "m.json").source.build()
    assert [tool.name for tool in world.tools] == ["a.a", "a.b", "a.c_d_e"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("nothing_here",), "no world, scenario, manifest or recording 'nothing_here'"),
        (("missing.json",), "missing.json: cannot be read"),
        (("missing.jsonl",), "missing.jsonl: cannot be read"),
        (("missing.yaml",), "missing.yaml"),
        (("free.yaml", "--stdio", "--server", "nope"), "no server 'nope' here; one of cakes, orders"),
        (("free.yaml", "--server", "cakes"), "--server goes with --stdio"),
        (("free.yaml", "--stdio", "--control-file", "control.json"), "no control plane"),
        (("free.yaml", "--control-port", "-1", "--control-file", "control.json"), "no control plane"),
        (("free.yaml", "--control-file", "nowhere/control.json"), "nowhere/control.json: cannot be written"),
        (("free.yaml", "--control-file", "."), "this is a folder"),
        (("free.yaml", "--case", "9"), "has no case 9"),
        (("free.yaml", "--stdio", "--case", "9"), "has no case 9"),
        (("free.yaml", "--host", "192.0.2.1"), "cannot listen on 192.0.2.1:0"),
        (("free.yaml", "--token-env", "SIMTRAIN_NO_SUCH"), "SIMTRAIN_NO_SUCH is empty"),
        (("free.yaml", "--replay", "missing.jsonl"), "missing.jsonl: cannot be read"),
        (("free.yaml", "--perturb", "nope"), "unknown perturbation 'nope'"),
        (("free.yaml", "--port", "70000"), "--port"),
        (
            ("free.yaml", "--write-config", "free.yaml"),
            "free.yaml: the file exists already; name another file with --write-config",
        ),
        (("free.yaml", "--write-config", "nowhere/mcp.json"), "nowhere/mcp.json: cannot be written"),
        (("free.yaml", "--stdio", "--write-config", "mcp.json"), "--write-config goes with serving over HTTP"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_served_is_one_line(words: tuple[str, ...], problem: str, said: Said) -> None:
    ports = () if "--port" in words or "--stdio" in words else ("--port", "0")
    assert problem in said("serve", *words, *ports, "--out", "run")


@pytest.mark.parametrize("option", ["--port", "--control-port"])
def test_a_port_that_is_taken_is_one_line(option: str, said: Said) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        others = () if option == "--port" else ("--port", "0")
        line = said("serve", "free.yaml", option, str(port), *others, "--out", "run", "--control-file", "control.json")
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use; choose another port" in line


def test_a_run_folder_that_cannot_be_written_is_one_line(said: Said, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "file/run: cannot be written" in said("serve", "free.yaml", "--port", "0", "--out", "file/run")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("list",), "control.json: there is no control file"),
        (("list", "--control", "text.json"), "not a control file"),
        (("list", "--control", "list.json"), "not a control file"),
        (("list", "--control", "gone.json"), "cannot be reached"),
        (("list", "--control", "odd.json"), "cannot be reached"),
        (("frob",), "did you mean 'fork'"),
        (("inspect",), "inspect needs the name of an episode"),
    ],
    ids=" ".join,
)
def test_without_a_control_plane_an_episode_is_one_line(
    words: tuple[str, ...], problem: str, said: Said, tmp_path: Path
) -> None:
    (tmp_path / "text.json").write_text("url")
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "odd.json").write_text('{"url": "nonsense", "token": "x"}')
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    (tmp_path / "gone.json").write_text(json.dumps({"url": address, "token": "x"}))
    assert problem in said("episode", *words)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("list", "--control", "wrong.json"), "control token"),
        (("list", "--control", "mcp.json"), "is not a control plane"),
        (("open", "--name", "../x"), "name"),
        (("open", "--name", "mine"), "'mine' is open already"),
        (("open", "--case", "99"), "has no case 99"),
        (("open", "--scenario", "nope"), "'nope' is not served here"),
        (("inspect", "nobody"), "no episode 'nobody' is open"),
        (("inspect", "../mine"), "'../mine' is not the name of an episode"),
        (("close", "a/b?c#d"), "is not the name of an episode"),
        (("query", "mine"), "sql"),
        (("query", "mine", "--sql", "drop table cakes"), "SQL"),
        (("query", "mine", "--sql", "select"), "SQL"),
    ],
    ids=" ".join,
)
async def test_what_the_control_plane_refuses_is_one_line(
    words: tuple[str, ...], problem: str, said: Said, tmp_path: Path
) -> None:
    async with serving(free_bakery(tmp_path)) as served:
        await served.open(name="mine")
        write_control_files(served, tmp_path)
        control = () if "--control" in words else ("--control", "right.json")
        assert problem in await asyncio.to_thread(said, "episode", *words, *control)


def write_control_files(served: Served, folder: Path) -> None:
    """The right control file, one with a wrong token, and one that leads to the MCP side."""
    door = served.door
    for name, url, token in (
        ("right", door.control_url, door.control_token),
        ("wrong", door.control_url, "wrong"),
        ("mcp", door.url, door.control_token),
    ):
        (folder / f"{name}.json").write_text(json.dumps({"url": url, "token": token}))
