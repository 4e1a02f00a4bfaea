"""Drills: arms that share their schedule, run folders that go on, figures, conditions and the report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from drills import by_arm, firings, write_bakery

from simtrain import export, grade, load_scenario, run
from simtrain.cli import main
from simtrain.drills.plan import plan_drill
from simtrain.perturbations.latency import Latency
from simtrain.runs.export import Selection
from simtrain.testing import FakeOpenAI, Say
from simtrain.values.arm import PRIMED
from simtrain.values.types import JsonObject
from simtrain.world_models.chat import Chat

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
BLIND = "drills:Blind"

Typed = Callable[..., tuple[int, str, str]]


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Typed:
    """A function that carries out `simtrain drill` in a folder with the bakery and its packs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    write_bakery(tmp_path)

    def drill(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["drill", *words])
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return drill


def report(typed: Typed, *words: str, code: int = 0) -> JsonObject:
    """The JSON report of a drill of the bakery into `out`."""
    ended, out, err = typed("birthday.yaml", "--out", "out", "--json", *words)
    assert (ended, err) == (code, "")
    return json.loads(out)


def arms_of(found: JsonObject, place: int = 0) -> dict[str, JsonObject]:
    return {arm["arm"]: arm for arm in found["runs"][place]["arms"]}


# Arms


def test_the_arms_are_clean_each_alone_each_pack_and_all_together(typed: Typed, tmp_path: Path) -> None:
    found = report(typed, "--pack", "rough", "--pack", "slow", "-n", "3")
    assert list(arms_of(found)) == [
        "clean", "rough/transient_error", "rough/timeout_after", "slow/latency", "slow/slower", "rough", "slow",
        "rough+slow",
    ]  # fmt: skip
    played = by_arm(tmp_path / "out")
    assert {arm: {label for one in many for label in one.perturbations} for arm, many in played.items()} == {
        "clean": set(),
        "rough/transient_error": {"transient_error"},
        "rough/timeout_after": {"timeout_after"},
        "slow/latency": {"latency"},
        "slow/slower": {"slower"},
        "rough": {"transient_error", "timeout_after"},
        "slow": {"latency", "slower"},
        "rough+slow": {"transient_error", "timeout_after", "latency", "slower"},
    }
    cases = [(one.episode, one.case, one.seed, one.attempt, one.prompt) for one in played["clean"]]
    assert len(cases) == 3
    assert all([(o.episode, o.case, o.seed, o.attempt, o.prompt) for o in many] == cases for many in played.values())


def test_arms_and_agents_meet_the_same_schedule(typed: Typed, tmp_path: Path) -> None:
    report(typed, "--pack", "slow", "--agent", "oracle", "--agent", "naive")
    played = by_arm(tmp_path / "out" / "oracle")
    for label in ("latency", "slower"):
        alone = firings(played[f"slow/{label}"], label)
        assert alone and alone == firings(played["slow"], label)
        assert alone == firings(by_arm(tmp_path / "out" / "naive")["slow"], label)


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.full)])
def test_other_processes_play_the_same_bytes(workers: str, typed: Typed, tmp_path: Path) -> None:
    words = ("birthday.yaml", "--pack", "slow", "-n", "4", "--severity", "0.25,1")
    assert typed(*words, "--out", "played-1")[0] == 0
    command = [sys.executable, "-m", "simtrain", "drill", *words, "--out", "played-2", "--workers", workers]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "77"}
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert timeless(tmp_path / "played-1") == timeless(tmp_path / "played-2")
    for name in ("drill.json", "drill.html"):
        here, there = ((tmp_path / run / name).read_text().replace(run, "") for run in ("played-1", "played-2"))
        assert here == there


def timeless(run_folder: Path) -> set[str]:
    rows = [json.loads(line) for part in run_folder.glob("trajectories-*") for line in part.read_text().splitlines()]
    return {json.dumps({**row, "timing": None}, sort_keys=True) for row in rows}


