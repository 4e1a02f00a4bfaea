"""Proofs of questions over a search world: the oracle answers all, nobody answers without reading, and the web decides.

Other families change columns until a reward falls. Here one fact that the answer rests on is changed, the web is rendered anew, and the
oracle, which reads, must then answer otherwise. Questions write nothing, so there is no wrong plan to catch.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from simtrain.contracts.question import Question
from simtrain.contracts.scenario import Episode, Scenario
from simtrain.contracts.trajectory import Trajectory
from simtrain.contracts.world import FinishedWorld, World
from simtrain.questions.browser import addresses
from simtrain.questions.gathering import gather
from simtrain.questions.stating import Needed
from simtrain.validation.mutation import answer_changes
from simtrain.validation.proof import Proof, Prover, lowered
from simtrain.values.errors import SimtrainError

ALTERED: Final = 3
"""Questions for which the web is rendered anew with one fact changed; each rendering takes as long as a build."""


async def prove_questions(scenario: Scenario, proof: Proof, *, cases: int | None, seed: int) -> Proof:
    """Prove every question, or `cases` sampled ones, and return the proof. Raises InputError for a file that cannot be used."""
    await _QuestionProver(scenario, proof, cases=cases, seed=seed).prove()
    return proof


class _QuestionProver(Prover):
    async def _check_case(self, episode: Episode) -> Trajectory:
        """Check, beside the rest, that nothing leaks, and that the oracle opens only URLs that it was shown."""
        self._nothing_leaks(episode, _question(episode))
        oracle = await super()._check_case(episode)
        self._visits_what_it_was_shown(episode, oracle)
        return oracle

    async def _check_solved(self, oracles: Sequence[tuple[Episode, Trajectory]]) -> None:
        for episode, oracle in oracles:
            await self._graders_can_fail(episode, oracle)
        for episode, _ in [one for one in oracles if _question(one[0]).evidence is not None][:ALTERED]:
            await self._depends_on_the_web(episode)
        # Once: the order that SQL leaves open is a property of the world's tools, not of a question.
        for episode, oracle in oracles[:1]:
            if await self._reordered(episode, oracle):
                self._note(episode, "a reply depends on an order that SQL leaves open")

    def _nothing_leaks(self, episode: Episode, question: Question) -> None:
        """Check that no column of names in the answer is wholly in the prompt, except names that the question asks about."""
        rows = question.gold(self._world(episode).query)
        prompt = self.scenario.prompt.render(episode.case).casefold()
        parameters = {str(value) for value in question.parameters.values()}
        for column in question.columns:
            values = {str(row[column.name]) for row in rows}
            if question.answer == "table" and values <= parameters:
                continue
            if column.names is not None and (len(values) > 1 or question.answer == "single"):
                shown = sorted(value for value in values if value.casefold() in prompt)
                if len(shown) == len(values):
                    self._note(episode, f"all of the column {column.name!r} is in the prompt: {shown[0]!r}")

    def _visits_what_it_was_shown(self, episode: Episode, oracle: Trajectory) -> None:
        known: set[str] = set()
        for step in oracle.steps:
            opened = addresses(step.action.arguments)
            for url in sorted(opened - known):
                self._note(episode, f"the oracle opens {url}, which nothing has shown it")
            known |= addresses(step.observation.text) | addresses(step.observation.content)

    async def _graders_can_fail(self, episode: Episode, oracle: Trajectory) -> None:
        unmoved = {grading.label for grading in self.scenario.grading}
        world = self._world(episode)
        final = world.open(oracle.changes)
        finished = FinishedWorld(world, final, oracle.changes)
        for changed in (_a_row_less(oracle), *answer_changes(oracle)):
            unmoved -= lowered(await self._grade(changed, finished))
        final.close()
        for label in sorted(unmoved):
            self._note(episode, f"the grader {label!r} gives full marks whatever the answer is")

    async def _depends_on_the_web(self, episode: Episode) -> None:
        """Check that the oracle loses if a fact of the answer is changed while plan and gold stay the same."""
        world = self._world(episode)
        question = _question(episode)
        facts = _telling(question, world)
        for statement in [statement for fact in facts for statement in _changes(fact, world)]:
            try:
                altered = world.altered(statement)
            except SimtrainError:
                continue
            if await self._loses(episode, altered, await self._play(episode, "oracle", altered)):
                return
        if facts:
            path = f"{facts[0].type}.{facts[0].name}"
            self._note(episode, f"with another {path} the oracle still earns all: it does not read the web")


def _question(episode: Episode) -> Question:
    return Question.model_validate(episode.case)


def _a_row_less(oracle: Trajectory) -> Trajectory:
    """Return the trajectory with the last row of its answer removed; the last letter of a single answer."""
    answer = (oracle.answer or "").rstrip("`\n")
    kept = answer.rpartition("\n")[0] if "\n" in answer else answer[:-1]
    return replace(oracle, answer=kept)


def _telling(question: Question, world: World) -> list[Needed]:
    """Return one fact of each column of the answer. Names come last: changing one changes titles and URLs as well."""
    gathered = gather(question, world)
    key = set(question.key)
    columns = sorted(enumerate(question.columns), key=lambda item: item[1].name in key or item[1].names is not None)
    found = [
        next((fact for row in gathered.cells for fact in row[place] if fact.value is None), None)
        for place, _ in columns
    ]
    return list(dict.fromkeys(fact for fact in found if fact is not None))


def _changes(fact: Needed, world: World) -> list[str]:
    """Return statements that change the fact beyond every tolerance, one for each kind that it may be."""
    column = f'"{fact.name}"'
    where = f"where id = {fact.entity}"
    sql = "select target from _attributes where type = :type and name = :name and kind = 'ref'"
    refs = world.query(sql, {"type": fact.type, "name": fact.name})
    if refs:
        other = f'(select id from "{refs[0]["target"]}" where id <> "{fact.type}".{column} order by id limit 1)'
        return [f'update "{fact.type}" set {column} = {other} {where}']
    values: list[tuple[str, str]] = [
        (f"{column} * 3 + 1000", f"typeof({column}) != 'text'"),
        ("'2011-01-01'", f"{column} glob '????-??-??'"),
        # No space: a passage may end at the first one.
        (f"{column} || 'zw'", f"typeof({column}) = 'text'"),
    ]
    return [f'update "{fact.type}" set {column} = {value} {where} and {guard}' for value, guard in values]
