"""Same seed, same bytes: trajectories without their timing do not depend on process, hash seed, concurrency, workers or locale."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from simtrain.scenarios.find import names, shipped_scenarios

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "simtrain", "run", "--json", "--concurrency", "64")
FULL = bool(os.environ.get("SIMTRAIN_FULL"))
# Questions are composed anew in every process, which would take most of the time here.
SHIPPED = {
    name: path
    for name, path in shipped_scenarios().items()
    if not name.startswith(("fiction/", "terminal_python/", "swe/"))
}

WAYS: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "C locale, random hashes, one at a time": (
        {"LC_ALL": "C", "TZ": "America/St_Johns", "PYTHONHASHSEED": "random"},
        ("--concurrency", "1"),
    ),
    "another locale and time zone, hash seed 1, two workers": (
        {
            "LC_ALL": "tr_TR.UTF-8",
            "LANG": "tr_TR.UTF-8",
            "TZ": "Asia/Kathmandu",
            "PYTHONUTF8": "0",
            "PYTHONHASHSEED": "1",
        },
        ("--workers", "2", "--concurrency", "7"),
    ),
}


SHARES = {
    "a sixtieth": dict(list(SHIPPED.items())[::60]),
    "a thirty-second": dict(list(SHIPPED.items())[1::32]),
    "another thirty-second": dict(list(SHIPPED.items())[17::32]),
    "all": SHIPPED,
}
SMALL = ("resilient", "a sixtieth")
MOST, OTHERS = ("all", "all") if FULL else ("a thirty-second", "another thirty-second")


def write_families(folder: Path, share: str) -> Path:
    """Shipped families, each twice: as it is, and with three packs of perturbations on, every pack in its turn."""
    packs = list(names("perturbations"))
    for number, (name, path) in enumerate(SHARES[share].items()):
        spec = yaml.safe_load(path.read_text())
        suite, _, family = name.rpartition("/")
        on = [{"pack": packs[(number + step) % len(packs)]} for step in (0, 5, 11)]
        for kind, more in (("clean", []), ("perturbed", on)):
            file = folder / kind / suite / f"{family}.yaml"
            file.parent.mkdir(parents=True, exist_ok=True)
            changed = {**spec, "perturbations": [*spec.get("perturbations", []), *more]}
            file.write_text(yaml.safe_dump(changed, sort_keys=False, allow_unicode=True))
    return folder


@dataclass(frozen=True)
class Played:
    """The families that are played, by which agent, and the lines of the first run, without `timing`, by key."""

    families: Path
    share: str
    agent: str
    lines: dict[tuple[object, ...], bytes]

    def again(
        self, out: Path, environment: dict[str, str], options: tuple[str, ...]
    ) -> dict[tuple[object, ...], bytes]:
        """The lines of another run."""
        return play(self.families, self.share, out, self.agent, environment, options)


def play(
    families: Path, share: str, out: Path, agent: str, environment: dict[str, str], options: tuple[str, ...]
) -> dict[tuple[object, ...], bytes]:
    """The lines of a run, without `timing`, by key."""
    count = 2 * len(SHARES[share]) * (8 if FULL else 1)
    subprocess.run(
        [*COMMAND, str(families), "--agent", agent, "--out", str(out), "--episodes", str(count), *options],
        cwd=ROOT, env={**os.environ, **environment}, check=True, stdout=subprocess.DEVNULL, timeout=600,
    )  # fmt: skip
    found: dict[tuple[object, ...], bytes] = {}
    for part in out.glob("trajectories-*.jsonl"):
        for line in part.read_bytes().splitlines():
            row = json.loads(line)
            before, timing, after = line.partition(b',"timing":')
            closing = json.JSONDecoder().raw_decode(after.decode())[1]
            assert timing
            key = tuple(row[name] for name in ("scenario", "scenario_digest", "episode", "seed", "attempt"))
            assert key not in found
            found[key] = before + after.decode()[closing:].encode()
    assert len(found) == count
    return found


@pytest.fixture(
    scope="module",
    params=[
        SMALL,
        pytest.param(("resilient", MOST), marks=pytest.mark.full),
        pytest.param(("oracle", OTHERS), marks=pytest.mark.full),
    ],
    ids=" over ".join,
)
def first(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Played:
    folder = tmp_path_factory.mktemp("first")
    agent, share = request.param
    families = write_families(folder / "scenarios", share)
    return Played(families, share, agent, play(families, share, folder / "run", agent, {}, ()))


@pytest.mark.parametrize("way", WAYS)
def test_trajectories_are_the_same_bytes(way: str, first: Played, tmp_path: Path) -> None:
    found = first.again(tmp_path / "run", *WAYS[way])
    assert found.keys() == first.lines.keys()
    assert [key for key in first.lines if found[key] != first.lines[key]] == []


def test_perturbations_fired_in_what_was_compared(first: Played) -> None:
    fired = [key for key, line in first.lines.items() if b'"events":[{' in line]
    assert len(fired) > len(SHARES[first.share]) / 4


@pytest.mark.parametrize("first", [SMALL], ids=" over ".join, indirect=True)
def test_another_seed_gives_other_bytes(first: Played, tmp_path: Path) -> None:
    other = first.again(tmp_path / "run", {}, ("--seed", "5"))
    assert not set(other.values()) & set(first.lines.values())
