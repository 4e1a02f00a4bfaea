"""The plug-in for pytest: fixtures that serve episodes, play agents and drill them; a failed test shows its worst episodes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

import pytest

# Everything else is imported in the fixtures: pytest loads this file at every start.
if TYPE_CHECKING:
    from simtrain.testing.drilling import DrillRunner, Figure
    from simtrain.testing.playing import EpisodePlayer
    from simtrain.testing.serving import EpisodeServer


class ReportSource(Protocol):
    """What a fixture leaves for the report of a failed test."""

    def sections(self, failed: Sequence[Figure]) -> Iterator[tuple[str, str]]:
        """Yield titles and texts; `failed` are the figures that failed an assertion."""
        ...


_TELLING: pytest.StashKey[list[ReportSource]] = pytest.StashKey()
_FAILED: pytest.StashKey[list[Figure]] = pytest.StashKey()


@pytest.fixture
def simtrain_serve(request: pytest.FixtureRequest) -> Iterator[EpisodeServer]:
    """Serve episodes over MCP: `simtrain_serve("helpdesk/refund", case=3).url`; `.finish("ANSWER: 12.50")` returns the graded
    trajectory. Takes a scenario or world by name or file.
    """
    from simtrain.testing.serving import EpisodeServer

    with EpisodeServer(_telling(request)) as server:
        yield server


@pytest.fixture
def simtrain_play(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> EpisodePlayer:
    """Play an agent: `simtrain_play("helpdesk/refund", agent, episodes=5)` returns graded trajectories."""
    from simtrain.testing.playing import EpisodePlayer

    return EpisodePlayer(_telling(request), _folders(tmp_path_factory))


@pytest.fixture
def simtrain_drill(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> DrillRunner:
    """Drill an agent: `simtrain_drill("helpdesk/refund", agent, packs=["uncertain_writes"], cases=5).success`."""
    from simtrain.testing.drilling import DrillRunner

    return DrillRunner(_telling(request), _folders(tmp_path_factory))


def _telling(request: pytest.FixtureRequest) -> list[ReportSource]:
    return request.node.stash.setdefault(_TELLING, [])


def _folders(factory: pytest.TempPathFactory) -> Callable[[str], object]:
    # A folder that is not there yet: a run folder must be new.
    return lambda name: factory.mktemp(f"simtrain-{name}") / name


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Forget the figures of the test before."""
    item.config.stash[_FAILED] = []


def pytest_assertrepr_compare(config: pytest.Config, op: str, left: object, right: object) -> list[str] | None:
    """Explain a comparison with a figure of a drill; all other comparisons are left to pytest."""
    # By name first, since the class must not be imported for comparisons of other values.
    found = [side for side in (left, right) if type(side).__name__ == "Figure" and hasattr(side, "explanation")]
    if not found:
        return None
    figures: list[Figure] = found  # pyright: ignore[reportAssignmentType]
    config.stash.setdefault(_FAILED, []).extend(figures)
    return [f"{left!r} {op} {right!r}", *(line for figure in figures for line in figure.explanation())]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the worst episodes to the report of a failed test."""
    report = yield
    if report.failed and report.when == "call":
        failed = item.config.stash.setdefault(_FAILED, [])
        for telling in item.stash.setdefault(_TELLING, []):
            report.sections.extend(_sections(telling, failed))
    return report


def _sections(telling: ReportSource, failed: Sequence[Figure]) -> list[tuple[str, str]]:
    try:
        return list(telling.sections(failed))
    # The report of the failure itself must come through, whatever has become of a run folder.
    except Exception as error:
        return [("simtrain", f"no episode can be shown: {error}")]
