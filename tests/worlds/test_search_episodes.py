"""Episodes over a search world: run, served, over MCP, disturbed, and answered by a language world model."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from catalogue import SHIPPED
from mcp import Client, StdioServerParameters
from serving_bakery import serving
from small_web import SmallSource, write_small_web

from simtrain.agents.oracle import Oracle
from simtrain.contracts.request import Request
from simtrain.contracts.scenario import Scenario, ScenarioSpec
from simtrain.contracts.trajectory import Trajectory, to_line
from simtrain.contracts.transport import Transport
from simtrain.files.json_schemas import validator
from simtrain.files.yaml_files import parse_document
from simtrain.mcp.serve.transports import InProcessMcp, OverMcp
from simtrain.runs.rollout import rollout
from simtrain.runs.run_folder import read_run
from simtrain.scenarios.load import assemble, paradigm_of
from simtrain.values.types import Action, Observation

pytestmark = pytest.mark.slow

QUAY = "https://ports.isles.example/ports/velmora-quay"
SCENARIO = """\
name: harbourmasters
domain: search
world: {use: small_web, with: {snippets: tease, tools: [web, memory]}}
prompt: Who is the harbourmaster of {{ port }}, and how many berths are there?
cases: {sql: select name as port from port}
reference:
  steps:
    - {call: web_search, with: {query: "harbour {{ port }} authority"}, as: found}
    - {call: web_extractor, with: {url: "{{ found.results[0].url }}", goal: harbourmaster and berths}, as: page}
    - {call: dict_memory, with: {operation: add, key: "{{ port }}", value: "{{ page.content }}"}}
    - {call: dict_memory, with: {operation: retrieve, key: "{{ port }}"}, as: note}
  answer: "{{ note.value.split('The harbourmaster is ')[1].split('.')[0] }}"
rubric:
  - {use: answer, with: {sql: "select harbourmaster from port where name = :port", as: text}}
  - {use: final_state, with: {expect: ["select count(*) = 1 from memory where key = :port"], changes_only: [memory]}}
limits: {turns: 12}
"""


def scenario(folder: Path, more: str = "", *, text: str = SCENARIO) -> Scenario:
    """The scenario over the small world, with more lines at its end."""
    document = parse_document(text + more, folder / "harbourmasters.yaml")
    spec = document.parse(ScenarioSpec)
    path = folder / "small_web.world"
    source = SmallSource(path if path.is_file() else write_small_web(path))
    return assemble(
        document, spec, "harbourmasters", source=source.configured(document, spec.world.knobs, ("world", "with"))
    )


def play(played: Scenario, *, transport: Transport | None = None, cases: int = 3) -> list[Trajectory]:
    """The oracle's trajectories."""

    async def run() -> list[Trajectory]:
        episodes = list(paradigm_of(played).episodes(played, seed=0, attempts=1))[:cases]
        if transport is None:
            return [await rollout(episode, Oracle(), name="oracle") for episode in episodes]
        async with transport.running() as connect:
            return [await rollout(episode, Oracle(), name="oracle", connect=connect) for episode in episodes]

    return asyncio.run(run())


def lines(trajectories: Sequence[Trajectory]) -> list[bytes]:
    return [to_line(replace(trajectory, timing={})) for trajectory in trajectories]


def test_the_oracle_searches_opens_notes_and_answers(tmp_path: Path) -> None:
    for trajectory in play(scenario(tmp_path)):
        assert trajectory.reward == 1.0, trajectory.rewards
        assert [step.action.tool for step in trajectory.steps] == [
            "web_search",
            "web_extractor",
            "dict_memory",
            "dict_memory",
        ]
        assert list(trajectory.changes) == ["memory"]


@pytest.mark.parametrize("transport", [OverMcp(), InProcessMcp()], ids=["http", "in process"])
def test_over_mcp_an_episode_is_the_same_to_the_byte(tmp_path: Path, transport: Transport) -> None:
    played = scenario(tmp_path)
    assert lines(play(played, transport=transport)) == lines(play(played))


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_real_client_of_mcp_searches_and_reads(tmp_path: Path, mode: str) -> None:
    played = scenario(tmp_path)
    world = played.source.build()
    async with serving([played]) as served:
        opened = await served.open()
        url = opened["url"]
        async with Client(url, mode=mode) as client:
            listed = (await client.list_tools()).tools
            assert [tool.name for tool in listed] == ["web_search", "web_extractor", "dict_memory"]
            assert [tool.annotations and tool.annotations.read_only_hint for tool in listed] == [True, True, False]
            for tool, arguments in (
                ("web_search", {"queries": ["Dranhollow berths", "ferry"]}),
                ("web_extractor", {"url": QUAY}),
                ("dict_memory", {"operation": "add", "key": "é", "value": "—"}),
                ("web_extractor", {"url": "nowhere"}),
            ):
                over = await client.call_tool(tool, arguments)
                spec = next(spec for spec in world.tools if spec.name == tool)
                own = world.open().answer(Request(spec, arguments, 0, 0))
                assert (over.content[0].text, over.is_error or False) == (own.text, own.is_error)
                assert over.structured_content == own.content
            bad = await client.call_tool("web_extractor", {"link": QUAY})
            assert bad.is_error and "Invalid arguments for tool web_extractor" in bad.content[0].text