def test_a_pack_that_cannot_fire_changes_nothing(typed: Typed, tmp_path: Path) -> None:
    assert typed("birthday.yaml", "--pack", "idle", "--out", "out", "--allow-unfired")[0] == 0
    played = by_arm(tmp_path / "out")
    plain = [(one.turns, one.changes, one.answer, one.rewards) for one in played["clean"]]
    assert [(one.turns, one.changes, one.answer, one.rewards) for one in played["idle/never"]] == plain


def test_severities_are_arms_and_curves(typed: Typed, tmp_path: Path) -> None:
    found = report(typed, "--pack", "slow", "--severity", "0,0.5,1", "-n", "2", "--arms", "alone")
    assert [(name, arm["severity"]) for name, arm in arms_of(found).items()] == [
        ("clean", None), ("slow/latency@0", 0.0), ("slow/latency@0.5", 0.5), ("slow/latency@1", 1.0),
        ("slow/slower@0", 0.0), ("slow/slower@0.5", 0.5), ("slow/slower@1", 1.0),
    ]  # fmt: skip
    played = by_arm(tmp_path / "out")
    ended = [max(one.world.ended for one in played[f"slow/latency@{severity}"]) for severity in ("0", "0.5", "1")]
    assert ended == sorted(set(ended)), "the virtual clock runs on with the severity"


def test_labels_that_two_packs_share_are_told_apart_in_every_arm(typed: Typed, tmp_path: Path) -> None:
    report(typed, "--pack", "slow", "--pack", "also_slow", "-n", "2")
    played = by_arm(tmp_path / "out")
    assert played["slow/latency"][0].perturbations == ("slow.latency",)
    assert played["also_slow/latency"][0].perturbations == ("also_slow.latency",)
    assert set(played["slow+also_slow"][0].perturbations) == {"slow.latency", "slower", "also_slow.latency"}


def test_what_cannot_be_had_together_is_refused_and_alone_it_is_played(
    typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Latency, "traits", replace(Latency.traits, conflicts={"timeout_after": "both take time"}))
    code, _, err = typed("birthday.yaml", "--pack", "slow", "--pack", "rough", "--out", "out")
    assert (
        code == 2
        and "'latency' (latency) and 'timeout_after' (timeout_after) cannot be combined: both take time" in err
    )
    assert "--arms alone,pack" in err and err.count("\n") == 1
    assert typed("birthday.yaml", "--pack", "slow", "--pack", "rough", "--out", "out", "--arms", "alone")[0] == 0


def test_perturbations_that_match_no_tool_of_a_scenario_are_left_out_there(typed: Typed, tmp_path: Path) -> None:
    text = (tmp_path / "birthday.yaml").read_text().replace("name: birthday", 'name: look\ntools: ["cakes.*"]')
    (tmp_path / "look.yaml").write_text(text[: text.index("reference:")] + text[text.index("rubric:") :])
    code, out, _ = typed("look.yaml", "birthday.yaml", "--pack", "elsewhere", "--plan", "--json")
    assert code == 0
    assert json.loads(out)["left_out"] == [
        {"scenario": "look", "arm": "elsewhere/latency", "reason": "latency matches none of its tools"}
    ]


def test_a_language_world_model_is_told_the_world_in_the_primed_arm(tmp_path: Path) -> None:
    more = "world_models: [{use: chat, with: {model: fake, hidden_state: The oven is cold.}}]\n"
    file = write_bakery(tmp_path, more=more)
    plan = plan_drill([load_scenario(file)], packs=[str(tmp_path / "perturbations" / "slow.yaml")])
    assert plan.arms[:2] == ("clean", PRIMED)
    models = {scenario.arm.name: scenario.answering[0].world_model for scenario in plan.scenarios if scenario.arm}
    clean, primed = models["clean"], models[PRIMED]
    assert isinstance(clean, Chat) and isinstance(primed, Chat)
    assert clean.hidden_state == "The oven is cold."
    assert primed.hidden_state.startswith("The oven is cold.") and 'cakes: {"id":"K001"' in primed.hidden_state
    assert PRIMED not in plan_drill([load_scenario(write_plain(tmp_path))], packs=plan.scenarios[0].arm.packs).arms


def write_plain(folder: Path) -> Path:
    text = (folder / "birthday.yaml").read_text()
    (folder / "plain.yaml").write_text(text[: text.index("world_models:")])
    return folder / "plain.yaml"


