"""A watchdog looks while something is under way, and its thread ends after that."""

import threading
import time

from simtrain.values.watchdog import Watchdog


def test_it_looks_while_something_is_under_way_and_begins_again_when_asked() -> None:
    looks: list[float] = []
    under_way = threading.Event()
    dog = Watchdog(
        lambda: looks.append(time.monotonic()) is None and under_way.is_set(), name="dog", every=0.01, patience=3
    )
    for _ in range(2):
        looks.clear()
        under_way.set()
        dog.start()
        dog.start()
        _wait(lambda: len(looks) >= 5)
        assert [one.name for one in threading.enumerate()].count("dog") == 1
        under_way.clear()
        _wait(lambda: not dog.runs)
        _wait(lambda: "dog" not in [one.name for one in threading.enumerate()])


def test_what_begins_while_it_ends_is_seen() -> None:
    """The last look finds something: a thread runs again."""
    answers = [False, False, True, True, False, False, False]
    seen: list[bool] = []

    def look() -> bool:
        seen.append(answers[len(seen)] if len(seen) < len(answers) else False)
        return seen[-1]

    dog = Watchdog(look, name="another dog", every=0.001, patience=2)
    dog.start()
    _wait(lambda: not dog.runs and len(seen) >= 7)
    assert seen[:4] == answers[:4]


def _wait(fits: object) -> None:
    assert callable(fits)
    until = time.monotonic() + 20
    while not fits():
        assert time.monotonic() < until
        time.sleep(0.005)
