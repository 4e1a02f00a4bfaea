"""What the calls of a git server are made of."""

from __future__ import annotations

from collections.abc import Sequence

from simtrain.mcp.verify.draw import Draw
from simtrain.values.types import JsonObject

ROOT = "/repos"
NO_REVISIONS = (
    "nope",
    "HEAD~99",
    "main^3",
    "deadbeef",
    "",
    "HEAD:nope.md",
    "HEAD^{blob}",
    "HEAD^x",
    "-p",
    "main..docs",
    "a b",
    "HEAD@{999}",
)


def a_repository(draw: Draw) -> str:
    """Return a repository: in most cases one in which an earlier call did something, else the larger one."""
    kinds = [kind for kind in ("branch", "place", "staged", "commit") if draw.past.earlier(kind)]
    if kinds and draw.chance(0.6):
        return str(draw.earlier(draw.one(kinds))["repo"])
    return draw.one(("/repos/tidewatch", "/repos/harbor-notes"), (4, 1))


def where_staged(draw: Draw) -> str:
    """Return a repository in which an earlier call staged something, mostly."""
    if draw.past.earlier("staged") and draw.chance(0.8):
        return str(draw.earlier("staged")["repo"])
    return f"{ROOT}/tidewatch"


def names(draw: Draw, kinds: Sequence[str], repo: str) -> list[str]:
    """Return the values of some kinds in one repository."""
    return [value["name"] for kind in kinds for value in draw.past.values(kind) if value["repo"] == repo]


def a_revision(draw: Draw) -> JsonObject:
    """Return a branch, a tag or a commit."""
    return draw.existing(draw.one(("branch", "tag", "commit", "remote"), (3, 1, 4, 1)))