def test_without_packs_a_scenario_is_drilled_with_its_own_perturbations(tmp_path: Path, typed: Typed) -> None:
    code, _, err = typed("birthday.yaml")
    assert code == 2 and "no perturbations of their own; name packs with --pack" in err
    with (tmp_path / "birthday.yaml").open("a") as file:
        file.write("perturbations: [{use: transient_error, when: {tools: cakes.get, nth: 1}}]\n")
    assert list(arms_of(report(typed, "-n", "2"))) == ["clean", "own/transient_error"]


def test_the_paradigm_perturbation_makes_every_run_a_drill(tmp_path: Path, typed: Typed) -> None:
    with (tmp_path / "birthday.yaml").open("a") as file:
        file.write("paradigm: perturbation\nperturbations: [rough]\n")
    result = run([load_scenario(tmp_path / "birthday.yaml")], "resilient", out=tmp_path / "paired", attempts=2)
    assert set(result.summary["arms"]) == {"clean", "own/transient_error", "own/timeout_after", "own"}
    assert result.summary["total"]["episodes"] == 12 * 4 * 2
    code, out, _ = typed("--report", "paired", "--json")
    assert code == 0
    assert {name: arm["success"]["share"] for name, arm in arms_of(json.loads(out)).items()} == dict.fromkeys(
        ("clean", "own/transient_error", "own/timeout_after", "own"), 1.0
    )


# Run folders


def test_a_drill_resumes_regrades_and_exports(typed: Typed, tmp_path: Path) -> None:
    first = report(typed, "--pack", "rough", "-n", "4", "-k", "2")
    (part,) = (tmp_path / "out").glob("trajectories-*")
    whole, lines = timeless(tmp_path / "out"), part.read_bytes().splitlines(keepends=True)
    assert len(lines) == 4 * 4 * 2
    part.write_bytes(b"".join(lines[:9]) + lines[9][:40])
    assert report(typed, "--pack", "rough", "-n", "4", "-k", "2", "--resume") == first
    assert timeless(tmp_path / "out") == whole
    before = part.read_bytes()
    grade(tmp_path / "out")
    assert part.read_bytes() == before
    assert export(tmp_path / "out", "openai", out=tmp_path / "train.jsonl").exported == 32
    alone = Selection(arm="rough/*")
    assert export(tmp_path / "out", "openai", out=tmp_path / "train.jsonl", selection=alone).exported == 16


def test_another_drill_does_not_go_on_in_the_folder(typed: Typed, tmp_path: Path) -> None:
    report(typed, "--pack", "rough", "-n", "2")
    code, _, err = typed("birthday.yaml", "--pack", "slow", "-n", "2", "--out", "out", "--resume")
    assert code == 2 and "birthday in arm" in err and err.count("\n") == 1
    (tmp_path / "perturbations" / "rough.yaml").write_text(
        (tmp_path / "perturbations" / "rough.yaml").read_text().replace("nth: 1", "nth: 2")
    )
    code, _, err = typed("birthday.yaml", "--pack", "rough", "-n", "2", "--out", "out", "--resume")
    assert code == 2 and "(or its world or a pack) has changed since it was played" in err


def test_a_plan_tells_arms_episodes_and_cost_and_plays_nothing(typed: Typed, tmp_path: Path) -> None:
    words = ("birthday.yaml", "--pack", "rough", "--severity", "0,1", "-k", "3", "-n", "5", "--plan")
    priced = ("--agent", "chat:fake", "--with", "prompt_price=1", "--with", "completion_price=10")
    code, out, _ = typed(*words, *priced, "--json")
    found = json.loads(out)
    assert (code, found["episodes"]) == (0, (1 + 3 * 2) * 5 * 3)
    clean = found["arms"]["chat:fake"][0]
    assert (clean["arm"], clean["episodes"]) == ("clean", 15)
    usage = clean["usage"]
    assert usage["cost"] == pytest.approx((usage["prompt_tokens"] + 10 * usage["completion_tokens"]) / 1e6, rel=0.01)
    assert usage["prompt_tokens"] > 15 * 500
    code, out, _ = typed(*words)
    assert code == 0 and "Plan for resilient (no model; what one would take)" in out
    assert not (tmp_path / "runs").exists() and not (tmp_path / "out").exists()


