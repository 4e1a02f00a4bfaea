"""Scenarios as environments of TRL's trainers, without a trainer: what its loop does with them is done here by hand."""

from __future__ import annotations

import inspect
import logging
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from gate import GATE, calling, replied, row, said

from simtrain import Sessions
from simtrain.contracts.trajectory import Reward, Stop, Trajectory
from simtrain.integrations.trl import EnvironmentFactory, environment_factory, episode_reward
from simtrain.integrations.trl.environments import environment_class, held_by
from simtrain.integrations.trl.rewards import rewards_of
from simtrain.integrations.trl.tasks import episode_of, task_rows
from simtrain.values import extras
from simtrain.values.errors import InputError


def opened(case: int = 0, **columns: Any) -> Any:
    environment = EnvironmentFactory(GATE)()
    environment.reset(**row(case, **columns))
    return environment


def seen(environment: Any, gate: str = "G1") -> str:
    """What a look at a gate says: open or closed."""
    return "open" if '"open"' in environment.gates_look(name=gate) else "closed"


def other(state: str) -> str:
    return "closed" if state == "open" else "open"


def as_trl_finds_them(cls: type) -> dict[str, Any]:
    """Copied from GRPOTrainer.__init__: what of a class are its tools."""
    found = inspect.getmembers(cls, predicate=inspect.isfunction)
    return {name: member for name, member in found if name not in ("reset", "get_reward") and not name.startswith("_")}


def test_the_tools_of_a_scenario_are_methods_of_its_class_and_nothing_else_is() -> None:
    cls = environment_class("helpdesk/refund")
    found = as_trl_finds_them(cls)
    assert set(found) == {
        "customers_search", "customers_get", "billing_list_invoices", "billing_list_charges", "billing_list_refunds", "billing_refund",
        "billing_void_invoice", "billing_add_credit",
    }  # fmt: skip
    assert inspect.isfunction(cls.reset) and not hasattr(cls, "get_reward")
    assert cls.__name__ == "RefundEnvironment" and cls is environment_class("helpdesk/refund")
    assert {name for name in found if isinstance(getattr(cls(), name), dict)} == set(found)


def test_a_call_by_the_method_and_by_what_the_instance_has_are_the_same() -> None:
    environment = opened()
    by_method = type(environment).gates_look(environment, name="G1")
    assert by_method == environment.gates_look(name="G1") == f'{{"name":"G1","state":"{seen(environment)}"}}'


def test_the_last_message_ends_the_episode_and_is_graded() -> None:
    for right in (True, False):
        environment = opened()
        state = seen(environment)
        answer = said(f"ANSWER: {state if right else other(state)}")
        assert episode_reward([[answer]], environments=[environment]) == [float(right)]
        # TRL may ask again, as in two reward functions.
        assert episode_reward([[answer]], environments=[environment]) == [float(right)]
        trajectory = held_by(environment).finish(answer["content"])
        assert (trajectory.agent["name"], trajectory.stop.reason, len(trajectory.steps)) == ("trl", "answered", 2 - 1)


@pytest.mark.parametrize(
    "completion",
    [
        [],
        [calling("gates_look", name="G1")],
        [calling("gates_look", name="G1"), replied("gates_look", "..")],
        [said("")],
    ],
)
def test_without_an_answer_there_is_no_reward(completion: list[dict[str, Any]]) -> None:
    environment = opened()
    seen(environment)
    assert episode_reward([completion], environments=[environment]) == [0.0]


def test_an_instance_is_used_again_and_forgets_what_was() -> None:
    environment = opened(case=1)
    state = seen(environment, "G2")
    answer = [said(f"ANSWER: {state}")]
    assert episode_reward([answer], environments=[environment]) == [1.0]
    environment.reset(**row(1))
    assert episode_reward([answer], environments=[environment]) == [0.0], "no call was made in this one"
    environment.reset(**row(1))
    environment.reset(**row(1))
    seen(environment, "G2")
    assert episode_reward([answer], environments=[environment]) == [1.0]


def test_dropped_episodes_do_not_stay_open() -> None:
    from simtrain.integrations.trl.episodes import sessions

    environment = opened()
    before = len(sessions())
    for case in range(4):
        environment.reset(**row(case))
    assert len(sessions()) == before


def test_the_seed_of_the_world_decides_what_is_true() -> None:
    states = {seed: [seen(opened(world_seed=seed), f"G{gate}") for gate in range(1, 5)] for seed in range(1, 9)}
    assert len({tuple(found) for found in states.values()}) > 3
    assert states[3] == [seen(opened(world_seed=3), f"G{gate}") for gate in range(1, 5)]


def test_errors_are_given_to_the_model_as_text() -> None:
    environment = opened()
    assert environment.gates_look(name="G9") == "No gate called G9."
    assert environment.gates_look(gate="G1").startswith("Invalid arguments for tool gates.look: ")
    for _ in range(10):
        last = environment.gates_look(name="G1")
    assert last.startswith("Error: ") and "\n" not in last
    assert episode_reward([[said("ANSWER: open")]], environments=[environment]) == [0.0], "a limit has ended it"


def test_reset_returns_the_task_unless_the_prompt_of_the_row_states_it() -> None:
    environment = EnvironmentFactory(GATE)()
    assert environment.reset(**row()) == "Look, then answer.\n\nIs gate G1 open?"
    system = {"role": "system", "content": "Look, then answer."}
    assert environment.reset(**row(prompt=[system, {"role": "user", "content": ""}])) == "Is gate G1 open?"
    assert environment.reset(**row(prompt=[{"role": "user", "content": "Is gate G1 open?"}])) is None
    with pytest.raises(InputError) as told:
        environment.reset(**row(prompt=[{"role": "user", "content": "Is gate G2 open?"}]))
    assert str(told.value) == "the row's prompt is not the task of its episode; make the dataset anew"


