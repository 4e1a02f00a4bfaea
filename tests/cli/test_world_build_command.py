"""`simtrain world build`, `digest` and `stats`, as people call them."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from small_universe import UNIVERSE

from simtrain.cli.progress import BuildProgress

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("worlds")
    (found / "small_universe.yaml").write_text(UNIVERSE)
    return found


def simtrain(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SIMTRAIN_CACHE": str(folder / "cache")}
    command = [sys.executable, "-m", "simtrain", "world", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=60)


def test_a_world_is_built_where_it_is_asked_for_and_never_over_another_file(folder: Path) -> None:
    built = simtrain(folder, "build", "small_universe.yaml", "--out", "out.sqlite", "--json")
    report = json.loads(built.stdout)
    assert report["world"] == "small_universe"
    assert report["pages"] > 30
    assert (folder / "out.sqlite").stat().st_size == report["bytes"]
    again = simtrain(folder, "build", "small_universe.yaml", "--out", "out.sqlite")
    assert again.returncode == 2
    assert "--force replaces it" in again.stderr
    assert simtrain(folder, "build", "small_universe.yaml", "--out", "out.sqlite", "--force").returncode == 0


def test_a_world_without_out_goes_to_the_cache_and_is_built_once(folder: Path) -> None:
    first = json.loads(simtrain(folder, "build", "small_universe.yaml", "--json").stdout)
    changed = Path(first["file"]).stat().st_mtime_ns
    assert Path(first["file"]).parent == folder / "cache" / "worlds"
    second = json.loads(simtrain(folder, "build", "small_universe.yaml", "--json").stdout)
    assert Path(second["file"]).stat().st_mtime_ns == changed
    other = json.loads(
        simtrain(folder, "build", "small_universe.yaml", "--rows", "ship=9", "--seed", "5", "--json").stdout
    )
    assert other["file"] != first["file"]


def test_the_digest_is_that_of_the_content_not_of_the_file(folder: Path) -> None:
    by_name = simtrain(folder, "digest", "small_universe.yaml").stdout.strip()
    simtrain(folder, "build", "small_universe.yaml", "--out", "copy.sqlite")
    report = json.loads(simtrain(folder, "digest", "copy.sqlite", "--json").stdout)
    assert report["digest"] == by_name
    assert {"ship", "port", "visit", "_pages", "_statements"} <= set(report["tables"])
    assert simtrain(folder, "digest", "small_universe.yaml", "--seed", "9").stdout.strip() != by_name


def test_stats_count_what_there_is(folder: Path) -> None:
    found = json.loads(simtrain(folder, "stats", "small_universe.yaml", "--json").stdout)
    assert found["types"]["ship"] == {"kind": "entity", "rows": 24, "attributes": 8}
    assert [site["name"] for site in found["sites"]] == ["office", "gossip"]
    assert found["sites"][1]["reliability"] == 0.7
    assert found["bytes_a_page"] == round(found["bytes"] / found["pages"])
    shown = simtrain(folder, "stats", "small_universe.yaml").stdout
    assert "gossip.test" in shown
    assert "on average" in shown


def test_stats_tell_on_demand_how_often_sentences_come_again(folder: Path) -> None:
    found = json.loads(simtrain(folder, "stats", "small_universe.yaml", "--sentences", "--json").stdout)["sentences"]
    assert found["many"] == 10
    assert 0 < found["share"] <= 1
    assert sum(one["sentences"] for one in found["kinds"].values()) == found["sentences"] > 20
    shown = simtrain(folder, "stats", "small_universe.yaml", "--sentences").stdout
    assert f"{found['sentences']:,} sentences, {found['share']:.1%} with a skeleton" in " ".join(shown.split())
    assert "office/" in shown
    plain = json.loads(simtrain(folder, "stats", "small_universe.yaml", "--json").stdout)
    assert "sentences" not in plain


def test_a_long_build_says_how_far_it_is_in_plain_lines(folder: Path) -> None:
    built = simtrain(folder, "build", "small_universe.yaml", "--pages", "1500", "--out", "long.sqlite")
    lines = built.stderr.splitlines()
    assert lines[0] == "facts"
    assert any(line.startswith("pages: 1,") for line in lines)
    assert "\x1b" not in built.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("build", "helpdesk"), "'helpdesk' is a service world"),
        (("build", "small_universe.yaml", "--rows", "ship"), "is not a number of rows"),
        (("build", "small_universe.yaml", "--rows", "boat=4"), "no type 'boat' is counted"),
        (("build", "small_universe.yaml", "--pages", "3000000"), "3000000 is not a possible number of pages"),
        (("build", "nowhere"), "unknown world 'nowhere'"),
        (("digest", "nothing.sqlite"), "there is no such world file"),
        (("stats", "broken.sqlite"), "not a world file"),
    ],
)
def test_bad_input_ends_with_one_line_and_code_2(folder: Path, words: tuple[str, ...], said: str) -> None:
    (folder / "broken.sqlite").write_bytes(b"not a database, but long enough to be looked at as one" * 20)
    result = simtrain(folder, *words)
    assert result.returncode == 2
    assert said in result.stderr
    assert "Traceback" not in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_the_rate_of_a_build_that_goes_on_is_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = iter(range(0, 1000, 10))
    monkeypatch.setattr("simtrain.cli.progress.monotonic", lambda: float(next(now)))
    with BuildProgress() as progress:
        progress.phase("pages, the first 90,000 are there", 100_000)
        progress.advance(90_000)
        progress.advance(1_000)
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "pages, the first 90,000 are there: 100,000"
    assert float(re.findall(r"91,000 of 100,000, ([0-9.,]+)/s", told[1])[0].replace(",", "")) <= 100


@pytest.mark.parametrize("verb", ["stats", "digest", "check", "export"])
def test_a_damaged_file_is_one_line_and_no_traceback(folder: Path, verb: str) -> None:
    simtrain(folder, "build", "small_universe.yaml", "--out", "sound.sqlite")
    content = bytearray((folder / "sound.sqlite").read_bytes())
    content[8192:-4096] = bytes(reversed(content[8192:-4096]))
    (folder / "damaged.sqlite").write_bytes(content)
    told = simtrain(folder, verb, "damaged.sqlite", *(["--out", "out"] if verb == "export" else []))
    assert told.returncode == 2
    assert told.stderr.splitlines()[-1].startswith("error: damaged.sqlite: ")
    assert "Traceback" not in told.stderr
    assert not (folder / "out").exists()


def test_a_foreign_database_is_no_world_and_a_built_file_no_yaml(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "foreign.sqlite")) as connection:
        connection.executescript("create table _meta (key text, value text); create table other (a)")
    assert "foreign.sqlite: not a world file" in simtrain(folder, "stats", "foreign.sqlite").stderr
    simtrain(folder, "build", "small_universe.yaml", "--out", "built.sqlite", "--force")
    for words in (["questions", "built.sqlite", "--out", "q"], ["build", "built.sqlite"]):
        told = simtrain(folder, *words)
        assert told.returncode == 2
        assert told.stderr.startswith("error: built.sqlite: a built file does not do; name its world")


def test_a_file_that_lacks_a_table_says_which(folder: Path) -> None:
    simtrain(folder, "build", "small_universe.yaml", "--out", "lacking.sqlite", "--force")
    with closing(sqlite3.connect(folder / "lacking.sqlite")) as connection:
        connection.execute("drop table _pages")
        connection.commit()
    told = simtrain(folder, "stats", "lacking.sqlite")
    assert told.returncode == 2
    assert told.stderr == (
        "error: lacking.sqlite: the world file is damaged: it has no table _pages;"
        " build it again with `simtrain world build --force`\n"
    )


def test_force_builds_a_damaged_file_of_the_cache_anew(folder: Path) -> None:
    built = Path(json.loads(simtrain(folder, "build", "small_universe.yaml", "--seed", "41", "--json").stdout)["file"])
    built.write_bytes(b"nothing of a world")
    told = simtrain(folder, "build", "small_universe.yaml", "--seed", "41")
    assert told.returncode == 2
    assert "--force" in told.stderr
    assert simtrain(folder, "build", "small_universe.yaml", "--seed", "41", "--force").returncode == 0
    assert simtrain(folder, "stats", str(built)).returncode == 0
    assert not list(built.parent.glob("*.new*"))


def test_where_a_world_went_is_said_on_one_line_however_long_the_path(folder: Path) -> None:
    place = folder / ("a" * 60) / "out.sqlite"
    told = simtrain(folder, "build", "small_universe.yaml", "--out", str(place))
    assert told.stdout.endswith(f" in {place}\n")
    assert told.stdout.count("\n") == 1
    assert "is a folder" in simtrain(folder, "build", "small_universe.yaml", "--out", str(folder), "--force").stderr