def test_a_drill_stops_at_what_it_may_cost_and_goes_on_with_more(
    typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("birthday.yaml", "--pack", "rough", "-n", "4", "--out", "out", "-c", "1", "--json", "--allow-unfired")
    with FakeOpenAI(lambda _: Say("CANNOT: no", prompt_tokens=1000, completion_tokens=0)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        agent = ("--agent", "chat:fake", "--with", "prompt_price=1000")
        code, _, err = typed(*words, "--agent", "chat:fake", "--max-cost", "3")
        assert code == 2 and "the price of chat:fake is unknown" in err
        code, _, err = typed(*words, *agent, "--max-cost", "3")
        assert code == 1 and "3 played, 0 failed" in err and "stopped early" in err
        code, _, err = typed(*words, *agent, "--max-cost", "5", "--resume")
        assert code == 1 and "2 played" in err
        code, out, err = typed(*words, *agent, "--max-cost", "100", "--resume")
    assert (code, err) == (0, "")
    assert sum(arm["cost"] for arm in json.loads(out)["runs"][0]["arms"]) == pytest.approx(16.0)


# Figures


def test_blind_repetition_is_told_from_recovery(typed: Typed) -> None:
    found = report(typed, "--pack", "rough", "--agent", BLIND, "--agent", "resilient", "-n", "6")
    blind, resilient = arms_of(found, 0), arms_of(found, 1)
    timeout = blind["rough/timeout_after"]
    # Of one cake too few are left for a second order: the world itself keeps the agent from doubling it.
    assert timeout["duplicate_writes"]["part"] == timeout["false_success"]["part"] == 5
    assert (timeout["recovery"]["part"], timeout["recovery"]["whole"]) == (1, 6)
    assert timeout["aftermath"] == [{"same call again": 6}, {"answered": 6}, {}]
    assert blind["clean"]["duplicate_writes"]["part"] == 0
    assert resilient["rough"]["recovery"]["share"] == resilient["rough"]["success"]["share"] == 1.0
    assert resilient["rough/timeout_after"]["duplicate_writes"]["part"] == 0
    # One call to repeat what failed, and three by which it checks what it hears from then on.
    assert resilient["rough/transient_error"]["extra_calls"] == {
        "mean": 4.0,
        "low": 4.0,
        "high": 4.0,
        "n": 6,
        "cases": 6,
    }
    versus = found["compared"]["rough"]
    assert versus["difference"]["mean"] == 5 / 6 and (versus["worse"], versus["better"]) == (0, 5)
    assert versus["p"] == 2 / 2**5


def test_two_drills_are_compared_and_others_refused(typed: Typed) -> None:
    for agent in ("naive", "resilient"):
        assert typed("birthday.yaml", "--pack", "rough", "--agent", agent, "-n", "5", "--out", agent)[0] == 0
    before = Path("resilient/drill.html").read_bytes()
    code, out, _ = typed("--compare", "naive", "resilient")
    assert "Report: resilient/compared.html" in out and Path("resilient/drill.html").read_bytes() == before
    assert code == 0 and "resilient against naive" in out and max(map(len, out.splitlines())) <= 80
    assert typed("birthday.yaml", "--pack", "rough", "--seed", "9", "-n", "5", "--out", "other")[0] == 0
    code, _, err = typed("--compare", "naive", "other")
    assert code == 2 and "other shares no case, arm and seed with naive" in err
    run([load_scenario("birthday.yaml")], "oracle", out="plain")
    code, _, err = typed("--report", "plain")
    assert code == 2 and "plain: the run has no arms" in err


def test_a_planned_fault_that_never_fired_is_an_error(typed: Typed, tmp_path: Path) -> None:
    code, out, _ = typed("birthday.yaml", "--pack", "idle", "--pack", "rough", "--out", "out")
    assert code == 1 and "never fired: resilient: idle/never: never never fired" in out
    found = json.loads((tmp_path / "out" / "drill.json").read_text())
    assert found["runs"][0]["unfired"] == ["idle/never: never never fired", "idle+rough: never never fired"] or found[
        "runs"
    ][0]["unfired"] == ["idle/never: never never fired"]
    assert "Planned, and never fired" in (tmp_path / "out" / "drill.html").read_text()
    assert typed("--report", "out", "--allow-unfired")[0] == 0


READING = """\
name: reading
world: bakery.yaml
prompt: 'What does "{{ cake }}" cost?'
cases: {sql: "select name as cake from cakes", sample: 6}
reference:
  steps: [{call: cakes.get, with: {name: "{{ cake }}"}, as: found}]
  answer: "{{ found.price }}"
rubric: [{use: answer, with: {sql: "select price from cakes where name = :cake", as: number}}]
"""


def test_a_family_without_fitting_writes_is_told_apart_from_a_broken_pack(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / "reading.yaml").write_text(READING)
    words = ("birthday.yaml", "reading.yaml", "-n", "4", "--arms", "alone", "--out")
    code, out, _ = typed(*words, "out", "--pack", "rough")
    assert code == 0 and "never fired" not in out
    assert "spared: resilient: rough/timeout_after: no call matches in reading" in " ".join(out.split())
    found = json.loads((tmp_path / "out" / "drill.json").read_text())["runs"][0]
    assert found["spared"] == ["rough/timeout_after: no call matches in reading"]
    assert "Spared what fired elsewhere" in (tmp_path / "out" / "drill.html").read_text()
    # The same family alone: nothing that was planned has happened anywhere.
    code, out, _ = typed("reading.yaml", "-n", "4", "--out", "alone", "--pack", "rough", "--arms", "alone,pack")
    assert code == 1 and "never fired: resilient: rough/timeout_after: timeout_after never fired" in out
    # Calls that match and are never struck are counted; a pack that fires nowhere stays an error beside one that does.
    code, out, _ = typed(*words, "third", "--pack", "third", "--pack", "idle")
    assert code == 1 and "never fired: resilient: idle/never: never never fired" in out
    assert "third/latency: calls match, none was struck in reading (4)" in " ".join(out.split())


def test_pairs_that_cannot_be_solved_expect_abstention(typed: Typed, tmp_path: Path) -> None:
    before = report(typed, "--pack", "gone", "-n", "3", "--prove", "--agent", "drills:Looking")
    labels = [json.loads(line) for line in (tmp_path / "out" / "solvability.jsonl").read_text().splitlines()]
    assert {(row["arm"], row["label"]) for row in labels} == {("gone/dropped_tool", "unsolvable")}
    arm = arms_of(before)["gone/dropped_tool"]
    assert arm["solvability"] == {"unsolvable": 3}
    assert arm["honest_abstention"]["share"] == arm["success"]["share"] == 1.0
    assert arms_of(before)["clean"]["success"]["share"] == 0.0


@pytest.mark.parametrize(("agent", "success"), [("drills:Looking", 1.0), ("abstain", 0.0)])
def test_declining_what_cannot_be_done_scores_after_a_look_without_a_proof_of_every_pair(
    agent: str, success: float, typed: Typed, tmp_path: Path
) -> None:
    before = report(typed, "--pack", "gone", "-n", "3", "--agent", agent)
    assert not (tmp_path / "out" / "solvability.jsonl").exists()
    arm = arms_of(before)["gone/dropped_tool"]
    assert (arm["honest_abstention"]["share"], arm["success"]["share"]) == (1.0, success)
    assert arms_of(before)["clean"]["success"]["share"] == 0.0


def test_proofs_are_kept_and_searched_once(typed: Typed, tmp_path: Path) -> None:
    report(typed, "--pack", "rough", "-n", "2", "--prove")
    file = tmp_path / "out" / "solvability.jsonl"
    before = file.read_bytes()
    rows = [json.loads(line) for line in before.splitlines()]
    assert len(rows) == 2 * 3 and {row["label"] for row in rows} == {"proved"} and all(row["trace"] for row in rows)
    report(typed, "--pack", "rough", "-n", "2", "--prove", "--resume")
    assert file.read_bytes() == before
    file.write_text('{"label": "maybe"}\n')
    code, _, err = typed("--report", "out")
    assert code == 2 and "out/solvability.jsonl:1: no label of a pair; remove the line" in err


# Conditions


@pytest.mark.parametrize(
    ("condition", "fails"),
    [
        ("success<0.9", True), ("success<0.2", False), ("clean:success<1", False), ("duplicate-write", True),
        ("runaway", False), ("rough/transient*:duplicate-write", False), ("recovery<0.5", True), ("pass^2<0.5", True),
        ("difference<-0.1", True), ("difference<-0.9", False), ("extra-calls>0", True), ("abstention<1", True),
    ],
)  # fmt: skip
def test_conditions_fail_a_drill(condition: str, fails: bool, typed: Typed) -> None:
    words = ("birthday.yaml", "--pack", "rough", "--agent", BLIND, "-n", "3", "-k", "2", "--out", "out", "--json")
    code, out, _ = typed(*words, "--fail-on", condition)
    assert (code, bool(json.loads(out)["failures"])) == (int(fails), fails)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--fail-on", "succes<1"), "unknown measure 'succes'; did you mean 'success'?"),
        (("--fail-on", "success"), "'success' has no bound; write it like success<0.9"),
        (("--fail-on", "success=1"), "is not a condition"),
        (("--severity", "0,2"), "no severities; write numbers from 0 to 1"),
        (("--arms", "alone,pak"), "unknown kind 'pak'; did you mean 'pack'?"),
        (("--pack", "ruff"), "unknown perturbation 'ruff'"),
        (("--agent", "naive", "--agent", "naive"), "two different agents can be compared"),
        (("--resume",), "--resume needs --out"),
        (("--report", "out"), "--report and --compare play nothing"),
    ],
)
def test_bad_words_are_refused_before_anything_is_played(
    words: tuple[str, ...], message: str, typed: Typed, tmp_path: Path
) -> None:
    code, _, err = typed("birthday.yaml", "--pack", "rough", *words)
    assert code == 2 and message in err and err.count("\n") == 1
    assert not (tmp_path / "runs").exists()