def test_a_factory_goes_to_another_process() -> None:
    factory = environment_factory(GATE)
    assert isinstance(factory, EnvironmentFactory)
    assert seen_by(pickle.loads(pickle.dumps(factory))) == seen_by(factory)
    assert pickle.loads(pickle.dumps(episode_reward)) is episode_reward


def seen_by(factory: EnvironmentFactory) -> str:
    environment: Any = factory()
    environment.reset(**row())
    return seen(environment)


def test_of_several_scenarios_a_column_chooses() -> None:
    factories = environment_factory(["helpdesk/refund", GATE])
    assert isinstance(factories, dict) and list(factories) == ["helpdesk/refund", GATE]
    rows = list(task_rows([GATE, "helpdesk/refund"], world_seeds=[5], cases=1, seed=0, attempts=1))
    for found in rows:
        environment = factories[found["environment"]]()
        assert environment.reset(**{name: value for name, value in found.items() if name != "environment"}) is None


def test_a_rollout_that_is_played_again_has_the_reward_that_it_had() -> None:
    for answer in ("open", "closed"):
        environment = opened(2)
        reply = environment.gates_look(name="G3")
        unknown = [calling("gates_open", name="G3"), replied("gates_open", "{'error': 'Tool gates_open not found.'}")]
        look = [calling("gates_look", name="G3"), replied("gates_look", reply)]
        completion = [*unknown, *look, said(f"ANSWER: {answer}")]
        live = episode_reward([completion], environments=[environment])
        columns = {name: [value] for name, value in row(2).items()}
        assert episode_reward([completion], **columns) == live
    assert live == [float('"closed"' in reply)]


def test_a_reply_that_differs_when_the_rollout_is_played_again_is_refused() -> None:
    columns = {name: [value] for name, value in row().items()}
    with pytest.raises(
        InputError, match=r"^gates_look of .*gate\.yaml replies otherwise when it is called again; worlds that a"
    ):
        episode_reward([[calling("gates_look", name="G1"), replied("gates_look", "made up")]], **columns)


def test_a_closed_session_and_an_environment_that_was_never_reset_say_so() -> None:
    fresh: Any = EnvironmentFactory(GATE)()
    for attempt in (lambda: held_by(fresh).finish("x"), lambda: fresh.gates_look(name="G1")):
        with pytest.raises(InputError, match=r"^no episode is open; reset the environment with a row first$"):
            attempt()
    environment = opened()
    held_by(environment).finish("ANSWER: open")
    assert environment.gates_look(name="G1").startswith("Error: the session ")
    with pytest.raises(InputError, match="finished with other words"):
        held_by(environment).finish("ANSWER: closed")


def test_an_unknown_scenario_a_case_too_many_and_an_odd_row_are_one_line() -> None:
    with pytest.raises(InputError, match=r"helpdesk/refundd.*did you mean"):
        environment_factory("helpdesk/refundd")
    with pytest.raises(InputError, match=r"has no case 99"):
        episode_of(row(99))
    with pytest.raises(InputError, match="the row names no scenario; make the dataset with task_dataset"):
        episode_of({"case": 1})
    with pytest.raises(InputError, match="'case' of a row is a whole number, and this one is '1'"):
        episode_of(row() | {"case": "1"})


def test_tools_that_perturbations_change_are_refused_with_the_way_out(tmp_path: Path) -> None:
    text = Path(GATE).read_text().replace("world: gates.yaml", f"world: {Path(GATE).with_name('gates.yaml')}")
    file = tmp_path / "renamed.yaml"
    file.write_text(text + "perturbations: [{use: renamed_tools}]\n")
    environment = EnvironmentFactory(str(file))()
    with pytest.raises(InputError, match=r"perturbations of .* change the tools, which TRL lists once .*Rollouts"):
        environment.reset(**row() | {"scenario": str(file)})


@pytest.fixture
def played() -> Trajectory:
    with Sessions() as sessions:
        return sessions.open(episode_of(row())).finish("ANSWER: open")


def test_a_rollout_without_a_reward_is_left_out_with_one_line(
    played: Trajectory, caplog: pytest.LogCaptureFixture
) -> None:
    lost = replace(played, reward=None, stop=Stop("failed", "simulator", "the reply is no JSON"))
    with caplog.at_level(logging.WARNING):
        assert rewards_of([played, lost]) == [played.reward, None]
    (line,) = caplog.messages
    assert line == (
        f"1 of 2 rollouts have no reward, such as {played.scenario} c0000: the reply is no JSON; they are left out of the loss"
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_reward_that_is_no_number_is_never_handed_on(
    played: Trajectory, value: float, caplog: pytest.LogCaptureFixture
) -> None:
    assert rewards_of([replace(played, reward=value), played]) == [None, played.reward]
    assert f"its value is {value}" in caplog.messages[0]


def test_without_any_reward_training_stops_with_the_reason(played: Trajectory) -> None:
    broken = replace(played, reward=None, rewards=(Reward("judge", None, error="no answer"),))
    with pytest.raises(InputError) as told:
        rewards_of([broken, broken])
    assert str(told.value) == (
        f"2 of 2 rollouts have no reward, such as {played.scenario} c0000: judge: no answer; "
        "see that the world models and graders of the scenario answer"
    )


def test_without_the_extra_its_name_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from simtrain.integrations.trl import sft_dataset, task_dataset

    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    for make in (lambda: task_dataset(GATE), lambda: sft_dataset("runs/none")):
        with pytest.raises(InputError) as told:
            make()
        assert str(told.value) == "datasets is needed, which is not installed; pip install 'simtrain[train]'"
