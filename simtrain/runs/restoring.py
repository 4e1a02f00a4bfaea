"""Restore an episode up to a step of its record: the recorded calls are made again and must get the recorded replies."""

from collections import deque

import orjson

from simtrain.contracts.journal import Journal
from simtrain.contracts.request import Answer, Request
from simtrain.contracts.scenario import Episode, Fork
from simtrain.contracts.trajectory import Step, Turn
from simtrain.scenarios.load import paradigm_of
from simtrain.values.errors import InputError, SimulatorFault
from simtrain.values.types import Message, Observation


async def restore(journal: Journal, fork: Fork) -> None:
    """Bring a fresh episode to the step at which it continues a record; the remaining calls of that turn are then pending.

    World, clock, draws, counts and memories are then as in the record, since the same calls have been made. Earlier forks arm and
    reseed at their own steps. Raises InputError for a step that differs from the record, and for perturbations that cannot be armed.
    """
    ahead = deque(zip(fork.forks, fork.armed, strict=True))
    last = fork.forks[-1].step

    def rearm(index: int) -> None:
        while ahead and ahead[0][0].step <= index:
            forked, armed = ahead.popleft()
            journal.environment.rearm(armed, seed=None if forked.same_faults else forked.seed)

    for turn in fork.turns:
        # A turn that begins at the fork is the new agent's: its message must not be in the history.
        if not turn.steps or turn.steps[0].index >= last:
            break
        journal.say(_message(turn))
        for step in turn.steps:
            # Before the step: a fork applies from its step on, that step included.
            rearm(step.index)
            if step.index < last:
                await _again(journal, step)
        journal.pending = tuple(step.action for step in turn.steps if step.index >= last)
    rearm(last)


async def rehearse(episode: Episode) -> None:
    """Raise InputError if an episode cannot be restored."""
    async with paradigm_of(episode.scenario).open(episode) as environment:
        # As in a real episode: perturbations of the request are applied before the first call.
        environment.asks(episode.scenario.prompt.render(episode.case))
        if episode.fork is not None:
            await restore(Journal(environment, episode.limits), episode.fork)


def _message(turn: Turn) -> Message:
    calls = tuple(step.action for step in turn.steps)
    return Message(turn.text, calls, turn.reasoning, turn.usage, finish_reason=turn.finish_reason)


async def _again(journal: Journal, step: Step) -> None:
    """Make a recorded call again. Raises InputError if the step differs from the record in any byte."""
    try:
        # A name with a slash is the method of a read, such as resources/read.
        made = await journal.carry_out(step.action, _read(step) if "/" in step.action.tool else None)
    except SimulatorFault as fault:
        raise InputError(f"step {step.index} cannot be played again: {fault}") from None
    # Compared as bytes, which includes clock, events and provenance: any difference means another world.
    if orjson.dumps(made) != orjson.dumps(step):
        raise InputError(
            f"step {step.index} ({step.action.tool}), played again, is not what was recorded: another {_difference(made, step)}",
            remedy="fork at an earlier step, or play the episode anew with this version",
        )


def _difference(made: Step, step: Step) -> str:
    both = ((key, vars(made)[key], value) for key, value in vars(step).items())
    return next(key for key, one, other in both if orjson.dumps(one) != orjson.dumps(other))


def _read(step: Step) -> Answer:
    """Return the answer to a read of a resource or a prompt, which does not change the world: the recorded unperturbed one."""
    clean = next((event.clean for event in step.events if event.clean is not None), step.observation)

    async def answer(request: Request) -> Observation:
        return clean

    return answer