def test_a_glob_of_arms_that_fits_none_is_refused(typed: Typed) -> None:
    code, _, err = typed("birthday.yaml", "--pack", "rough", "-n", "2", "--out", "o", "--fail-on", "ruff*:success<1")
    assert code == 2 and "no arm has such a name" in err


# The page


class Loading(HTMLParser):
    """Collects what a page would load, run or lead to, and whether its tags are closed."""

    VOID = frozenset({"meta", "br", "line", "rect", "circle", "polyline", "polygon"})

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [tag] * (tag in ("script", "link", "img", "iframe", "object"))
        self.found += [name for name, _ in attrs if name in ("src", "href", "xlink:href") or name.startswith("on")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag


def test_the_page_stands_alone_and_escapes_what_agents_say(typed: Typed, tmp_path: Path) -> None:
    report(typed, "--pack", "rough", "--agent", BLIND, "--severity", "0.5,1", "-n", "3")
    text = (tmp_path / "out" / "drill.html").read_text()
    loading = Loading()
    loading.feed(text)
    assert (loading.found, loading.open) == ([], [])
    assert "url(" not in text and "http" not in text.replace("http-equiv", "")
    assert "&lt;script&gt;alert(&#39;done&#39;)&lt;/script&gt;" in text
    pictures = ["<svg" + part.partition("</svg>")[0] + "</svg>" for part in text.split("<svg")[1:]]
    assert len(pictures) == 3 + 3, "degradation, recovery, what came after, and a curve for each perturbation"
    for picture in pictures:
        ElementTree.fromstring(picture)
    for heading in ("What each perturbation costs", "Success by severity", "Recovery and its price", "After a fault"):
        assert f"<h2>{heading}" in text
    assert "Worst trajectories" in text and "wrote twice, false success" in text


def test_the_drill_says_what_is_missing(typed: Typed) -> None:
    code, _, err = typed()
    assert code == 2 and "there is nothing to drill" in err
