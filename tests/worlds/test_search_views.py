"""How a search world is met: knobs in world files and scenarios."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_web import SmallSource, write_small_web

from simtrain.contracts.scenario import Scenario, ScenarioSpec
from simtrain.files.yaml_files import parse_document
from simtrain.scenarios.load import assemble
from simtrain.values.errors import InputError

SCENARIO = """\
name: ports
domain: search
world: {world}
prompt: Who is the harbourmaster of Velmora Quay?
rubric: [{{use: answer, with: {{sql: "select harbourmaster from port where name = 'Velmora Quay'"}}}}]
"""


def scenario(folder: Path, world: str) -> Scenario:
    """A scenario over the small world, which it meets as `world` says."""
    document = parse_document(SCENARIO.format(world=world), folder / "ports.yaml")
    spec = document.parse(ScenarioSpec)
    source = SmallSource(write_small_web(folder / "small_web.world"))
    met = source.configured(document, spec.world.knobs, ("world", "with")) if spec.world.knobs else source
    return assemble(document, spec, "ports", source=met)


def test_a_scenario_meets_a_world_with_its_own_knobs(tmp_path: Path) -> None:
    met = scenario(tmp_path, "{use: small_web, with: {results: 3, tools: [serper], upkeep: {paywall: 1}}}")
    world = met.source.build()
    assert [tool.name for tool in world.tools] == ["google_search", "scrape"]
    assert met.spec.world.use == "small_web"


@pytest.mark.parametrize(
    ("knobs", "said"),
    [
        ("{results: 0}", "world.with.results: input should be greater than or equal to 1 (given: 0)"),
        ("{snipets: full}", "world.with.snipets: unknown key 'snipets'; did you mean 'snippets'?"),
        ("{snippets: {tease: 0}}", "the shares of snippets add up to nothing"),
        ("{upkeep: {dead: 0.7, slow: 0.7}}", "the shares of a site's pages add up to more than 1"),
        ("{upkeep: {delay: soon}}", "'soon' is not a duration"),
        ("{tools: [serpar]}", "world.with.tools[0]: unknown toolset 'serpar'; did you mean 'serper'?"),
        ("{tools: [web, web]}", "two tools are called 'web_search'; give one another name with `rename`"),
        ("{tools: [{use: web, rename: {search: {as: x}}}]}", "the toolset 'web' has no tool 'search'; did you mean 'web_search'?"),
        (
            "{tools: [{use: web, rename: {web_search: {arguments: {q: x}}}}]}",
            "web_search has no argument 'q'; known: queries, query",
        ),
        ("{tools: [{use: web, rename: {web_search: {text: '{{'}}}]}", "world.with.tools[0].rename.web_search.text"),
        ("{sites: {wikki: {dead: 1}}}", "world.with.sites: the world 'small_web' has no site 'wikki'; did you mean 'wiki'?"),
    ],
)  # fmt: skip
def test_knobs_that_cannot_be_used_are_refused_with_their_place_in_the_scenario(
    tmp_path: Path, knobs: str, said: str
) -> None:
    with pytest.raises(InputError) as refused:
        scenario(tmp_path, f"{{use: small_web, with: {knobs}}}")
    assert f"{tmp_path / 'ports.yaml'}:3: " in str(refused.value)
    assert said in str(refused.value)


def test_a_service_world_refuses_knobs(tmp_path: Path) -> None:
    from simtrain.scenarios.load import load_scenario_file

    path = tmp_path / "desk.yaml"
    path.write_text(
        "name: desk\nworld: {use: helpdesk, with: {snippets: tease}}\nprompt: Hi\nrubric: [{use: tool_use}]\n"
    )
    with pytest.raises(InputError) as refused:
        load_scenario_file(path, "desk")
    assert str(refused.value).endswith(
        "desk.yaml:2: world.with: a service world has no knobs, such as 'snippets'; write `world: helpdesk`"
    )
