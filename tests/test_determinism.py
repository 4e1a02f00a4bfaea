"""Same seed, same bytes: trajectories without their timing do not depend on process, hash seed, concurrency, workers or locale."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from simtrain.catalog import names, shipped_scenarios

ROOT = Path(__file__).parent.parent
COMMAND = (sys.executable, "-m", "simtrain", "run", "--json", "--concurrency", "64")
FULL = bool(os.environ.get("SIMTRAIN_FULL"))
# Questions are composed anew in every process, which would take most of the time here.
SHIPPED = {name: path for name, path in shipped_scenarios().items() if not name.startswith("fiction/")}

WAYS: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "another process": ({}, ()),
    "hash seed 0, one at a time": ({"PYTHONHASHSEED": "0"}, ("--concurrency", "1")),
    "hash seed 1, two workers": ({"PYTHONHASHSEED": "1"}, ("--workers", "2", "--concurrency", "7")),
    "another locale and time zone": (
        {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8", "TZ": "Asia/Kathmandu", "PYTHONUTF8": "0"},
        ("--concurrency", "3"),
    ),
    "C locale, random hashes": ({"LC_ALL": "C", "TZ": "America/St_Johns", "PYTHONHASHSEED": "random"}, ()),
}


@pytest.fixture(scope="module")
def families(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every shipped family twice: as it is, and with three packs of perturbations on, every pack in its turn."""
    folder = tmp_path_factory.mktemp("families") / "scenarios"
    packs = list(names("perturbations"))
    for number, (name, path) in enumerate(SHIPPED.items()):
        spec = yaml.safe_load(path.read_text())
        suite, _, family = name.rpartition("/")
        on = [{"pack": packs[(number + step) % len(packs)]} for step in (0, 5, 11)]
        for kind, more in (("clean", []), ("perturbed", on)):
            file = folder / kind / suite / f"{family}.yaml"
            file.parent.mkdir(parents=True, exist_ok=True)
            changed = {**spec, "perturbations": [*spec.get("perturbations", []), *more]}
            file.write_text(yaml.safe_dump(changed, sort_keys=False, allow_unicode=True))
    return folder


def play(
    families: Path, out: Path, agent: str, environment: dict[str, str], options: tuple[str, ...]
) -> dict[tuple[object, ...], bytes]:
    """The lines of a run, without `timing`, by key."""
    count = 2 * len(SHIPPED) * (8 if FULL else 1)
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


@pytest.fixture(scope="module", params=["resilient", "oracle"])
def first(
    request: pytest.FixtureRequest, families: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, dict[tuple[object, ...], bytes]]:
    out = tmp_path_factory.mktemp("first") / "run"
    return request.param, play(families, out, request.param, {}, ())


@pytest.mark.parametrize("way", WAYS)
def test_trajectories_are_the_same_bytes(
    way: str, first: tuple[str, dict[tuple[object, ...], bytes]], families: Path, tmp_path: Path
) -> None:
    agent, expected = first
    environment, options = WAYS[way]
    found = play(families, tmp_path / "run", agent, environment, options)
    assert found.keys() == expected.keys()
    assert [key for key in expected if found[key] != expected[key]] == []


def test_perturbations_fired_in_what_was_compared(first: tuple[str, dict[tuple[object, ...], bytes]]) -> None:
    _, lines = first
    fired = [key for key, line in lines.items() if b'"events":[{' in line]
    assert len(fired) > len(SHIPPED) / 4


def test_another_seed_gives_other_bytes(
    first: tuple[str, dict[tuple[object, ...], bytes]], families: Path, tmp_path: Path
) -> None:
    agent, expected = first
    other = play(families, tmp_path / "run", agent, {}, ("--seed", "5"))
    assert not set(other.values()) & set(expected.values())
