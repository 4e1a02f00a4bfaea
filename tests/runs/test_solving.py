"""Proofs that a perturbed task can still be done: found by search, replayed to full reward, and denied where there is no way."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from bakery import WORLD, write_files

from simtrain.agents.planned import Planned
from simtrain.contracts.scenario import Episode
from simtrain.runs.solvability.evidence import HeardReplies
from simtrain.runs.solvability.search import Solution, solve
from simtrain.runs.solvability.survey import Job, proved_share, rows_of, survey
from simtrain.runs.solvability.trace import Trace, retrace
from simtrain.scenarios.load import load_scenario_file, paradigm_of
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, Observation, encode

pytestmark = pytest.mark.slow

PLACING = "nth: 1, tools: orders.place"


def trace_of(proof: JsonObject) -> Trace:
    assert proof["format"] == "simtrain-proof/1"
    calls = tuple(Planned(call["tool"], call["arguments"]) for call in proof["calls"])
    return Trace(calls, proof["answer"], proof["abstain"])


def episodes(folder: Path, perturbation: str, *, more: str = "", world: str = WORLD) -> list[Episode]:
    file = write_files(folder, more=f"perturbations: [{perturbation}]\n{more}", world_text=world)
    loaded = load_scenario_file(file, "birthday")
    return list(paradigm_of(loaded).episodes(loaded, seed=0, attempts=1))


def episode(folder: Path, perturbation: str, *, more: str = "", world: str = WORLD) -> Episode:
    return episodes(folder, perturbation, more=more, world=world)[0]


async def solved(folder: Path, perturbation: str, *, more: str = "", world: str = WORLD) -> tuple[Episode, Solution]:
    found = episode(folder, perturbation, more=more, world=world)
    return found, await solve(found)


def tools_of(solution: Solution) -> list[str]:
    assert solution.trace is not None
    return [call.tool for call in solution.trace.calls]


SURVIVED = {
    "retry": "{use: transient_error, when: {tools: cakes.get, nth: [1, 2]}}",
    "wait": "{use: rate_limit, with: {retry_after: 100, refusals: 9}, when: {tools: cakes.get, nth: 1}}",
    "verify": f"{{use: timeout_after, when: {{{PLACING}}}}}",
    "notice": f"{{use: false_success, when: {{{PLACING}}}}}",
    "poll": f"{{use: delayed_visibility, with: {{reads: 2}}, when: {{{PLACING}}}}}",
    "re-auth": "{use: auth_expired, when: {nth: 2}}",
    "install": "{use: missing_dependency, when: {nth: 1}}",
    "fix-call": "{use: strict_validation, when: {nth: 1}}",
    "map": "{use: renamed_tools, with: {severity: 1}}",
    "drift": "{use: schema_drift, with: {rename: {id: identifier, orders: entries}}}",
    "page": "{use: forced_pagination, with: {page_size: 1}, when: {nth: 1}}",
    "cross-check": "{use: value_corruption, when: {tools: cakes.get, nth: 1}}",
    "other notation": "{use: multi_format, with: {notation: prose, text_only: true}}",
    "unreadable once": "{use: malformed_output, with: {form: page}, when: {tools: cakes.get, nth: 1}}",
    "another record": "{use: wrong_entity, when: {tools: orders.list, nth: 1}}",
}


@pytest.mark.parametrize("perturbation", SURVIVED.values(), ids=SURVIVED)
async def test_a_proof_earns_full_reward_in_a_fresh_episode(perturbation: str, tmp_path: Path) -> None:
    # Pages are cut only of lists that are longer: of cakes that were ordered before.
    for found in episodes(tmp_path, perturbation):
        solution = await solve(found)
        assert solution.label == "proved"
        if solution.fired:
            break
    assert solution.fired and solution.trace is not None
    again = trace_of(json.loads(encode(solution.trace.facts(found))))
    assert again == solution.trace
    assert (await retrace(found, again)).reward == 1


async def test_a_lost_reply_is_not_answered_by_doing_it_twice(tmp_path: Path) -> None:
    _, solution = await solved(tmp_path, SURVIVED["verify"])
    assert tools_of(solution).count("orders.place") == 1


async def test_what_was_never_done_is_noticed_by_a_read_and_done_again(tmp_path: Path) -> None:
    _, solution = await solved(tmp_path, SURVIVED["notice"])
    calls = tools_of(solution)
    first = calls.index("orders.place")
    second = calls.index("orders.place", first + 1)
    assert any(not call.startswith("orders.place") for call in calls[first + 1 : second])


async def test_a_session_is_renewed_with_the_tool_that_is_offered(tmp_path: Path) -> None:
    _, solution = await solved(tmp_path, SURVIVED["re-auth"])
    assert any(call.endswith("refresh_session") for call in tools_of(solution))


async def test_an_equivalent_tool_is_taken_where_one_is_named(tmp_path: Path) -> None:
    other = "  - name: orders.list\n"
    world = WORLD.replace(
        other,
        WORLD[WORLD.index("  - name: cakes.get") : WORLD.index("  - name: orders.place")].replace(
            "cakes.get", "cakes.look_up"
        )
        + other,
    )
    dead = "{use: outage, when: {tools: cakes.get, nth: 1}}"
    _, blocked = await solved(tmp_path, dead, world=world)
    _, solution = await solved(tmp_path, dead, world=world, more="equivalents: {cakes.get: [cakes.look_up]}\n")
    assert blocked.label != "unproved" and "cakes.look_up" in tools_of(solution)


@pytest.mark.parametrize(
    "perturbation",
    [
        "{use: impossible_task, when: {writes: true, nth: 1}}",
        "{use: permission_denied, with: {grants: false}, when: {tools: orders.place, nth: 1}}",
    ],
)
async def test_a_task_whose_every_path_is_refused_is_unsolvable(perturbation: str, tmp_path: Path) -> None:
    _, solution = await solved(tmp_path, perturbation)
    assert solution.label == "unsolvable" and solution.trace is None and "refused" in solution.reason


PRICE = """\
name: price
world: bakery.yaml
prompt: 'How much is "{{ cake }}"?'
cases: {sql: "select name as cake from cakes", sample: 1}
tools: [cakes.get]
perturbations: [{use: value_corruption, with: {fields: [price]}}]
reference:
  steps: [{call: cakes.get, with: {name: "{{ cake }}"}, as: found}]
  answer: "{{ found.price }}"
