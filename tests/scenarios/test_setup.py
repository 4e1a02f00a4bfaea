"""What `setup` does to the world before an episode begins: for its own case alone, unseen by graders as a change, and checked at load."""

import asyncio
import re
from pathlib import Path

import pytest
from bakery import scenario

from simtrain import rollout
from simtrain.agents.select import build_agent
from simtrain.public import episode
from simtrain.runs.regrade import finished_world
from simtrain.scenarios.beginning import world_of
from simtrain.values.errors import InputError

SETUP = 'setup: ["update cakes set stock = stock + length(:cake) where name = :cake", "update cakes set price = 1 where name = :cake"]\n'


def test_an_episode_begins_in_the_world_that_its_case_was_set_up_in(tmp_path: Path) -> None:
    found = scenario(tmp_path, more=SETUP)
    plain = found.source.build()
    for case in (0, 1):
        one = episode(found, case=case)
        name = {"cake": one.case["cake"]}
        begun = world_of(one)
        query = "select stock, price from cakes where name = :cake"
        assert begun.query(query, name)[0]["stock"] - plain.query(query, name)[0]["stock"] == len(one.case["cake"])
        others = "select * from cakes where name <> :cake order by id"
        assert begun.query(others, name) == plain.query(others, name)
        assert world_of(one) is begun


def test_what_was_set_up_is_no_change_and_is_there_again_when_a_run_is_graded_later(tmp_path: Path) -> None:
    found = scenario(tmp_path, more=SETUP)
    trajectory = asyncio.run(rollout(episode(found), build_agent("oracle")))
    assert trajectory.reward == 1.0
    assert all(
        change.before is None or change.before.get("price") in (None, 1) for change in trajectory.changes["cakes"]
    )
    again = finished_world(trajectory, found)
    assert again.final.query("select price from cakes where name = :cake", dict(trajectory.case)) == [{"price": 1}]


def test_a_statement_that_fails_is_refused_at_load_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=re.escape("setup[1]: the SQL fails: no such table: pies")):
        scenario(tmp_path, more='setup: ["delete from orders", "delete from pies"]\n')
