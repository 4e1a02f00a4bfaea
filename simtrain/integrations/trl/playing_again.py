"""Replay rollouts in a fresh episode, to grade them if a reward function receives only their messages."""

from collections.abc import Iterator, Sequence

from simtrain.contracts.trajectory import Trajectory
from simtrain.integrations.trl.environments import environment_class, held_by
from simtrain.integrations.trl.episodes import last_words, text_of
from simtrain.integrations.trl.tasks import Row
from simtrain.integrations.trl.tool_methods import OfferedTool
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, as_object, is_list, is_object


def play_again(row: Row, completion: Sequence[JsonObject] | str) -> Trajectory:
    """Replay the calls of a completion and return the trajectory, graded with its last message.

    Calls that TRL answered itself (unknown tools, arguments that are not an object) never reached the episode, so they are left out.
    Raises InputError if a tool's reply differs from the recorded one, as in a world that a model answers.
    """
    environment = environment_class(str(row.get("scenario")))()
    environment.reset(**row)
    for name, arguments, replied in _calls(completion):
        method = getattr(environment, name, None)
        if isinstance(method, OfferedTool) and is_object(arguments) and method(**arguments) != replied:
            raise InputError(
                f"{name} of {row.get('scenario')} replies otherwise when it is called again",
                remedy="worlds that a model answers are trained with a rollout_func (Rollouts)",
            )
    return held_by(environment).finish(last_words(completion))


def _calls(completion: Sequence[JsonObject] | str) -> Iterator[tuple[str, object, str]]:
    """Yield name, arguments and reply of each call that got a reply."""
    messages = [] if isinstance(completion, str) else list(completion)
    for number, message in enumerate(messages):
        calls = message.get("tool_calls")
        for place, call in enumerate(calls if is_list(calls) else []):
            reply = messages[number + 1 + place] if number + 1 + place < len(messages) else {}
            if reply.get("role") == "tool":
                function = as_object(as_object(call).get("function"))
                yield str(function.get("name")), function.get("arguments"), text_of(reply.get("content"))
