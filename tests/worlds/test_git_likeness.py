"""What the git stand-in works out, held against what git itself says: objects, patches, renames, dates, ignored files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from git_session import NOTES, TIDE, Server, git, with_git, world
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrain.mcp.verify.subjects.git_folder import write_repository
from simtrain.values.clock import instant
from simtrain.values.lines import lines_of
from simtrain.worlds.handlers.git.dates import seconds_at
from simtrain.worlds.handlers.git.deltas import Side, deltas
from simtrain.worlds.handlers.git.objects import TreeEntry, blob_id
from simtrain.worlds.handlers.git.patch import edits, patch
from simtrain.worlds.handlers.git.paths import Ignored

NOW = "2031-03-14T15:09:26Z"


@with_git
@pytest.mark.parametrize("repo", [TIDE, NOTES])
def test_git_itself_reads_the_repositories_and_says_the_same(repo: str, tmp_path: Path) -> None:
    folder, server = tmp_path / "here", Server(repo=repo)
    write_repository(world(), repo, folder)
    git("fsck", "--strict", "--no-dangling", folder=folder)
    assert server.says("status") == "Repository status:\n" + git("status", folder=folder)[:-1]
    for tool, title, words in (
        ("diff_unstaged", "Unstaged changes", ("diff",)),
        ("diff_staged", "Staged changes", ("diff", "--cached")),
    ):
        for context in (0, 3, 9):
            said = git(*words, f"--unified={context}", folder=folder).removesuffix("\n")
            assert server.says(tool, context_lines=context) == f"{title}:\n{said}"
    commits = git("rev-list", "HEAD", folder=folder).split()
    assert re.findall(r"Commit: (.*)", server.says("log", max_count=100)) == commits
    for sha in git("rev-list", "--all", folder=folder).split():
        said = git("diff", sha, folder=folder).removesuffix("\n")
        assert server.says("diff", target=sha) == f"Diff with {sha}:\n{said}"
        first = git("rev-list", "-1", "--parents", sha, folder=folder).split()[1:2]
        words = ("diff-tree", "-r", "-M", "--no-commit-id", "--name-only", "-z", "--root", *first, sha)
        names = git(*words, folder=folder)
        shown = server.says("show", revision=sha)
        assert [
            new if new != "/dev/null" else old
            for old, new in re.findall(r"\n--- (?:a/)?(.*)\n\+\+\+ (?:b/)?(.*)", shown)
        ] == names.split("\0")[:-1]


@with_git
@pytest.mark.parametrize("repo", [TIDE, NOTES])
def test_what_is_committed_here_is_what_git_would_have_committed(repo: str, tmp_path: Path) -> None:
    folder, server = tmp_path / "here", Server(repo=repo)
    write_repository(world(), repo, folder)
    files = ["."] if repo == TIDE else ["fees.md"]
    if repo == NOTES:
        (folder / "fees.md").write_text("none\n")
        server.state.execute(
            "insert into worktree values (:r, 'fees.md', '100644', 'none' || char(10), 'utf-8')", {"r": repo}
        )
    server.says("add", files=files)
    made = server.says("commit", message="Everything\n\nAt once.\n").rpartition(" ")[2]
    at = str(int(server.state.clock.moment))
    who = {"GIT_AUTHOR_DATE": f"{at} +0000", "GIT_COMMITTER_DATE": f"{at} +0000"}
    git("add", "--", *files, folder=folder)
    git("commit", "-q", "--cleanup=verbatim", "-m", "Everything\n\nAt once.\n", folder=folder, **who)
    assert git("rev-parse", "HEAD", folder=folder).strip() == made
    assert server.says("status") == "Repository status:\n" + git("status", folder=folder)[:-1]


LINES = st.sampled_from(["", "a", "b", "c", "  x", "    y", "}", "def f():", "end"])
TEXTS = st.lists(LINES, max_size=40)
CHANGES = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3), st.lists(LINES, max_size=4)), max_size=5)


def side(text: str, path: str = "file") -> Side:
    return Side(path, TreeEntry("100644", blob_id(text.encode())), text.encode())


def own_patch(old: dict[str, str], new: dict[str, str], context: int) -> str:
    before, after = ({path: side(text, path) for path, text in files.items()} for files in (old, new))
    return patch(deltas(before, after), context=context, abbreviate=lambda sha: sha[:7])


@with_git
@settings(max_examples=80, deadline=None)
@given(old=TEXTS, changes=CHANGES, context=st.integers(0, 4), ends=st.booleans())
def test_a_patch_is_the_one_that_git_prints(
    tmp_path_factory: pytest.TempPathFactory,
    old: list[str],
    changes: list[tuple[int, int, list[str]]],
    context: int,
    ends: bool,
) -> None:
    new = list(old)
    for place, count, lines in changes:
        new[place : place + count] = lines
    texts = ["\n".join(lines) + ("\n" if lines and ends else "") for lines in (old, new)]
    folder = tmp_path_factory.mktemp("patch")
    for name, text in zip(("old", "new"), texts, strict=True):
        (folder / name).mkdir()
        (folder / name / "file").write_bytes(text.encode())
    words = ("diff", "--no-index", "--no-prefix", f"--unified={context}", "old", "new")
    said = git(*words, folder=folder, fine=(0, 1))
    said = said.replace("old/file", "a/file").replace("new/file", "b/file")
    assert own_patch({"file": texts[0]}, {"file": texts[1]}, context) == said


@given(TEXTS, TEXTS)
def test_edits_turn_one_text_into_the_other(old: list[str], new: list[str]) -> None:
    before, after = lines_of("\n".join(old).encode()), lines_of("\n".join(new).encode())
    made, place = [], 0
    for edit in edits(before, after):
        made += [*before[place : edit.old], *after[edit.new : edit.new + edit.new_count]]
        place = edit.old + edit.old_count
    assert [*made, *before[place:]] == after


@with_git
def test_renames_are_found_as_git_finds_them(tmp_path: Path) -> None:
    poem = "".join(f"line {number} of many\n" for number in range(20))
    old = {"a/one.txt": poem, "b/two.txt": poem.replace("many", "few"), "c.txt": "short\n", "gone.txt": "x\ny\n"}
    new = {
        "a/uno.txt": poem + "more\n",
        "d/two.txt": poem.replace("many", "few") + poem[:120],
        "c.txt": "short\n",
        "e.txt": "short\n",
    }
    git("init", "-q", folder=tmp_path)
    for files in (old, new):
        for path in old:
            (tmp_path / path).unlink(missing_ok=True)
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(exist_ok=True)
            (tmp_path / path).write_text(text)
        git("add", "-A", folder=tmp_path)
        git("-c", "user.name=a", "-c", "user.email=b", "commit", "-q", "-m", "x", folder=tmp_path)
    assert own_patch(old, new, 3) == git("diff", "HEAD~1", "HEAD", folder=tmp_path)


DATES = [
    "2031-01-03", "2031-01-03T10:00:00", "2031-01-03T10:00:00+02:00", "2031-01-03 10:00", "2 weeks ago", "yesterday", "today", "now",
    "noon", "midnight", "tea", "Jan 15 2024", "15 Jan 2024", "January 15, 2024", "Dec 5", "last friday", "2 fridays ago", "3 days ago",
    "6 months ago", "2 years ago", "2.weeks.ago", "yesterday noon", "garbage", "", "10:30 yesterday", "5pm", "@1925280000", "03/04/2031",
    "04.03.2031", "12/25/30", "never", "a week ago", "last month", "march", "2031-02-30", "Thu, 02 Jan 2031 10:00:00 +0000",
    "2031-01-03 noon", "1 day 2 hours ago", "last tuesday noon", "two weeks ago", "13 months ago", "monday", "sunday", "friday",
]  # fmt: skip


@with_git
@pytest.mark.parametrize("text", DATES)
def test_dates_are_read_as_git_reads_them(text: str, tmp_path: Path) -> None:
    git("init", "-q", folder=tmp_path)
    said = git("rev-parse", f"--since={text}", folder=tmp_path, GIT_TEST_DATE_NOW=str(int(instant(NOW))))
    assert seconds_at(text, NOW) == int(said.rpartition("=")[2])


RULES = {
    "": ["*.log", "!keep.log", "/build", "docs/*.tmp", "# no rule", "out/", "**/cache", "a/**/z", "\\#odd", "te?t.txt", "[xy].c"],
    "sub": ["*.md", "!read.md"],
}  # fmt: skip
PATHS = [
    "x.log",
    "keep.log", "sub/deep/x.log",
    "build/a", "sub/build/a", "docs/a.tmp", "docs/deep/a.tmp", "out/a", "sub/out/b", "outer/a", "cache/a",
    "sub/cache/b", "a/z", "a/b/c/z", "#odd", "test.txt", "teest.txt", "x.c", "z.c", "sub/a.md", "sub/read.md", "a.md", "sub/deep/b.md",
]  # fmt: skip


@with_git
def test_files_are_ignored_as_git_ignores_them(tmp_path: Path) -> None:
    git("init", "-q", folder=tmp_path)
    worktree: dict[str, tuple[str, bytes]] = {}
    for folder, rules in RULES.items():
        path = f"{folder}/.gitignore".lstrip("/")
        worktree[path] = ("100644", "\n".join(rules).encode())
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(worktree[path][1])
    said = git("check-ignore", *PATHS, folder=tmp_path).splitlines()
    ignored = Ignored(worktree)
    assert [path for path in PATHS if ignored.cause(path) is not None] == [line.strip('"') for line in said]
