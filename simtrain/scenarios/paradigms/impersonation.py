"""Impersonation: the world takes the place of the servers that an agent would really call."""

from collections.abc import Iterable, Mapping
from functools import lru_cache

from simtrain.contracts.domain import Domain
from simtrain.contracts.environment import Environment
from simtrain.contracts.paradigm import Paradigm
from simtrain.contracts.plan import Plan
from simtrain.contracts.registry import resolve
from simtrain.contracts.scenario import Episode, Scenario
from simtrain.contracts.tool_globs import matches
from simtrain.contracts.user import ASKING
from simtrain.contracts.world import Variant, World
from simtrain.episodes.proxy import Proxy
from simtrain.episodes.toolbox import Toolbox
from simtrain.scenarios.beginning import world_of
from simtrain.scenarios.cases import cases_of
from simtrain.scenarios.repository_tasks import reference_of, wrong_of


class Impersonation(Paradigm):
    """Every case of a scenario is an episode; the world, behind the proxy, answers as the real servers would."""

    def episodes(self, scenario: Scenario, *, seed: int, attempts: int) -> Iterable[Episode]:
        """Return the episodes: cases first, then variants of the world, then attempts; over named seeds a case of each world in turn.

        Raises InputError for impossible cases.
        """
        cases = [
            (index, f"c{index:04d}{suffix}", case, variant)
            for suffix, variant in scenario.variants
            for index, case in enumerate(cases_of(scenario, variant, seed))
        ]
        if scenario.seeds:
            # A stable sort: the worlds keep their order within a case.
            cases.sort(key=lambda item: item[0])
        for attempt in range(attempts):
            for _, name, case, variant in cases:
                yield Episode(scenario, name, case, variant, seed, attempt)

    def open(self, episode: Episode, *, world: World | None = None) -> Environment:
        """Return the proxy over a fresh state of the episode's world."""
        toolbox, routes, domain = _offer(episode.scenario.unarmed or episode.scenario, episode.variant)
        return Proxy(
            episode,
            world or world_of(episode),
            toolbox=toolbox,
            routes=routes,
            domain=domain,
        )

    def reference(self, episode: Episode) -> Plan | None:
        """Return the scenario's own plan, else the reference patch of a task, edit by edit."""
        own = super().reference(episode)
        if own is not None or episode.scenario.spec.cases.tasks is None:
            return own
        return reference_of(episode, world_of(episode))

    def wrong(self, episode: Episode) -> Plan | None:
        """Return the scenario's own wrong plan, else the pretence of a repair for a task."""
        own = super().wrong(episode)
        if own is not None or episode.scenario.spec.cases.tasks is None:
            return own
        return wrong_of(episode, world_of(episode))


@lru_cache(maxsize=256)
def _offer(scenario: Scenario, variant: Variant) -> tuple[Toolbox, Mapping[str, tuple[int, ...]], Domain]:
    """Return what all episodes of a scenario in one variant of its world share."""
    world = scenario.source.build(variant)
    tools = tuple(tool for tool in world.tools if matches(tool.name, tuple(scenario.spec.tools)))
    routes = {
        tool.name: tuple(
            place for place, answering in enumerate(scenario.answering) if matches(tool.name, answering.tools)
        )
        for tool in tools
    }
    users = (ASKING,) if scenario.spec.user else ()
    toolbox = Toolbox((*tools, *users), style=lambda tool: world.errors_of(tool).arguments)
    return toolbox, routes, resolve("domains", scenario.spec.domain)()
