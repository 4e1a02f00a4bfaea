"""Scores a whole benchmark: every trial of every question, figures over trials and questions, and losses by column."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal, TypeAlias

from simtrain.llm.client import ChatClient
from simtrain.questions.widesearch.arbiter import Arbiter, Known
from simtrain.questions.widesearch.asking import Asking
from simtrain.questions.widesearch.compatible import score_compatible
from simtrain.questions.widesearch.files import BenchmarkQuestion, TrialResponse, gold_rows, known_for
from simtrain.questions.widesearch.scores import Scores, by_column, over_questions, over_trials, total_losses
from simtrain.questions.widesearch.strict import score_strict
from simtrain.values.errors import ModelFault
from simtrain.values.types import JsonObject

Mode: TypeAlias = Literal["strict", "compatible"]


@dataclass(frozen=True, slots=True)
class ScoringOptions:
    """The way answers are scored. `as_of` is today's date for compatible scoring. `client`, if given, settles what code cannot."""

    mode: Mode
    as_of: date
    known: Mapping[str, Known]
    client: ChatClient | None = None


@dataclass(frozen=True, slots=True)
class Trial:
    """One scored trial; with `error` and no scores if a model failed."""

    id: str
    number: int
    scores: Scores | None
    error: str = ""

    def facts(self) -> JsonObject:
        """Return the trial as a line of a report."""
        found: JsonObject = {"instance_id": self.id, "trial_idx": self.number}
        return {**found, "error": self.error} if self.scores is None else {**found, **self.scores.facts()}


async def score_all(
    questions: Sequence[BenchmarkQuestion],
    responses: Sequence[TrialResponse],
    options: ScoringOptions,
    *,
    on_scored: Callable[[], None] = lambda: None,
) -> list[Trial]:
    """Return every trial, in the order of the questions. A question without responses counts as one trial without a response."""
    trials: list[Trial] = []
    for question in questions:
        own = sorted((answer for answer in responses if answer.id == question.id), key=lambda answer: answer.trial)
        for answer in own or [TrialResponse(question.id, 0, None)]:
            trials.append(await _scored(question, answer, options))
            on_scored()
    return trials


async def _scored(question: BenchmarkQuestion, answer: TrialResponse, options: ScoringOptions) -> Trial:
    known = known_for(question.id, options.known, exact=options.mode == "compatible")
    arbiter: Arbiter = known if options.client is None else Asking(options.client, known)
    try:
        if options.mode == "compatible":
            scores = await score_compatible(
                question.rules, question.gold, answer.response, as_of=options.as_of, arbiter=arbiter
            )
        else:
            rows = gold_rows(question.gold, question.rules)
            scores = await score_strict(question.rules, rows, answer.response, arbiter=arbiter)
    except ModelFault as fault:
        # Not scored, and reported as such: the answer may be right.
        return Trial(answer.id, answer.trial, None, str(fault))
    return Trial(answer.id, answer.trial, scores)


def summary(trials: Sequence[Trial], options: ScoringOptions) -> JsonObject:
    """Return the figures of a benchmark as JSON: over trials and questions, losses by column, and each trial."""
    by_question: dict[str, list[Scores]] = {}
    for trial in trials:
        if trial.scores is not None:
            by_question.setdefault(trial.id, []).append(trial.scores)
    questions = [over_trials(scores) for scores in by_question.values()]
    done = [scores for own in by_question.values() for scores in own]
    return {
        "mode": options.mode,
        **({"as_of": options.as_of.isoformat()} if options.mode == "compatible" else {}),
        **over_questions(questions),
        "trials": len(trials),
        "failed": sum(trial.scores is None for trial in trials),
        "columns": by_column(total_losses(done)),
        "answers": [trial.facts() for trial in trials],
    }