rubric: [{use: answer, with: {sql: "select price from cakes where name = :cake", as: number}}]
"""


@pytest.mark.parametrize("tools, label", [("[cakes.get]", "unnoticeable"), ("['cakes.*']", "proved")])
async def test_a_lie_is_unnoticeable_where_there_is_no_second_source(tools: str, label: str, tmp_path: Path) -> None:
    write_files(tmp_path)
    file = tmp_path / "price.yaml"
    text = PRICE.replace("[cakes.get]", tools).replace("[price]}}", "[price]}, when: {tools: cakes.get}}")
    file.write_text(text)
    loaded = load_scenario_file(file, "price")
    solution = await solve(next(iter(paradigm_of(loaded).episodes(loaded, seed=0, attempts=1))))
    assert solution.label == label


async def test_a_search_that_may_make_few_calls_proves_nothing(tmp_path: Path) -> None:
    found = episode(tmp_path, "{use: transient_error, when: {tools: cakes.get, nth: [1, 2, 3, 4]}}")
    assert (await solve(found, most_calls=3)).label == "unproved"
    assert (await solve(found)).label == "proved"


async def test_the_same_search_finds_the_same_proof(tmp_path: Path) -> None:
    found = episode(
        tmp_path, "{use: value_corruption, when: {probability: 0.7}}, {use: timeout_after, when: {writes: true}}"
    )
    assert await solve(found) == await solve(found)


async def test_nothing_is_proved_without_a_plan_or_a_world_of_its_own(tmp_path: Path) -> None:
    found = episode(tmp_path, SURVIVED["retry"], more="world_models: [{use: chat, with: {model: m}}]\n")
    with pytest.raises(InputError, match="answered by `embedded` alone"):
        await solve(found)


GET = Planned("cakes.get", {"name": "Plum cake 7"})
TRUE = Observation(encode({"id": "K007", "name": "Plum cake 7", "price": 120.5, "stock": 4}), json=True)


def told(**values: object) -> Observation:
    return Observation(encode(values), json=True)


def test_only_what_was_shown_is_believed() -> None:
    wrong = told(id="K007", name="Plum cake 7", price=100.0, stock=4)
    believed = HeardReplies().with_reply(GET, wrong).believe(GET, TRUE, wrong)
    assert believed.gaps == {("price", 120.5)}
    assert believed.observation.content == wrong.content


def test_a_value_counts_where_another_reply_shows_it_of_the_same_record() -> None:
    wrong = told(id="K007", name="Plum cake 7", price=100.0, stock=4)
    evidence = HeardReplies().with_reply(GET, wrong)
    listing = Planned("cakes.list", {})
    of_another = evidence.with_reply(listing, told(cakes=[{"id": "K008", "price": 120.5}]))
    of_the_same = evidence.with_reply(listing, told(cakes=[{"id": "K007", "price": 120.5}]))
    assert of_another.believe(GET, TRUE, wrong).gaps == {("price", 120.5)}
    assert of_the_same.believe(GET, TRUE, wrong).observation == TRUE


@pytest.mark.parametrize(
    "text", ["name: PLUM CAKE 7 (K007), price 120.50, stock 4", "id,name,price,stock\nK007,Plum cake 7,120.5,4"]
)
def test_the_form_in_which_a_value_stands_does_not_matter(text: str) -> None:
    written = Observation(text)
    assert not HeardReplies().with_reply(GET, written).believe(GET, TRUE, written).gaps


def test_a_survey_tries_each_perturbation_alone_and_all_together(tmp_path: Path) -> None:
    file = write_files(tmp_path)
    pairs = survey([Job(file, "birthday", "flaky_network", 2, 0)])
    assert [(row.label, row.tried) for row in rows_of(pairs)] == [
        ("latency", 2), ("timeout_after", 2), ("timeout_before", 2), ("transient_error", 2), ("(together)", 2)
    ]  # fmt: skip
    assert proved_share(pairs) == 1
    assert survey([Job(file, "birthday", "flaky_network", 2, 0)], workers=2) == pairs


def validated(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "simtrain", "validate", "birthday.yaml", "--perturbations", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


def test_validate_tells_of_each_perturbation_and_writes_proofs(tmp_path: Path) -> None:
    write_files(tmp_path)
    done = validated(tmp_path, "silent_lies", "--cases", "2", "--traces", "proofs.jsonl", "--json")
    told = json.loads(done.stdout)
    rows = {row["perturbation"]: row for row in told["perturbations"]}
    assert done.returncode == 0 and told["ok"] and rows["false_success"]["tried"] == 2
    proofs = [json.loads(line) for line in (tmp_path / "proofs.jsonl").read_text().splitlines()]
    assert len(proofs) == sum(row["proved"] for row in rows.values()) > 0
    assert all(trace_of(proof).calls and proof["scenario"] == "birthday" for proof in proofs)


@pytest.mark.full
def test_agents_play_the_pairs_that_are_proved(tmp_path: Path) -> None:
    write_files(tmp_path)
    (tmp_path / "hard.yaml").write_text(
        "name: hard\nperturbations:\n"
        "  - {use: transient_error, when: {tools: orders.place, nth: 1}}\n"
        "  - {use: impossible_task, when: {writes: true, nth: 1}}\n"
    )
    agents = ("--agent", "resilient", "--agent", "naive", "--alone")
    done = validated(tmp_path, "hard.yaml", "--cases", "2", *agents)
    assert "resilient solves 100% of the proved pairs and declines 100% of the unsolvable" in done.stdout
    assert "naive solves 0% of the proved pairs and declines 0% of the unsolvable" in done.stdout
    told = json.loads(validated(tmp_path, "hard.yaml", "--cases", "2", *agents, "--json").stdout)
    assert told["agents"]["resilient"] == {"earned": 1, "declined": 1}
    assert [(row["perturbation"], row["agents"]["naive"]) for row in told["perturbations"]] == [
        ("transient_error", 0),
        ("impossible_task", None),
    ]
    assert len(told["missed"]["naive"]) == 2 and not told["missed"]["resilient"]


def test_an_agent_that_there_is_not_is_refused_before_anything_is_searched(tmp_path: Path) -> None:
    write_files(tmp_path)
    (tmp_path / "hard.yaml").write_text("name: hard\nperturbations: [{use: latency}]\n")
    done = validated(tmp_path, "hard.yaml", "--agent", "resilent")
    assert done.returncode == 2 and "resilient" in done.stderr


def test_validate_ends_with_1_below_the_share_that_is_asked_for(tmp_path: Path) -> None:
    write_files(tmp_path)
    (tmp_path / "dead.yaml").write_text(
        "name: dead\nseverity: 1\nperturbations: [{use: permission_denied, when: {tools: orders.place, nth: 1}}]\n"
    )
    done = validated(tmp_path, "dead.yaml", "--cases", "1")
    assert done.returncode == 1 and "0.0% of the recoverable pairs are proved" in done.stdout
    assert validated(tmp_path, "dead.yaml", "--cases", "1", "--at-least", "0").returncode == 0


def test_validate_refuses_a_pack_that_is_not_there_in_one_line(tmp_path: Path) -> None:
    write_files(tmp_path)
    done = validated(tmp_path, "flaky_netwrok")
    assert done.returncode == 2 and "flaky_network" in done.stderr and done.stderr.count("\n") == 1
