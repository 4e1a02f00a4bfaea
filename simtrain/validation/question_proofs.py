"""Proofs about questions over a search world: that the oracle answers all, that nobody answers without reading, that the web decides.

What other families prove by changing columns until a reward falls is proved here on the facts that the answer rests on: one of them is
changed, the web is rendered anew, and the oracle, which reads, must then answer otherwise. Questions write nothing, so there is no
wrong plan to catch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from simtrain.agents.select import build_agent
from simtrain.contracts.question import Question
from simtrain.contracts.scenario import Episode, Scenario
from simtrain.contracts.trajectory import SUCCESS, Trajectory, to_line
from simtrain.contracts.world import FinishedWorld, World
from simtrain.grading.reward import grade
from simtrain.questions.browser import addresses
from simtrain.questions.gathering import gather
from simtrain.questions.stating import Needed
from simtrain.runs.rollout import rollout
from simtrain.scenarios.load import paradigm_of
from simtrain.validation.mutation import answer_changes
from simtrain.validation.proof import Proof, why
from simtrain.values.errors import InputError, SimtrainError
from simtrain.values.seeding import Stream, derive

ALTERED: Final = 3
"""Questions for which the web is rendered anew with one fact changed: each costs a build."""


async def prove_questions(scenario: Scenario, proof: Proof, *, cases: int | None, seed: int) -> Proof:
    """Prove every question, or `cases` sampled ones. Raises InputError for a file that cannot be used."""
    episodes = list(paradigm_of(scenario).episodes(scenario, seed=seed, attempts=1))
    if cases is not None:
        episodes = Stream(derive(seed, scenario.name, "proof")).sample(episodes, cases)
    await _Prover(scenario, episodes, proof).prove()
    return proof


class _Prover:
    def __init__(self, scenario: Scenario, episodes: Sequence[Episode], proof: Proof) -> None:
        self.scenario = scenario
        self.episodes = episodes
        self.proof = proof

    async def prove(self) -> None:
        """Run every proof; problems are collected, one line each."""
        self.proof.cases = len(self.episodes)
        self._distinct_prompts()
        played: list[tuple[Episode, Trajectory]] = []
        for episode in self.episodes:
            try:
                played.append((episode, await self._plays(episode)))
            except InputError as error:
                self._note(episode, str(error))
        counts = [len(oracle.steps) for _, oracle in played]
        if counts:
            self.proof.calls = (min(counts), max(counts))
        solved = [(episode, oracle) for episode, oracle in played if (oracle.reward or 0) >= SUCCESS]
        for episode, oracle in solved:
            await self._graders_can_fail(episode, oracle)
        for episode, oracle in [one for one in solved if _question(one[0]).evidence is not None][:ALTERED]:
            await self._depends_on_the_web(episode, oracle)
        for episode, oracle in solved[:1]:
            await self._orders_are_fixed(episode, oracle)

    def _note(self, episode: Episode, problem: str) -> None:
        self.proof.problems.append(f"case {episode.id}: {problem}")

    def _distinct_prompts(self) -> None:
        prompts = Counter((self.scenario.prompt.render(episode.case), episode.variant) for episode in self.episodes)
        for (prompt, _), count in prompts.items():
            if count > 1:
                self.proof.problems.append(f"{count} cases have the same prompt: {prompt.strip()[:80]!r}")

    async def _plays(self, episode: Episode) -> Trajectory:
        """Check that the oracle earns all, by URLs that it was shown, that idle agents earn less, and that declining earns nothing."""
        question = _question(episode)
        self._nothing_leaks(episode, question)
        oracle = await self._play(episode, "oracle")
        if oracle.reward is None or oracle.reward < SUCCESS:
            self._note(episode, f"the oracle earns {oracle.reward}, not 1: {why(oracle)}")
        self._visits_what_it_was_shown(episode, oracle)
        for name in ("nop", "claims_done"):
            idle = await self._play(episode, name)
            if idle.reward is None or idle.reward >= SUCCESS:
                self._note(episode, f"the agent {name}, which calls nothing, earns {idle.reward}")
        declined = await self._play(episode, "abstain")
        if declined.reward != 0:
            self._note(episode, f"an agent that declines at once earns {declined.reward}, not 0")
        return oracle

    async def _play(self, episode: Episode, agent: str, world: World | None = None) -> Trajectory:
        return await rollout(episode, build_agent(agent), name=agent, world=world)

    def _nothing_leaks(self, episode: Episode, question: Question) -> None:
        """No name that the answer consists of stands in the prompt; those that every row shares, or that are asked about, aside."""
        rows = question.gold(self._world(episode).query)
        prompt = self.scenario.prompt.render(episode.case).casefold()
        asked_about = {str(value) for value in question.parameters.values()}
        for column in question.columns:
            values = {str(row[column.name]) for row in rows}
            if question.answer == "table" and values <= asked_about:
                continue
            if column.names is not None and (len(values) > 1 or question.answer == "single"):
                told = sorted(value for value in values if value.casefold() in prompt)
                if len(told) == len(values):
                    self._note(episode, f"all of the column {column.name!r} stands in the prompt: {told[0]!r}")

    def _visits_what_it_was_shown(self, episode: Episode, oracle: Trajectory) -> None:
        known: set[str] = set()
        for step in oracle.steps:
            asked = addresses(step.action.arguments)
            for url in sorted(asked - known):
                self._note(episode, f"the oracle opens {url}, which nothing has shown it")
            known |= addresses(step.observation.text) | addresses(step.observation.content)

    async def _graders_can_fail(self, episode: Episode, oracle: Trajectory) -> None:
        unmoved = {grading.label for grading in self.scenario.grading}
        world = self._world(episode)
        final = world.open(oracle.changes)
        finished = FinishedWorld(world, final, oracle.changes)
        for changed in (_a_row_less(oracle), *answer_changes(oracle)):
            graded = await self._grade(changed, finished)
            unmoved -= {one.grader for one in graded.rewards if one.value is not None and one.value < SUCCESS}
        final.close()
        for label in sorted(unmoved):
            self._note(episode, f"the grader {label!r} gives full marks whatever the answer is")

    async def _grade(self, trajectory: Trajectory, finished: FinishedWorld) -> Trajectory:
        return await grade(trajectory, self.scenario.grading, self.scenario.spec.rubric, finished)

    async def _depends_on_the_web(self, episode: Episode, oracle: Trajectory) -> None:
        """With plan and gold fixed, a fact that the answer rests on is changed: the oracle reads it, and loses."""
        world = self._world(episode)
        question = _question(episode)
        facts = _telling(question, world)
        for statement in [statement for fact in facts for statement in _changes(fact, world)]:
            try:
                altered = world.altered(statement)
            except SimtrainError:
                continue
            played = await self._play(episode, "oracle", altered)
            final = altered.open(played.changes)
            # The gold stays that of the world as it was.
            graded = await self._grade(played, FinishedWorld(world, final, played.changes))
            final.close()
            if graded.reward is not None and graded.reward < SUCCESS:
                return
        if facts:
            told = f"{facts[0].type}.{facts[0].name}"
            self._note(episode, f"with another {told} the oracle still earns all: it does not read the web")

    async def _orders_are_fixed(self, episode: Episode, oracle: Trajectory) -> None:
        """Rows that SQLite may yield in any order must not show: turning its free choices round changes nothing."""
        played = await self._play(episode, "oracle", self._world(episode).backwards())
        if to_line(replace(played, timing={})) != to_line(replace(oracle, timing={})):
            self._note(episode, "a reply depends on an order that SQL leaves open")

    def _world(self, episode: Episode) -> World:
        return self.scenario.source.build(episode.variant)


def _question(episode: Episode) -> Question:
    return Question.model_validate(episode.case)


def _a_row_less(oracle: Trajectory) -> Trajectory:
    """Return the answer without its last row; a single answer without its last letter."""
    answer = (oracle.answer or "").rstrip("`\n")
    kept = answer.rpartition("\n")[0] if "\n" in answer else answer[:-1]
    return replace(oracle, answer=kept)


def _telling(question: Question, world: World) -> list[Needed]:
    """Return a fact of each column of the answer; those of names, which move to other pages as they change, come last."""
    gathered = gather(question, world)
    key = set(question.key)
    columns = sorted(enumerate(question.columns), key=lambda item: item[1].name in key or item[1].names is not None)
    found = [
        next((fact for row in gathered.cells for fact in row[place] if fact.told is None), None) for place, _ in columns
    ]
    return list(dict.fromkeys(fact for fact in found if fact is not None))


def _changes(fact: Needed, world: World) -> list[str]:
    """Statements of which one changes the fact beyond every tolerance, whatever its kind is."""
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