# Perturbations

CALLS: list[tuple[str, dict[str, object]]] = [
    ("web_search", {"query": "harbour berths ferry passengers"}),
    ("web_search", {"queries": ["Brine Heron", "Dranhollow"]}),
    ("web_extractor", {"url": QUAY}),
    ("web_extractor", {"url": "https://wiki.isles.example/copper-tern"}),
    ("dict_memory", {"operation": "add", "key": "a", "value": "1 of 25"}),
    ("web_extractor", {"url": "https://gazette.isles.test/season/velmora-quay"}),
    ("web_search", {"query": "harbour berths ferry passengers"}),
    ("web_extractor", {"url": QUAY}),
]
KNOBS: dict[str, dict[str, object]] = {
    "dropped_tool": {"tools": ["dict_memory"]},
    "schema_drift": {"rename": {"results": "items"}},
    "argument_drift": {"rename": {"query": "q"}},
    "risky_state": {"sql": ["insert into memory values ('x', 'y')"]},
    "contrastive_state": {"sql": ["insert into memory values ('x', 'y')"]},
    "stale_read": {"hours": 24 * 40},
    "redirect": {"share": 1},
    "paywall": {"share": 1},
}
BENDS_NO_SEARCH = {
    "latency": "only time goes by",
    "partial_update": "a note is one statement",
    "unit_drift": "pages are prose: their figures stand under no field",
    "name_collision": "the tools that are offered",
    "misleading_annotation": "the tools that are offered",
    "tool_poisoning": "the tools that are offered",
    "distractor_tools": "the tools that are offered",
    "paraphrased_docs": "the tools that are offered",
    "noisy_request": "the task",
    "renamed_tools": "these calls use the old names",
    "dropped_tool": "these calls use the tools that are left, and the one that is gone",
    "resource_exhausted": "notes",
    "false_success": "notes",
    "delayed_visibility": "notes",
    "duplicate_delivery": "notes",
    "read_only_disk": "a machine",
    "stale_refs": "pages of an app",
    "port_taken": "a machine",
    "clock_skew": "a machine",
    "flaky_test": "a machine",
    **dict.fromkeys(("index_lock", "stale_checkout", "formatter", "misleading_comment"), "a machine"),
    **dict.fromkeys(
        (
            "captcha",
            "changed_buttons",
            "cookie_wall",
            "dark_pattern",
            "error_page",
            "lost_submit",
            "popup",
            "session_ended",
        ),
        "the pages of an app",
    ),
}


async def bent(folder: Path, name: str) -> list[bool]:
    """For each of the calls, whether the perturbation bends what it is told; all replies fit the schemas that are offered."""
    use = {"use": name, "with": KNOBS.get(name, {}), "protocol": True}
    played = scenario(folder, f"perturbations: [{json.dumps(use)}]\n")
    episode = next(iter(paradigm_of(played).episodes(played, seed=1, attempts=1)))
    async with paradigm_of(played).open(episode) as environment:
        for number, (tool, arguments) in enumerate(CALLS):
            environment.begin_turn()
            await environment.step(Action(str(number), tool, dict(arguments)))
        steps, tools = list(environment.steps), {tool.name: tool for tool in environment.tools}
    for step in steps:
        schema = tools[step.action.tool].output_schema if step.action.tool in tools else None
        if schema is not None and not step.observation.is_error:
            validator(schema).validate(step.observation.content)
    return [any(event.clean != event.perturbed for event in step.events) for step in steps]


@pytest.mark.parametrize("name", sorted(SHIPPED))
async def test_every_perturbation_works_over_a_search_world(tmp_path: Path, name: str) -> None:
    found = await bent(tmp_path, name)
    reads = [was for was, (tool, _) in zip(found, CALLS, strict=True) if tool != "dict_memory"]
    assert any(reads) is (name not in BENDS_NO_SEARCH)


async def observations(
    folder: Path, use: dict[str, object], *calls: tuple[str, dict[str, object]]
) -> list[Observation]:
    """What an agent is told under one perturbation."""
    played = scenario(folder, f"perturbations: [{json.dumps(use)}]\n")
    episode = next(iter(paradigm_of(played).episodes(played, seed=1, attempts=1)))
    async with paradigm_of(played).open(episode) as environment:
        return [await environment.step(Action(str(number), *call)) for number, call in enumerate(calls)]


async def test_a_rate_limit_speaks_as_a_web_service_does(tmp_path: Path) -> None:
    (said,) = await observations(tmp_path, {"use": "rate_limit", "with": {"retry_after": 5}}, CALLS[0])
    assert said.is_error and "429" in said.text and "5" in said.text


