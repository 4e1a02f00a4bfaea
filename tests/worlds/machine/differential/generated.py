"""The generated half: the same lines in every run, drawn from the strategies by a fixed seed."""

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.worlds.machine.differential.entries import Entry
from tests.worlds.machine.differential.strategies import lines

SEED = 16
"""The seed of the lines; another one makes others."""


def generated(count: int) -> list[Entry]:
    """Return so many different lines."""
    found: dict[str, None] = {}

    @seed(SEED)
    @settings(
        max_examples=count * 2,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )
    @given(lines)
    def draw(line: str) -> None:
        found[line] = None

    draw()
    return [Entry("generated", line) for line in list(found)[:count]]
