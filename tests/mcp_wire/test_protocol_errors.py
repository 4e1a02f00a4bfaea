"""Mistakes of the protocol: captured servers and the stand-ins that ship answer them as the real servers do, compared as raw JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from raw_stdio import initialize, replies
from real_manifests import real_commands, real_folder, real_manifest
from shipped_surfaces import PACKAGES, commands

from simtrain.mcp_wire.manifest import Manifest, write_manifest

__all__ = ["real_folder", "real_manifest"]

pytestmark = pytest.mark.full

Request = tuple[str, dict[str, Any] | None]

ARGUMENT = {"name": "x", "value": "a"}
REQUESTS: dict[str, Request] = {
    "greeting": ("initialize", initialize()),
    "unknown method": ("foo/bar", {}),
    "ping": ("ping", {}),
    "subscribe": ("resources/subscribe", {"uri": "file:///nope"}),
    "unsubscribe": ("resources/unsubscribe", {"uri": "file:///nope"}),
    "subscribe to nothing": ("resources/subscribe", {}),
    "completion of a prompt": ("completion/complete", {"ref": {"type": "ref/prompt", "name": "nope"}, "argument": ARGUMENT}),
    "completion of a resource": (
        "completion/complete",
        {"ref": {"type": "ref/resource", "uri": "file:///{x}"}, "argument": ARGUMENT},
    ),
    "completion of nothing": ("completion/complete", {}),
    "level": ("logging/setLevel", {"level": "info"}),
    "level that is none": ("logging/setLevel", {"level": "shrill"}),
    "call without a name": ("tools/call", {"arguments": {"a": 1}}),
    "call without params": ("tools/call", None),
    "call of a number": ("tools/call", {"name": 77, "arguments": {}}),
    "arguments in a list": ("tools/call", {"name": "another", "arguments": [1]}),
    "unknown tool": ("tools/call", {"name": "nope", "arguments": {}}),
    "unknown tool without arguments": ("tools/call", {"name": "nope"}),
    "unknown tool with arguments": ("tools/call", {"name": "nope", "arguments": {"a": 1}}),
    "missing resource": ("resources/read", {"uri": "foo://bar"}),
    "read of nothing": ("resources/read", {}),
    "missing prompt": ("prompts/get", {"name": "nope"}),
    "prompt without a name": ("prompts/get", {}),
    "cursor that is none": ("tools/list", {"cursor": "nope"}),
    "resources": ("resources/list", {}),
    "templates": ("resources/templates/list", {}),
    "prompts": ("prompts/list", {}),
    "roots of the client": ("roots/list", {}),
    "tasks": ("tasks/list", {}),
}  # fmt: skip
VERSIONS = ("2024-11-05", "1999-01-01")


def said(command: list[str], *, versions: tuple[str, ...] = ()) -> dict[str, Any]:
    """The reply to each request, on one connection, and to `initialize` in each revision, each on one of its own."""
    found: dict[str, Any] = dict(zip(REQUESTS, replies(command, REQUESTS.values()), strict=True))
    for version in versions:
        found[version] = replies(command, [("initialize", initialize(version))])[0]
    return found


def stand_in(what: str | Path) -> list[str]:
    return [sys.executable, "-m", "simtrain", "serve", str(what), "--stdio"]


def unlike(server: str, real: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    assert real.keys() == own.keys() >= REQUESTS.keys()
    return {key: (real[key], own[key]) for key in real if real[key] != own[key]}


def test_a_captured_server_answers_mistakes_of_the_protocol_as_the_real_one(
    real_manifest: Manifest,
    real_folder: Path,
    tmp_path: Path,
) -> None:
    for server, command in real_commands(real_folder).items():
        path = tmp_path / f"{server}.json"
        write_manifest(Manifest({server: real_manifest.servers[server]}), path)
        real, own = said(command, versions=VERSIONS), said(stand_in(path), versions=VERSIONS)
        assert unlike(server, real, own) == {}, server


def test_the_stand_ins_that_ship_do_so_too(tmp_path: Path) -> None:
    real = commands(tmp_path)
    for world in PACKAGES:
        assert unlike(world, said(real[world]), said(stand_in(world))) == {}, world


def test_a_stand_in_with_other_words_is_seen(real_manifest: Manifest, tmp_path: Path) -> None:
    memory = real_manifest.servers["memory"]
    path = tmp_path / "memory.json"
    write_manifest(Manifest({"memory": memory}), path)
    document = json.loads(path.read_text())
    document["servers"]["memory"]["profile"] = {}
    document["servers"]["memory"]["exchanges"] = []
    document["servers"]["memory"]["versions"] = {"1999-01-01": "2025-06-18"}
    path.write_text(json.dumps(document))
    real, own = (said(command, versions=VERSIONS) for command in (commands(tmp_path)["memory"], stand_in(path)))
    changed = {"unknown tool", "call without a name", "read of nothing", "cursor that is none", "1999-01-01"}
    assert changed <= set(unlike("memory", real, own))
