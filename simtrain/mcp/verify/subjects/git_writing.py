"""Calls of the tools of a git server that change something."""

from __future__ import annotations

from simtrain.mcp.verify.draw import Draw
from simtrain.mcp.verify.subject import Subject, makes
from simtrain.mcp.verify.subjects.git_draws import NO_REVISIONS, ROOT, a_repository, names, where_staged
from simtrain.values.types import JsonObject

_BROKEN_NAMES = ("bad name", "a..b", ".hidden", "x.lock", "a//b", "tail/", "what?", "tip.", "-f", "a@{b", "", "x~1")


class GitWriting(Subject):
    """Staging, committing, branching."""

    @makes("git_commit", weight=3)
    def message(self, draw: Draw) -> JsonObject:
        """Return a message of one line or of several."""
        first = draw.words().capitalize()
        return {
            "repo_path": where_staged(draw),
            "message": draw.one((first, first, f"{first}\n\n{draw.words()}\n{draw.words()}\n")),
        }

    @makes("git_commit", "edge")
    def odd_message(self, draw: Draw) -> JsonObject:
        """Return a message that is rarely thought of."""
        return {"repo_path": where_staged(draw), "message": draw.odd_text()}

    @makes("git_add", weight=4)
    def changed_files(self, draw: Draw) -> JsonObject:
        """Files that differ from what is staged."""
        repo = a_repository(draw)
        known = names(draw, ("changed", "missing"), repo) or ["."]
        return {"repo_path": repo, "files": draw.some(known)}

    @makes("git_add", weight=2)
    def everything(self, draw: Draw) -> JsonObject:
        """Return a folder, a pattern, or all there is."""
        return {
            "repo_path": f"{ROOT}/tidewatch",
            "files": [
                draw.one(
                    (
                        ".",
                        "tidewatch",
                        "notes",
                        "tests/",
                        "*.md",
                        "*.py",
                        "notes/ideas",
                        ":/",
                        "docs",
                        f"{ROOT}/tidewatch/plan.md",
                    )
                )
            ],
        }

    @makes("git_add", "edge")
    def unchanged_files(self, draw: Draw) -> JsonObject:
        """Files that are staged already, ignored, or written in another way."""
        found = draw.existing(draw.one(("file", "staged")) if draw.past.earlier("staged") else "file")
        other = draw.one(
            ("run.log", "build", "build/tidewatch-0.3.0.txt", "./plan.md", "docs/../plan.md", "*.log", ".git")
        )
        return {
            "repo_path": found["repo"],
            "files": [found["name"], other] if draw.chance(0.4) else [draw.one((found["name"], other))],
        }

    @makes("git_add", "invalid")
    def no_files(self, draw: Draw) -> JsonObject:
        """Files that are not there or lie elsewhere."""
        return {
            "repo_path": a_repository(draw),
            "files": draw.one(
                (
                    ["nope.txt"],
                    ["../x"],
                    ["/etc/passwd"],
                    [""],
                    [],
                    ["plan.md", "nope"],
                    ["*.rs"],
                    ["--all"],
                    ["README.md/"],
                )
            ),
        }

    @makes("git_create_branch", weight=3)
    def new_branch(self, draw: Draw) -> JsonObject:
        """Return a new name, with or without a base."""
        found = draw.existing(draw.one(("branch", "branch", "tag", "remote")))
        name = draw.one((draw.word(), f"feature/{draw.word()}", f"{draw.word()}-{draw.integer(1, 99)}"))
        return {
            "repo_path": found["repo"],
            "branch_name": name,
            **({"base_branch": found["name"]} if draw.chance(0.7) else {}),
        }

    @makes("git_create_branch", "edge")
    def taken_branch(self, draw: Draw) -> JsonObject:
        """Return a name that is taken, or lies under one that is."""
        found = draw.existing("branch")
        return {
            "repo_path": found["repo"],
            "branch_name": draw.one(
                (found["name"], f"{found['name']}/more", "feature", "HEAD", f"refs/heads/{draw.word()}")
            ),
        }

    @makes("git_create_branch", "invalid")
    def broken_branch(self, draw: Draw) -> JsonObject:
        """Return a name that git refuses, or a base that is none."""
        repo = a_repository(draw)
        return draw.one(
            (
                {"repo_path": repo, "branch_name": draw.one(_BROKEN_NAMES)},
                {
                    "repo_path": repo,
                    "branch_name": draw.word(),
                    "base_branch": draw.one(("nope", "HEAD~1", "-x", "HEAD")),
                },
            )
        )

    @makes("git_checkout", weight=4)
    def known_branch(self, draw: Draw) -> JsonObject:
        """Return a branch."""
        found = draw.existing("branch")
        return {"repo_path": found["repo"], "branch_name": found["name"]}

    @makes("git_checkout", weight=2)
    def any_revision(self, draw: Draw) -> JsonObject:
        """Return a tag or a commit."""
        found = draw.existing(draw.one(("tag", "commit", "remote", "place")) if draw.past.earlier("place") else "tag")
        return {"repo_path": found["repo"], "branch_name": found["name"]}

    @makes("git_checkout", "edge")
    def near_revision(self, draw: Draw) -> JsonObject:
        """HEAD in some form, or a full name."""
        found = draw.existing("branch")
        return {
            "repo_path": found["repo"],
            "branch_name": draw.one(
                ("HEAD", "@", "HEAD~1", f"heads/{found['name']}", f"refs/heads/{found['name']}", "@{-1}", "main~0")
            ),
        }

    @makes("git_checkout", "invalid")
    def no_branch(self, draw: Draw) -> JsonObject:
        """Return a branch that is none."""
        return {
            "repo_path": a_repository(draw),
            "branch_name": draw.one((*NO_REVISIONS, "HEAD^{tree}", "README.md", "HEAD:README.md")),
        }
