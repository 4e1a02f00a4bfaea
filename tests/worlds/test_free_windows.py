"""The shipped handler: free windows of several people."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from simtrain.contracts.request import Request
from simtrain.files.yaml_files import parse_document
from simtrain.values.types import JsonObject, Observation
from simtrain.worlds.service.source import ServiceSource

WORLD = """\
kind: service
name: diary
schema: |
  create table people (id text primary key);
  create table busy (person_id text, starts_at text, ends_at text);
rows:
  people: [{id: P1}, {id: P2}]
tools:
  - {name: t.free, description: d, input: {person_ids: {type: array}, day: string}, handler: free_windows}
"""
BUILT = ServiceSource.load(parse_document(WORLD, Path("diary.yaml"))).build()


def free(*busy: tuple[str, str, str], people: tuple[str, ...] = ("P1", "P2")) -> Observation:
    state = BUILT.open()
    for person, starts, ends in busy:
        state.execute("insert into busy values (:p, :s, :e)", {"p": person, "s": starts, "e": ends})
    return state.answer(Request(BUILT.tools[0], {"person_ids": list(people), "day": "2031-03-05"}, 0, 0))


def windows(observation: Observation) -> list[JsonObject]:
    assert observation.content is not None, observation.text
    return observation.content["windows"]


def at(minutes: int) -> str:
    return f"2031-03-05T{minutes // 60:02}:{minutes % 60:02}:00Z"


def test_an_empty_day_is_one_window() -> None:
    assert windows(free()) == [{"from": "09:00", "to": "17:00", "minutes": 480}]


def test_overlapping_events_and_events_over_midnight_are_joined() -> None:
    busy = [("P1", "2031-03-04T22:00:00Z", at(570)), ("P2", at(560), at(600)), ("P1", at(1000), "2031-03-06T02:00:00Z")]
    assert windows(free(*busy)) == [{"from": "10:00", "to": "16:40", "minutes": 400}]


def test_a_person_that_is_not_there_is_refused() -> None:
    observation = free(people=("P1", "P9"))
    assert observation.is_error and observation.text == "There is no person P9."


@given(st.lists(st.tuples(st.sampled_from(["P1", "P2"]), st.integers(0, 1438), st.integers(1, 200))))
def test_every_minute_of_the_day_is_free_exactly_when_nobody_is_busy(events: list[tuple[str, int, int]]) -> None:
    busy = [(person, begins, min(begins + length, 1439)) for person, begins, length in events]
    found = windows(free(*((person, at(begins), at(ends)) for person, begins, ends in busy)))
    free_minutes = {minute for window in found for minute in range(_minute(window["from"]), _minute(window["to"]))}
    assert free_minutes == {
        minute for minute in range(540, 1020) if not any(begins <= minute < ends for _, begins, ends in busy)
    }


def _minute(clock: str) -> int:
    return int(clock[:2]) * 60 + int(clock[3:])
