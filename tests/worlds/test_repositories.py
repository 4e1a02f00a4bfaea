"""Repositories: patches as git knows them, histories that follow from today's files, folders of strangers that are read with care."""

from __future__ import annotations

import random
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from broken_repositories import SHOP, apply_patch, native_outcomes, written

from simtrain.scenarios.repositories import repository_folder, repository_names
from simtrain.values.errors import InputError
from simtrain.worlds.repositories.commits import trees_of
from simtrain.worlds.repositories.folder import read_folder
from simtrain.worlds.repositories.patches import applied, patch_between

SHIPPED = ("confit", "inkwell", "ledger", "rota", "sieve", "trellis")


def changed_tree(draw: random.Random) -> tuple[dict[str, str], dict[str, str]]:
    def text() -> str:
        lines = "".join(draw.choice("abc") * draw.randrange(3) + "\n" for _ in range(draw.randrange(40)))
        return lines.rstrip("\n") if draw.random() < 0.3 else lines

    before = {"a.py": text(), "deep/b.py": text()}
    lines = before["a.py"].split("\n")
    for _ in range(draw.randrange(1, 5)):
        place = draw.randrange(len(lines) + 1)
        if draw.random() < 0.5:
            lines[place : place + 2] = ["new"]
        else:
            lines.insert(place, "more")
    after = before | {"a.py": "\n".join(lines), "new/c.py": text()}
    if draw.random() < 0.3:
        del after["deep/b.py"]
    return before, after


def test_a_patch_leads_from_one_tree_to_another_and_back() -> None:
    for seed in range(200):
        before, after = changed_tree(random.Random(seed))
        patch = patch_between(before, after)
        assert applied(before, patch) == after
        assert applied(after, patch, back=True) == before


@pytest.mark.parametrize("seed", range(6))
def test_git_makes_the_same_of_a_patch(tmp_path: Path, seed: int) -> None:
    before, after = changed_tree(random.Random(seed))
    folder = written(tmp_path, before)
    apply_patch(folder, patch_between(before, after))
    assert {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*.py")} == after


def test_a_patch_finds_lines_that_moved() -> None:
    before = {"a.py": "".join(f"line {number}\n" for number in range(20))}
    after = {"a.py": before["a.py"].replace("line 10\n", "line ten\n")}
    moved = {"a.py": "top\n" * 5 + before["a.py"]}
    assert applied(moved, patch_between(before, after))["a.py"] == moved["a.py"].replace("line 10\n", "line ten\n")


def test_a_patch_that_does_not_fit_says_where() -> None:
    patch = patch_between({"a.py": "one\ntwo\n"}, {"a.py": "one\n2\n"})
    with pytest.raises(InputError, match=r"the patch does not apply: a\.py has other lines about line 1"):
        applied({"a.py": "three\n"}, patch)
    with pytest.raises(InputError, match=r"there is no a\.py"):
        applied({}, patch)
    with pytest.raises(InputError, match="line 1 of the patch cannot be read"):
        applied({}, "nonsense\n")


@pytest.mark.parametrize("name", SHIPPED)
def test_a_history_follows_from_the_files_of_today(name: str) -> None:
    folder = read_folder(repository_folder(name))
    trees = trees_of(folder)
    assert 6 <= len(trees) <= 15
    assert trees[-1].files == folder.texts
    dates = [tree.commit.date for tree in trees]
    assert dates == sorted(dates)
    assert all(before.files != after.files for before, after in pairwise(trees))
    assert all(any(path.startswith("tests/test_") for path in tree.files) for tree in trees)
    # Of the code alone, without tests and README.
    assert 400 <= sum(text.count("\n") for path, text in folder.texts.items() if path.startswith(f"{name}/")) <= 2000


def test_the_history_of_a_git_folder_is_read_without_git(tmp_path: Path) -> None:
    trees = trees_of(read_folder(repository_folder("rota")))[:4]
    folder = tmp_path / "rota"
    folder.mkdir()

    def git(*words: str) -> None:
        who = ["-c", "user.name=Ann", "-c", "user.email=ann@rota.example"]
        subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)

    git("init", "-q")
    for tree in trees:
        written(folder, tree.files)
        git("add", "-A")
        git("commit", "-qm", tree.commit.message)
    # What git itself would run when it looks at the folder.
    git("config", "core.fsmonitor", f"touch {tmp_path}/ran")
    found = trees_of(read_folder(folder))
    assert [tree.commit.subject for tree in found] == [tree.commit.subject for tree in trees]
    for tree, good in zip(found, trees, strict=True):
        assert tree.files == {path: text for path, text in good.files.items() if path.endswith(".py")}
    assert not (tmp_path / "ran").exists()


@pytest.mark.full
@pytest.mark.parametrize("name", SHIPPED)
def test_the_tests_of_every_commit_pass(tmp_path: Path, name: str) -> None:
    trees = trees_of(read_folder(repository_folder(name)))
    for number in (0, len(trees) // 3, 2 * len(trees) // 3, len(trees) - 1):
        outcomes = native_outcomes(written(tmp_path / str(number), trees[number].files))
        assert set(outcomes.values()) == {"PASSED"}, trees[number].commit.subject


def test_repositories_have_names() -> None:
    assert set(SHIPPED) <= set(repository_names())
    with pytest.raises(InputError, match="did you mean 'rota'"):
        repository_folder("rotta")


def test_a_folder_is_read_without_what_its_links_point_to(tmp_path: Path) -> None:
    folder = written(tmp_path / "repo", SHOP | {".git/config": "[core]", "x/__pycache__/a.pyc": ""})
    (tmp_path / "secret.py").write_text("password = 1\n")
    (folder / "shop" / "secret.py").symlink_to(tmp_path / "secret.py")
    (folder / "outside").symlink_to(tmp_path)
    assert sorted(read_folder(folder).files) == sorted(SHOP)


def test_a_binary_file_with_the_name_of_python_is_refused(tmp_path: Path) -> None:
    folder = written(tmp_path, {"a.py": "x = 1\n"})
    (folder / "b.py").write_bytes(b"ok\n\xff\xfe")
    (folder / "c.py").write_bytes(b"a\0b")
    read = read_folder(folder)
    with pytest.raises(InputError) as raised:
        read.text("b.py")
    assert (raised.value.line, raised.value.file) == (2, str(folder / "b.py"))
    with pytest.raises(InputError, match="binary file"):
        read.text("c.py")
