"""Concurrent rollouts for TRL: all episodes of a batch generate together, and their calls run together.

TRL's own loop makes one call after the other, which is slow if a model answers for the world. The contract of
`rollout_func` is that of TRL 1.16 (trl/trainer/grpo_trainer.py, `_generate`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from simtrain.contracts.trajectory import Trajectory
from simtrain.integrations.trl.chat_tokens import ChatTokens
from simtrain.integrations.trl.episodes import CUT_OFF, sessions
from simtrain.integrations.trl.rewards import rewards_of
from simtrain.integrations.trl.sampling import Sampled, Sampling, sample
from simtrain.integrations.trl.tasks import FindEpisode, episode_of
from simtrain.llm.completion import ToolCall
from simtrain.llm.conversation import MALFORMED, Listing
from simtrain.llm.tool_names import wire_names
from simtrain.public import Session
from simtrain.runs.sessions import SessionCall
from simtrain.values.errors import InputError, SimtrainError
from simtrain.values.types import JsonObject, Observation, is_object


class Rollouts:
    """A `rollout_func` for the tasks of `task_dataset`, to be used with the reward function `episode_reward`.

    `listing` says how tools are listed: `full`, `compact` (a line each) or `none`. `sampling` replaces the trainer's own.
    A message is at most `max_tokens` long, as at play; longer ones end the episode.
    """

    def __init__(
        self,
        *,
        listing: Listing = "full",
        sampling: Sampling = sample,
        max_tokens: int | None = None,
        find: FindEpisode = episode_of,
    ) -> None:
        self._listing: Listing = listing
        self._sampling = sampling
        self._max_tokens = max_tokens
        self._find = find

    def __call__(self, prompts: Sequence[Sequence[JsonObject]], trainer: Any) -> dict[str, list[Any]]:
        """Return one rollout per prompt: prompt_ids, completion_ids, logprobs, env_mask (1: sampled, 0: replies) and its reward.

        Raises InputError for prompts without a task, and if no rollout has a reward.
        """
        chat = ChatTokens.of_trainer(trainer, self._listing)
        most = int(trainer.max_completion_length)
        rollouts = list[_Rollout]()
        try:
            for prompt in prompts:
                rollouts.append(_Rollout(sessions().open(self._find(_task(prompt))), chat, most))
            while active := [rollout for rollout in rollouts if rollout.trajectory is None]:
                self._play_turn(active, trainer)
        finally:
            for rollout in rollouts:
                rollout.session.close()
        return {
            "prompt_ids": [rollout.prompt for rollout in rollouts],
            "completion_ids": [rollout.written for rollout in rollouts],
            "logprobs": [rollout.logprobs for rollout in rollouts],
            "env_mask": [rollout.mask for rollout in rollouts],
            "rollout_reward": rewards_of(
                [rollout.trajectory for rollout in rollouts if rollout.trajectory is not None]
            ),
        }

    def _play_turn(self, active: Sequence[_Rollout], trainer: Any) -> None:
        """Let the model write one message in every rollout, and carry out all calls in these messages."""
        # One batch for all: a sequence with less room is cut in `write`.
        most = max(rollout.left for rollout in active)
        if self._max_tokens is not None:
            most = min(most, self._max_tokens)
        written = self._sampling(trainer, [rollout.prompt + rollout.written for rollout in active], most)
        for rollout, sampled in zip(active, written, strict=True):
            rollout.write(sampled)
        calls = [call for rollout in active for call in rollout.calls]
        # All calls in one batch, so that worlds answered by a model are asked concurrently.
        results = iter(sessions().calls(calls))
        for rollout in active:
            rollout.hear([next(results) for _ in rollout.calls])


def _task(prompt: Sequence[JsonObject]) -> JsonObject:
    """Return the row of a prompt of `task_dataset`."""
    written = prompt[-1].get("task") if prompt else None
    try:
        task = orjson.loads(written) if isinstance(written, str) else None
    except orjson.JSONDecodeError:
        task = None
    if not is_object(task):
        raise InputError("the prompt names no task", remedy="make the dataset with task_dataset")
    return task


@dataclass(eq=False)
class _Rollout:
    """One episode as tokens: the prompt, and everything after it, from the model and from the tools."""

    session: Session
    chat: ChatTokens
    most: int
    written: list[int] = field(default_factory=list[int])
    logprobs: list[float] = field(default_factory=list[float])
    mask: list[int] = field(default_factory=list[int])
    calls: list[SessionCall] = field(default_factory=list[SessionCall])
    trajectory: Trajectory | None = None

    def __post_init__(self) -> None:
        self.prompt = self.chat.opening(self.session)
        self.native = {wire: name for name, wire in wire_names(tool.name for tool in self.session.tools).items()}
        self.wire = {name: wire for wire, name in self.native.items()}
        self.schemas = {self.wire[tool.name]: tool.input_schema for tool in self.session.tools}

    @property
    def left(self) -> int:
        """Return the number of tokens that may still be added."""
        return self.most - len(self.written)

    def write(self, sampled: Sampled) -> None:
        """Add a message of the model. One without calls, or that was cut off, ends the episode."""
        room = self.left
        self._add(sampled.ids[:room], sampled.logprobs[:room], sampled=True)
        self.calls = []
        if sampled.cut or len(sampled.ids) > room:
            self.trajectory = self.session.finish(failed=CUT_OFF)
            return
        message = self.chat.read(sampled.ids, self.schemas)
        self.calls = [self._call(call) for call in message.calls]
        if not self.calls:
            self.trajectory = self.session.finish(message.text)

    def hear(self, results: Sequence[Observation | SimtrainError]) -> None:
        """Add the replies to the calls of the last message. The episode ends if a reply is missing, or if they do not fit."""
        if self.trajectory is not None:
            return
        replies = [result for result in results if isinstance(result, Observation)]
        if len(replies) < len(results) or self.session.stop is not None:
            self.trajectory = self.session.finish()
            return
        read = self.chat.replies([self._reply(call, reply) for call, reply in zip(self.calls, replies, strict=True)])
        # Room for at least one sampled token must remain, or the last turn could never end.
        if len(read) >= self.left:
            self.trajectory = self.session.finish(failed="the replies do not fit into max_completion_length: no answer")
            return
        # Replies were not sampled: they have no log probability, and the mask keeps them out of the loss.
        self._add(read, [0.0] * len(read), sampled=False)

    def _add(self, ids: Sequence[int], logprobs: Sequence[float], *, sampled: bool) -> None:
        self.written += ids
        self.logprobs += logprobs
        self.mask += [int(sampled)] * len(ids)

    def _call(self, call: ToolCall) -> SessionCall:
        try:
            arguments = orjson.loads(call.arguments)
        except orjson.JSONDecodeError:
            arguments = None
        given = arguments if is_object(arguments) else {MALFORMED: call.arguments}
        return self.session, self.native.get(call.name, call.name), given

    def _reply(self, call: SessionCall, reply: Observation) -> JsonObject:
        name = self.wire.get(call[1], call[1])
        return {"role": "tool", "tool_call_id": "call", "name": name, "content": reply.text}
