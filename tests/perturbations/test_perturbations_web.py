"""Pages that have moved and pages behind a paywall: what an agent reads, that it reads the same again, and that there are ways around."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from small_web import SmallSource, write_small_web

from simtrain import load_scenario, open_episode
from simtrain.agents.select import build_agent
from simtrain.contracts.perturbation import Perturbation
from simtrain.contracts.registry import resolve
from simtrain.contracts.scenario import Episode, ScenarioSpec
from simtrain.contracts.trajectory import Step
from simtrain.drills.plan import plan_drill
from simtrain.episodes.proxy import Proxy
from simtrain.files.yaml_files import parse_document
from simtrain.perturbations.addresses import key_of, opens_pages
from simtrain.perturbations.paywall import Paywall
from simtrain.perturbations.redirect import Redirect
from simtrain.runs.rollout import rollout
from simtrain.runs.solvability.search import solve
from simtrain.scenarios.load import assemble, paradigm_of
from simtrain.values.types import Action, Observation, ToolSpec
from simtrain.worlds.search.engine.page_opening import PAYWALL

pytestmark = pytest.mark.slow

Asked: TypeAlias = tuple[str, dict[str, Any]]

SITE = "https://ports.isles.example"
QUAY, HOLLOW, PELL, PORTS = (
    f"{SITE}/ports/velmora-quay", f"{SITE}/ports/dranhollow", f"{SITE}/ports/pell-harbour", f"{SITE}/ports"
)  # fmt: skip
NEWS = "https://gazette.isles.test/season/velmora-quay"
TOLD = "The harbourmaster is Isra Tolbane."
ALL: dict[str, Any] = {"share": 1}


def opened(url: str, **more: Any) -> Asked:
    return "web_extractor", {"url": url, **more}


async def steps(
    folder: Path, use: dict[str, Any], *calls: Asked, world: dict[str, Any] | None = None
) -> tuple[list[Step], tuple[ToolSpec, ...]]:
    """The steps of an episode over the small web under one perturbation, and the tools that were shown."""
    file = folder / "small_web.world"
    text = (
        f"name: visits\ndomain: search\nworld: {{use: small_web, with: {json.dumps(world or {})}}}\nprompt: Go.\n"
        f"rubric: [{{use: answer, with: {{sql: \"select 'done'\"}}}}]\nperturbations: [{json.dumps(use)}]\n"
    )
    document = parse_document(text, folder / "visits.yaml")
    spec = document.parse(ScenarioSpec)
    source = SmallSource(file if file.is_file() else write_small_web(file))
    played = assemble(document, spec, "visits", source=source.configured(document, spec.world.knobs, ("world", "with")))
    episode = next(iter(paradigm_of(played).episodes(played, seed=1, attempts=1)))
    async with paradigm_of(played).open(episode) as environment:
        assert isinstance(environment, Proxy)
        for number, (tool, arguments) in enumerate(calls):
            await environment.step(Action(str(number), tool, dict(arguments)))
        return list(environment.steps), environment.tools


async def told(
    folder: Path, use: dict[str, Any], *calls: Asked, world: dict[str, Any] | None = None
) -> list[Observation]:
    return [step.observation for step in (await steps(folder, use, *calls, world=world))[0]]


def onward(said: Observation) -> str:
    """The address that a redirect names."""
    assert said.is_error and "301" in said.text, said.text
    return said.text.partition(" now at ")[2].split('"')[0].rstrip("}] ")


async def chain(folder: Path, knobs: dict[str, Any], url: str) -> list[str]:
    """The addresses at which one arrives who follows, up to the page."""
    found = [url]
    while True:
        replies = await told(folder, {"use": "redirect", "with": {**ALL, **knobs}}, *map(opened, found))
        if not replies[-1].is_error:
            return found
        found.append(onward(replies[-1]))


# Redirects


@pytest.mark.parametrize("hops", [1, 2, 4])
async def test_a_page_that_has_moved_is_reached_by_following_as_often_as_it_says(hops: int, tmp_path: Path) -> None:
    visited = await chain(tmp_path, {"hops": hops}, QUAY)
    assert len(visited) == hops + 1 == len(set(visited))
    assert all(url.startswith(f"{SITE}/") and url.endswith("/ports/velmora-quay") for url in visited)
    replies = await told(tmp_path, {"use": "redirect", "with": {**ALL, "hops": hops}}, *map(opened, visited))
    (clean,) = await told(tmp_path, {"use": "latency"}, opened(QUAY))
    assert replies[-1].content == clean.content and replies[-1].text == clean.text


async def test_the_harder_it_hits_the_more_often_a_page_has_moved(tmp_path: Path) -> None:
    lengths = [len(await chain(tmp_path, {"severity": severity}, QUAY)) for severity in (0, 0.5, 1)]
    assert lengths == [2, 3, 4]


async def test_a_moved_page_says_the_same_again_however_its_address_is_written(tmp_path: Path) -> None:
    spellings = (
        QUAY,
        QUAY,
        f"{QUAY}/",
        QUAY.replace("https", "http"),
        QUAY.replace("https://", "www."),
        f"{QUAY}#berths",
    )
    said = await told(tmp_path, {"use": "redirect", "with": ALL, "when": {"nth": 1}}, *map(opened, spellings))
    assert len({key_of(onward(one)) for one in said}) == 1


async def test_what_was_read_before_stays_where_it_is(tmp_path: Path) -> None:
    use = {"use": "redirect", "with": ALL, "when": {"nth": [2, 3]}}
    first, again, other = await told(tmp_path, use, opened(QUAY), opened(QUAY), opened(HOLLOW))
    assert TOLD in first.text and again == first and onward(other)


@pytest.mark.parametrize("name", ["redirect", "paywall"])
async def test_which_pages_are_hit_depends_on_their_addresses_and_not_on_the_order(name: str, tmp_path: Path) -> None:
    urls = [
        QUAY,
        HOLLOW,
        PELL,
        PORTS,
        NEWS,
        "https://wiki.isles.example/brine-heron",
        "https://wiki.isles.example/copper-tern",
    ]

    async def hit(order: Sequence[str], share: float) -> set[str]:
        found, _ = await steps(tmp_path, {"use": name, "with": {"share": share}}, *map(opened, order))
        return {url for url, step in zip(order, found, strict=True) if step.events}

    shares = [await hit(urls, share) for share in (0, 0.3, 0.6, 1)]
    assert [await hit(urls[::-1], share) for share in (0, 0.3, 0.6, 1)] == shares
    assert not shares[0] and shares[-1] == set(urls) and all(fewer <= more for fewer, more in pairwise(shares))
    assert 0 < len(shares[1]) + len(shares[2]) < 2 * len(urls)


@pytest.mark.parametrize(("leads", "where"), [("home", f"{SITE}/"), ("other", PORTS)])
async def test_redirects_may_lead_to_the_wrong_page(leads: str, where: str, tmp_path: Path) -> None:
    use = {"use": "redirect", "with": {**ALL, "hops": 1, "leads": leads}, "when": {"nth": 1}}
    moved, there = await told(tmp_path, use, opened(QUAY), opened(where))
    assert onward(moved) == where and TOLD not in there.text
    assert there.is_error is (leads == "home"), "the small web has no home pages"


@pytest.mark.parametrize("name", ["redirect", "paywall"])
async def test_what_cannot_be_opened_anyway_and_what_opens_no_page_passes(name: str, tmp_path: Path) -> None:
    calls = [
        opened(f"{SITE}/nowhere"), opened("not a page"), ("web_search", {"query": QUAY}),
        ("dict_memory", {"operation": "add", "key": "url", "value": QUAY}),
    ]  # fmt: skip
    found, _ = await steps(tmp_path, {"use": name, "with": ALL}, *calls)
    assert not any(step.events for step in found)
    assert [step.observation.is_error for step in found] == [True, True, False, False]


async def test_the_trigger_counts_visits_only(tmp_path: Path) -> None:
    use = {"use": "redirect", "with": ALL, "when": {"nth": 2}}
    calls = [("web_search", {"query": "quay"}), ("web_search", {"query": "berths"}), opened(QUAY), opened(HOLLOW)]
    found, _ = await steps(tmp_path, use, *calls)
    assert [len(step.events) for step in found] == [0, 0, 0, 1] and found[-1].events[0].matching == 2


async def test_an_error_at_the_new_address_names_that_address(tmp_path: Path) -> None:
    visited = await chain(tmp_path, {"hops": 1}, QUAY)
    more = {"use": "redirect", "with": {**ALL, "hops": 1}}
    moved, part = await told(tmp_path, more, opened(QUAY), opened(visited[-1], page=7))
    assert onward(moved) == visited[-1] and part.is_error and visited[-1] in part.text


async def test_a_tool_that_opens_several_pages_has_those_that_moved_among_its_failures(tmp_path: Path) -> None:
    use = {"use": "redirect", "with": {**ALL, "hops": 1}, "when": {"nth": 1}}
    calls = [("tavily_extract", {"urls": [QUAY, "https://x.test/a"]}), ("tavily_extract", {"urls": [QUAY, NEWS]})]
    first, second = await told(tmp_path, use, *calls, world={"tools": ["tavily"]})
    assert first.content is not None and second.content is not None
    assert first.content["results"] == [] and [one["url"] for one in first.content["failed_results"]] == [
        "https://x.test/a",
        QUAY,
    ]
    assert "301 Moved Permanently" in first.content["failed_results"][1]["error"] and "Failed: " + QUAY in first.text
    assert [one["url"] for one in second.content["results"]] == [NEWS]
    (none,) = await told(tmp_path, use, ("tavily_extract", {"urls": ["https://x.test/a"]}), world={"tools": ["tavily"]})
    assert (
        none.content is not None
        and [one["error"] for one in none.content["failed_results"]] != []
        and "301" not in none.text
    )
    new = first.content["failed_results"][1]["error"].rpartition(" ")[2]
    *_, there = await told(tmp_path, use, calls[0], ("tavily_extract", {"urls": [new]}), world={"tools": ["tavily"]})
    assert TOLD in there.text


async def test_a_site_that_moved_its_pages_itself_can_be_redirected_as_well(tmp_path: Path) -> None:
    world = {"sites": {"authority": {"moved": 1}}}
    use = {"use": "redirect", "with": {**ALL, "hops": 1}}
    (moved,) = await told(tmp_path, use, opened(QUAY), world=world)
    _, there = await told(tmp_path, use, opened(QUAY), opened(onward(moved)), world=world)
    assert TOLD in there.text and f"{SITE}/archive/ports/velmora-quay" in there.text


# Paywalls


async def test_behind_a_paywall_is_the_beginning_and_the_notice_every_time(tmp_path: Path) -> None:
    use = {"use": "paywall", "with": {**ALL, "cached": False}, "when": {"nth": 1}}
    first, again, other = await told(tmp_path, use, opened(QUAY), opened(f"{QUAY}/"), opened(HOLLOW))
    assert first.content is not None and first.content["content"] == f"# Velmora Quay\n\n{PAYWALL}"
    assert again == first and first.text.endswith(first.content["content"]) and "Oswin Karvel" in other.text


@pytest.mark.parametrize("more", [{"goal": "the harbourmaster of the harbour"}, {"goal": "berths", "page": 1}])
async def test_nothing_that_is_asked_for_comes_from_behind_the_wall(more: dict[str, Any], tmp_path: Path) -> None:
    world = {"page_words": 50}
    (said,) = await told(tmp_path, {"use": "paywall", "with": ALL}, opened(QUAY, **more), world=world)
    assert TOLD not in said.text and "berths" not in said.text and said.text.endswith(PAYWALL)


async def test_later_parts_of_a_page_are_behind_the_wall_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "parts.yaml").write_text(
        "name: parts\ndomain: search\nworld: {use: kestrel_reach, with: {page_words: 50}}\nprompt: Go.\n"
        f"rubric: [{{use: answer, with: {{sql: \"select 'done'\"}}}}]\nperturbations: [{json.dumps({'use': 'paywall', 'with': ALL})}]\n"
    )
    async with open_episode(load_scenario(tmp_path / "parts.yaml")) as environment:
        parts = [
            await environment.step(
                Action(str(part), "web_extractor", {"url": "https://registry.kestrel.example/", "page": part})
            )
            for part in (1, 2, 3)
        ]
    texts = [str(part.content["content"]) for part in parts if part.content is not None]
    assert len(texts[0]) > len(PAYWALL) and texts[1:] == [PAYWALL, PAYWALL]


async def test_copies_that_the_search_engine_keeps_are_whole(tmp_path: Path) -> None:
    use = {"use": "paywall", "with": ALL}
    found, tools = await steps(tmp_path, use, opened(QUAY), ("web_extractor_cached", {"url": QUAY}), opened(QUAY))
    cut, copy, again = (step.observation for step in found)
    assert TOLD in copy.text and again == cut and not found[1].events
    names = [tool.name for tool in tools]
    assert names == ["web_search", "web_extractor", "dict_memory", "web_extractor_cached"]
    assert tools[-1].description.startswith(tools[1].description)
    _, without = await steps(tmp_path, {"use": "paywall", "with": {**ALL, "severity": 1}})
    assert [tool.name for tool in without] == names[:-1]


async def test_a_meter_lets_so_many_pages_of_a_site_through_and_begins_anew(tmp_path: Path) -> None:
    use = {"use": "paywall", "with": {**ALL, "free": 2, "resets": 130}}
    visits = [QUAY, HOLLOW, PELL, QUAY, NEWS, PELL, PELL, PELL]
    said = await told(tmp_path, use, *map(opened, visits))
    walled = [one.text.rpartition("\n")[2].startswith("*You have read the 2 free pages") for one in said]
    assert walled == [False, False, True, False, False, True, True, False]
    assert "come back in 90 seconds" in said[2].text and "come back in 30 seconds" in said[5].text


def test_a_meter_that_lets_nothing_through_is_refused() -> None:
    with pytest.raises(ValueError, match="`resets` needs `free`"):
        Paywall(resets=60)


@pytest.mark.parametrize("toolset", ["widesearch", "serper", "tavily", "brave", "mcp"])
async def test_every_toolset_has_its_walls_and_its_copies(toolset: str, tmp_path: Path) -> None:
    visit: dict[str, Asked] = {
        "widesearch": ("text_browser_view", {"url": QUAY, "description": "harbourmaster"}),
        "serper": ("scrape", {"url": QUAY, "includeMarkdown": True}),
        "tavily": ("tavily_extract", {"urls": [NEWS, QUAY], "query": "harbourmaster"}),
        "brave": ("fetch", {"url": QUAY, "max_length": 90}),
        "mcp": ("fetch", {"id": QUAY}),
    }
    tool, arguments = visit[toolset]
    copy = (f"{tool}_cached", arguments)
    walled, whole = await told(
        tmp_path, {"use": "paywall", "with": ALL}, visit[toolset], copy, world={"tools": [toolset]}
    )
    assert "free preview" in walled.text and TOLD not in walled.text and "Isra" not in walled.text
    assert "Velmora Quay" in walled.text
    assert "Isra Tolbane" in whole.text or toolset == "brave"
    if walled.content is not None:
        assert "Isra" not in json.dumps(walled.content)


async def test_a_page_behind_two_walls_has_one_notice(tmp_path: Path) -> None:
    world = {"upkeep": {"paywall": 1}}
    (said,) = await told(tmp_path, {"use": "paywall", "with": ALL}, opened(QUAY), world=world)
    assert said.text.count("free preview") == 1


@pytest.mark.parametrize("plugin", [Redirect, Paywall])
def test_both_say_of_themselves_what_they_are(plugin: type[Perturbation]) -> None:
    assert plugin.traits.side == "reply" and plugin.traits.effect == "after" and plugin.traits.visible
    assert "abstain" in plugin.traits.recoverable_by and resolve("perturbations", plugin.__name__.lower()) is plugin


def test_tools_that_open_pages_are_known_by_what_they_take() -> None:
    def tool(name: str, writes: bool = False, output: dict[str, Any] | None = None) -> ToolSpec:
        return ToolSpec("t", "", {"type": "object", "properties": {name: {"type": "string"}}}, output, writes)

    assert all(opens_pages(tool(name)) for name in ("url", "urls", "pageUrl", "target_uri", "link"))
    assert not any(opens_pages(tool(name)) for name in ("query", "id", "address", "hurl"))
    assert not opens_pages(tool("url", writes=True))
    assert opens_pages(tool("id", output={"properties": {"url": {"type": "string"}}}))


def test_a_drill_leaves_them_out_where_no_tool_opens_pages(tmp_path: Path) -> None:
    trouble = tmp_path / "trouble.yaml"
    uses = [{"use": name} for name in ("latency", "redirect", "paywall")]
    trouble.write_text(json.dumps({"name": "trouble", "perturbations": uses}))
    shop = plan_drill([load_scenario("helpdesk/refund")], packs=[str(trouble)])
    assert [line.reason for line in shop.idle][:2] == [
        f"{name} matches none of its tools" for name in ("redirect", "paywall")
    ]
    assert shop.arms == ("clean", "trouble/latency", "trouble")
    web = plan_drill([load_scenario("fiction/kestrel_lookups")], packs=[str(trouble)])
    assert not web.idle and "trouble/redirect" in web.arms and "trouble/paywall" in web.arms


# Ways around


FAMILY = """\
name: around
paradigm: fiction
world: {{use: kestrel_reach, with: {{snippets: tease}}}}
cases: {{questions: {{count: {count}, compose: [looked_up, joined], hops: [0, 2], rows: [1, 6]}}}}
perturbations: [{perturbation}]
"""


def episodes(folder: Path, perturbation: dict[str, Any], *, count: int = 3) -> list[Episode]:
    """Episodes of questions over a world that ships, under one perturbation; snippets give nothing away."""
    (folder / "around.yaml").write_text(FAMILY.format(count=count, perturbation=json.dumps(perturbation)))
    met = load_scenario(folder / "around.yaml")
    return list(paradigm_of(met).episodes(met, seed=0, attempts=1))


@pytest.mark.parametrize(
    "perturbation",
    [
        {"use": "redirect", "with": ALL},
        {"use": "paywall", "with": ALL},
        {"use": "paywall", "with": {**ALL, "free": 1, "resets": 60, "cached": False}},
    ],
    ids=["redirect", "cached copies", "metered"],
)
async def test_questions_are_still_answered_and_resilient_answers_them(
    perturbation: dict[str, Any], tmp_path: Path
) -> None:
    fired = 0
    for episode in episodes(tmp_path, perturbation):
        solution = await solve(episode)
        assert solution.label == "proved" and solution.trace is not None
        assert (await rollout(episode, build_agent("resilient"), name="resilient")).reward == 1.0
        fired += bool(solution.fired)
    assert fired


async def test_where_every_page_has_become_the_home_page_to_decline_is_right(tmp_path: Path) -> None:
    for episode in episodes(tmp_path, {"use": "redirect", "with": {**ALL, "leads": "home"}}, count=2):
        solution = await solve(episode)
        assert solution.label == "unsolvable" and solution.fired, solution
        declined = await rollout(episode, build_agent("resilient"), name="resilient")
        assert declined.stop.reason == "abstained"


async def test_a_question_is_answered_from_other_pages_where_some_are_closed(tmp_path: Path) -> None:
    """The proof goes around by pages that the plan does not name, after those that it names were tried."""
    around = 0
    for episode in episodes(
        tmp_path, {"use": "paywall", "with": {"share": 0.3, "shown": 0, "cached": False}}, count=24
    ):
        plan, solution = paradigm_of(episode.scenario).reference(episode), await solve(episode)
        assert plan is not None and solution.label in ("proved", "unsolvable"), solution
        if solution.trace is None or not solution.calls:
            continue
        named = [step.arguments["url"] for step in plan.calls() if "url" in step.arguments]
        opened = [call.arguments["url"] for call in solution.trace.calls if "url" in call.arguments]
        around += set(opened) > set(named)
    assert around


@pytest.mark.parametrize("use", ["redirect", "paywall"])
async def test_who_knows_the_question_alone_gets_around_as_well(use: str, tmp_path: Path) -> None:
    answers: list[list[str | None]] = []
    for perturbation in ({"use": use, "with": {"share": 0}}, {"use": use, "with": ALL}):
        played = [
            await rollout(episode, build_agent("search_systematic"), name="systematic")
            for episode in episodes(tmp_path, perturbation, count=4)
        ]
        answers.append([one.answer for one in played])
        assert any(step.events for one in played for step in one.steps) is (perturbation["with"] is ALL)
    assert answers[0] == answers[1] and any(answers[0])