async def test_a_link_dies_until_a_search_shows_the_page_again(tmp_path: Path) -> None:
    use: dict[str, object] = {"use": "not_found", "when": {"tools": "web_extractor", "nth": 1}}
    page: tuple[str, dict[str, object]] = ("web_extractor", {"url": QUAY})
    lost, again, found, back = await observations(
        tmp_path, use, page, page, ("web_search", {"query": "Velmora Quay harbour"}), page
    )
    assert lost.is_error and lost.text == f"Could not open {QUAY}: 404 Not Found" and again == lost
    assert QUAY in found.text and "Isra Tolbane" in back.text


async def test_a_stale_index_lacks_the_youngest_pages(tmp_path: Path) -> None:
    use: dict[str, object] = {"use": "stale_read", "with": {"hours": 24 * 40}}
    old, news = await observations(
        tmp_path, use, ("web_search", {"query": "quiet season"}), ("web_extractor", {"url": QUAY})
    )
    assert old.content is not None and not any("gazette" in item["url"] for item in old.content["results"])
    assert "Isra Tolbane" in news.text


async def test_sites_disagree_about_one_kind_of_figure_and_stick_to_it(tmp_path: Path) -> None:
    use: dict[str, object] = {"use": "source_conflict", "when": {"nth": 1}}
    gazette = QUAY.replace("ports.isles.example/ports", "gazette.isles.test/season")
    hollow = QUAY.replace("velmora-quay", "dranhollow")
    official, press, other, again = await observations(
        tmp_path, use, *(("web_extractor", {"url": url}) for url in (QUAY, gazette, hollow, QUAY))
    )
    assert "12 berths" not in official.text and "12 berths" in press.text
    assert "7 berths" not in other.text and again.text == official.text
    assert official.content is not None and official.content["content"] in official.text


async def test_fewer_results_are_fewer_in_the_text_too(tmp_path: Path) -> None:
    (fewer,) = await observations(tmp_path, {"use": "partial_results"}, CALLS[0])
    (clean,) = await observations(tmp_path, {"use": "latency"}, CALLS[0])
    assert fewer.content is not None and clean.content is not None
    shown = [item["url"] for item in fewer.content["results"]]
    assert len(shown) < len(clean.content["results"]) and fewer.text.count("](https://") == len(shown)
    assert f"found {len(shown)} results" in fewer.text


async def test_a_forced_page_of_results_tells_its_cursor(tmp_path: Path) -> None:
    use: dict[str, object] = {"use": "forced_pagination", "with": {"page_size": 2}}
    (first,) = await observations(tmp_path, use, CALLS[0])
    assert first.content is not None and len(first.content["results"]) == 2
    assert f"next_cursor: {first.content['next_cursor']}" in first.text


# The command line

KESTREL = """\
name: kestrel
domain: search
world: {use: kestrel_reach, with: {snippets: full, results: 5}}
prompt: In which sector is {{ station }}?
cases: {sql: select name as station from station order by id, sample: 3}
reference:
  steps:
    - {call: web_search, with: {query: "{{ station }} sector"}, as: found}
    - {call: web_extractor, with: {url: "{{ found.results[0].url }}"}, as: page}
    - {call: dict_memory, with: {operation: add, key: page, value: "{{ page.title }}"}}
  answer: "{{ page.title }}"
rubric: [{use: tool_use, with: {require: [web_search, web_extractor], max_errors: 0}}]
"""


@pytest.fixture(scope="module")
def kestrel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kestrel")
    (folder / "kestrel.yaml").write_text(KESTREL)
    return folder


def simtrain(folder: Path, *words: str) -> str:
    """What the command prints."""
    environment = {**os.environ, "SIMTRAIN_CACHE": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, "-m", "simtrain", *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_built_world_is_run_straight_and_over_mcp_with_the_same_bytes(kestrel: Path) -> None:
    simtrain(kestrel, "run", "kestrel.yaml", "--out", "straight", "--json")
    simtrain(kestrel, "run", "kestrel.yaml", "--via", "mcp", "--out", "over", "--json")
    straight, over = (
        sorted(to_line(replace(row, timing={})) for row in read_run(kestrel / name)) for name in ("straight", "over")
    )
    assert len(straight) == 3 and straight == over
    assert all(row.reward == 1.0 for row in read_run(kestrel / "straight"))


async def test_a_built_world_is_served_on_standard_streams(kestrel: Path) -> None:
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "simtrain", "serve", "kestrel_reach", "--stdio"],
        env={**os.environ, "SIMTRAIN_CACHE": str(kestrel / "cache")},
        cwd=kestrel,
    )
    async with Client(server) as client:
        assert [tool.name for tool in (await client.list_tools()).tools][:2] == ["web_search", "web_extractor"]
        found = (await client.call_tool("web_search", {"query": "stations of a sector"})).structured_content
        assert found is not None and len(found["results"]) == 10
        page = await client.call_tool("web_extractor", {"url": found["results"][0]["url"]})
        assert page.structured_content is not None and len(page.structured_content["content"]) > 300
