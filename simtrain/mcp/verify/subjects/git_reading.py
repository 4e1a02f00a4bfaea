"""Calls of the tools of a git server that look."""

from __future__ import annotations

from simtrain.mcp.verify.draw import Draw
from simtrain.mcp.verify.subject import Subject, makes
from simtrain.mcp.verify.subjects.git_draws import NO_REVISIONS, ROOT, a_repository, a_revision, names
from simtrain.values.types import JsonObject

_DATES = (
    "2030-06-01T00:00:00Z",
    "2030-05-20T12:34:56+02:00",
    "2030-12-31 23:59",
    "2031-01-15T14:14:14+01:00",
    "2030-03-22 08:41:00",
)
_LOOSE_DATES = (
    "2 weeks ago",
    "yesterday",
    "Jan 15 2031",
    "2030-09-01",
    "15 Nov 2030",
    "3 months ago",
    "last friday",
    "noon",
    "whenever",
)


class GitReading(Subject):
    """States, differences, histories."""

    @makes("git_status", weight=3)
    @makes("git_diff_unstaged")
    @makes("git_diff_staged")
    @makes("git_reset", weight=3)
    def only_repository(self, draw: Draw) -> JsonObject:
        """Return one of the repositories, more often one in which something was done."""
        return {"repo_path": a_repository(draw)}

    @makes("git_diff_unstaged", weight=2)
    @makes("git_diff_staged", weight=2)
    def with_context(self, draw: Draw) -> JsonObject:
        """So many lines around the changes."""
        return {"repo_path": a_repository(draw), "context_lines": draw.one((0, 1, 2, 3, 5, 10, 100))}

    @makes("git_status", "edge")
    @makes("git_diff_unstaged", "edge")
    @makes("git_reset", "edge")
    def written_otherwise(self, draw: Draw) -> JsonObject:
        """Return the same place in other words."""
        repo = a_repository(draw)
        return {
            "repo_path": draw.one(
                (f"{repo}/", f"{repo}/.git", f"{repo}/../{repo.rpartition('/')[2]}", f"{ROOT}//{repo[7:]}")
            )
        }

    @makes("git_status", "invalid")
    @makes("git_reset", "invalid")
    @makes("git_diff_staged", "invalid")
    def no_repository(self, draw: Draw) -> JsonObject:
        """Return a place where no repository is."""
        return {"repo_path": draw.one((f"{ROOT}/nope", ROOT, f"{ROOT}/tidewatch/docs", f"{ROOT}/tidewatch/README.md"))}

    @makes("git_diff_unstaged", "edge")
    @makes("git_diff_staged", "edge")
    def odd_context(self, draw: Draw) -> JsonObject:
        """Numbers that are none, or few."""
        return {"repo_path": a_repository(draw), "context_lines": draw.one((0, "2", 2.0, True, 100000))}

    @makes("git_diff", weight=3)
    def known_target(self, draw: Draw) -> JsonObject:
        """Return a branch, a tag or a commit."""
        found = a_revision(draw)
        return {
            "repo_path": found["repo"],
            "target": found["name"],
            **({"context_lines": draw.integer(0, 6)} if draw.chance(0.4) else {}),
        }

    @makes("git_diff")
    def near_target(self, draw: Draw) -> JsonObject:
        """Return a commit some steps before another."""
        found = draw.existing("branch")
        return {"repo_path": found["repo"], "target": f"{found['name']}{draw.one(('~1', '^', '~0', '^{tree}'))}"}

    @makes("git_diff", "edge")
    def folder_or_branch(self, draw: Draw) -> JsonObject:
        """Return a name that is a folder as well, or a folder of another commit."""
        return {
            "repo_path": f"{ROOT}/tidewatch",
            "target": draw.one(("docs", "HEAD:tidewatch", "HEAD^{tree}", "@", "origin")),
        }

    @makes("git_diff", "invalid")
    def no_target(self, draw: Draw) -> JsonObject:
        """Return a revision that is none."""
        return {"repo_path": a_repository(draw), "target": draw.one(NO_REVISIONS)}

    @makes("git_log", weight=3)
    def some_history(self, draw: Draw) -> JsonObject:
        """So many commits."""
        return {"repo_path": a_repository(draw), **({"max_count": draw.integer(1, 40)} if draw.chance(0.7) else {})}

    @makes("git_log", weight=2)
    def dated_history(self, draw: Draw) -> JsonObject:
        """Return the commits of a time."""
        given: JsonObject = {"repo_path": a_repository(draw), "max_count": draw.one((3, 10, 50))}
        ends = draw.one((["start_timestamp"], ["end_timestamp"], ["start_timestamp", "end_timestamp"]))
        return {**given, **{end: draw.one(_DATES) for end in ends}}

    @makes("git_log", "edge")
    def loosely_dated_history(self, draw: Draw) -> JsonObject:
        """Dates as people say them, and odd numbers."""
        given: JsonObject = {"repo_path": a_repository(draw)}
        return draw.one(
            (
                {**given, "end_timestamp": draw.one(_LOOSE_DATES)},
                {**given, "start_timestamp": draw.one(_LOOSE_DATES)},
                {**given, "max_count": draw.one((0, -1, -7, "4"))},
            )
        )

    @makes("git_log", "invalid")
    def option_for_date(self, draw: Draw) -> JsonObject:
        """Return what git would take for an option."""
        return {"repo_path": a_repository(draw), draw.one(("start_timestamp", "end_timestamp")): "--all"}

    @makes("git_show", weight=3)
    def known_revision(self, draw: Draw) -> JsonObject:
        """Return a commit by any of its names."""
        found = a_revision(draw)
        return {"repo_path": found["repo"], "revision": found["name"]}

    @makes("git_show", weight=2)
    def known_file(self, draw: Draw) -> JsonObject:
        """Return a file as it was."""
        found = a_revision(draw)
        file = draw.one(names(draw, ("file",), found["repo"]))
        return {"repo_path": found["repo"], "revision": f"{found['name']}:{file}"}

    @makes("git_show", "edge")
    def odd_revision(self, draw: Draw) -> JsonObject:
        """Folders, the index, ancestors, logs, messages."""
        odd = (
            "HEAD:",
            "HEAD:docs",
            "HEAD:docs/",
            "HEAD^{tree}",
            ":README.md",
            "HEAD^",
            "HEAD~3",
            "@",
            "@{0}",
            "v0.3.0^{}",
            "HEAD^{/Merge}",
            "v0.2.0~2:README.md",
            "tags/v0.2.1",
            "HEAD^2",
            "HEAD@{1}",
            "main@{u}",
        )
        return {"repo_path": f"{ROOT}/tidewatch", "revision": draw.one(odd)}

    @makes("git_show", "invalid")
    def no_revision(self, draw: Draw) -> JsonObject:
        """Return a revision that is none."""
        return {
            "repo_path": a_repository(draw),
            "revision": draw.one((*NO_REVISIONS, ":", ":nope", "~", "HEAD^{x}", "HEAD@{yesterday}", "0" * 40)),
        }

    @makes("git_branch", weight=3)
    def branches(self, draw: Draw) -> JsonObject:
        """Local ones, remote ones, all."""
        return {"repo_path": a_repository(draw), "branch_type": draw.one(("local", "remote", "all"))}

    @makes("git_branch", weight=2)
    def branches_with(self, draw: Draw) -> JsonObject:
        """Return those that have or lack a commit."""
        found = a_revision(draw)
        asked = draw.one(("contains", "not_contains"))
        return {"repo_path": found["repo"], "branch_type": draw.one(("local", "all")), asked: found["name"]}

    @makes("git_branch", "edge")
    def branches_between(self, draw: Draw) -> JsonObject:
        """Return those that have one commit and lack another, or null for either."""
        found = a_revision(draw)
        return {
            "repo_path": found["repo"],
            "branch_type": "all",
            "contains": found["name"],
            "not_contains": draw.one((None, "HEAD", "HEAD~1")),
        }

    @makes("git_branch", "invalid")
    def no_branches(self, draw: Draw) -> JsonObject:
        """Return a type that is none, or a commit that is none."""
        repo = a_repository(draw)
        return draw.one(
            (
                {"repo_path": repo, "branch_type": draw.one(("", "mine", "LOCAL"))},
                {
                    "repo_path": repo,
                    "branch_type": "all",
                    draw.one(("contains", "not_contains")): draw.one(("nope", "-x", "", "HEAD:README.md", "0" * 40)),
                },
            )
        )
