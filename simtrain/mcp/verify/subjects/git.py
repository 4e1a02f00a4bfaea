"""The reference server `git`: every repository of the world is on disk in git's own format."""

import posixpath
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from simtrain.contracts.world import World
from simtrain.mcp.verify.draw import Draw, Past
from simtrain.mcp.verify.subject import GeneratedCall, Subject
from simtrain.mcp.verify.subjects.git_folder import write_repository
from simtrain.values.types import JsonObject, JsonValue

_REPORTED = re.compile(r"(?m)^(?:Commit: |commit |Changes committed successfully with hash )([0-9a-f]{40})$")
_STAGED = re.compile(r"(?m)^\t(?:new file|modified|deleted): +(.+)$")
ROOT = "/repos"


def repository(draw: Draw) -> str:
    """Return a repository: usually one in which an earlier call did something, else the larger one."""
    kinds = [kind for kind in ("branch", "place", "staged", "commit") if draw.past.earlier(kind)]
    if kinds and draw.chance(0.6):
        return str(draw.earlier(draw.one(kinds))["repo"])
    return draw.one(("/repos/tidewatch", "/repos/harbor-notes"), (4, 1))


def staged_repository(draw: Draw) -> str:
    """Return a repository, usually one in which an earlier call staged something."""
    if draw.past.earlier("staged") and draw.chance(0.8):
        return str(draw.earlier("staged")["repo"])
    return f"{ROOT}/tidewatch"


def named(draw: Draw, kinds: Sequence[str], repo: str) -> list[str]:
    """Return the values of some kinds in one repository."""
    return [value["name"] for kind in kinds for value in draw.past.values(kind) if value["repo"] == repo]


def revision(draw: Draw) -> JsonObject:
    """Return a branch, a tag or a commit."""
    return draw.existing(draw.one(("branch", "tag", "commit", "remote"), (3, 1, 4, 1)))


class Git(Subject):
    """Every value includes its repository: `{"repo", "name"}`."""

    tables = ("commits", "refs", "repositories", "staging", "worktree")
    calls = Path(__file__).with_suffix(".yaml")
    helpers = (repository, staged_repository, named, revision)

    weights: ClassVar[Mapping[str, float]] = {"git_commit": 1.4, "git_add": 1.8, "git_checkout": 1.3}
    tokens: ClassVar[Mapping[str, re.Pattern[str]]] = {
        "commit": re.compile(r"\b[0-9a-f]{40}\b"),
        "short": re.compile(r"(?<=detached at )[0-9a-f]{7,12}\b|(?<=detached from )[0-9a-f]{7,12}\b"),
    }

    def environment(self, root: Path) -> Mapping[str, str]:
        """Return an environment in which only the repository's own git configuration applies."""
        return {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}

    def roots(self, root: Path) -> Mapping[str, str]:
        """Return the folder of the repositories."""
        return {ROOT: str(root / "repos")}

    def lay_out(self, world: World, root: Path) -> None:
        """Write all repositories of the world."""
        for path in _repositories(world):
            write_repository(world, path, root / "repos" / path.removeprefix(f"{ROOT}/"))

    def initial(self, world: World) -> Mapping[str, Sequence[JsonValue]]:
        """Return repositories, refs, commits, and files with their status."""
        queries = {
            "branch": "select repository as repo, substr(name, 12) as name from refs where name like 'refs/heads/%' order by 1, 2",
            "remote": "select repository as repo, substr(name, 14) as name from refs where name like 'refs/remotes/%' order by 1, 2",
            "tag": "select repository as repo, substr(name, 11) as name from refs where name like 'refs/tags/%' order by 1, 2",
            "commit": "select repository as repo, sha as name from commits order by 1, committed_at",
            "file": "select repository as repo, path as name from staging order by 1, 2",
            "changed": "select w.repository as repo, w.path as name from worktree w left join staging s "
            "on s.repository = w.repository and s.path = w.path left join blobs b on b.repository = s.repository and b.sha = s.sha "
            "where b.content is not w.content or w.mode is not s.mode order by 1, 2",
            "missing": "select s.repository as repo, s.path as name from staging s left join worktree w "
            "on s.repository = w.repository and s.path = w.path where w.path is null order by 1, 2",
        }
        found: dict[str, Sequence[JsonValue]] = {kind: world.query(sql) for kind, sql in queries.items()}
        return {"repo": _repositories(world), **found}

    def learn(self, past: Past, call: GeneratedCall, reply: JsonObject) -> None:
        """Note commits that were made or listed, branches, and what is staged."""
        repo = posixpath.normpath(call.arguments["repo_path"]).removesuffix("/.git")
        text = reply["content"][0]["text"]
        for sha in _REPORTED.findall(text)[:3]:
            past.note("commit", {"repo": repo, "name": sha})
        match call.tool:
            case "git_create_branch":
                past.note("branch", {"repo": repo, "name": call.arguments["branch_name"]})
            case "git_checkout":
                past.note("place", {"repo": repo, "name": call.arguments["branch_name"]})
            case "git_add":
                past.note("staged", *({"repo": repo, "name": name} for name in call.arguments["files"]))
            case "git_status":
                past.note("seen", *({"repo": repo, "name": name} for name in _STAGED.findall(text)[:4]))
            case _:
                pass


def _repositories(world: World) -> list[str]:
    return [row["path"] for row in world.query("select path from repositories order by path desc")]
