"""Proofs of a scenario family: it can be solved, cannot be faked, depends on its world, and gives nothing away."""

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from typing import cast

from simtrain.contracts.scenario import Episode, Scenario
from simtrain.contracts.tool_globs import matches
from simtrain.contracts.trajectory import Trajectory
from simtrain.contracts.world import FinishedWorld, World
from simtrain.scenarios.cautions import cautions
from simtrain.scenarios.find import HARBOR_TASK, find
from simtrain.scenarios.load import load_scenario_file
from simtrain.validation.harbor_proofs import prove_harbor
from simtrain.validation.mutation import BROKEN_CODE, Telling, answer_changes, column_changes, state_changes
from simtrain.validation.proof import Proof as Proof
from simtrain.validation.proof import Prover, lowered
from simtrain.validation.question_proofs import prove_questions
from simtrain.values.errors import SimtrainError
from simtrain.values.types import JsonValue, is_object

_WORDLESS = frozenset({"", "yes", "no", "true", "false", "none", "null"})


async def prove(scenario: Scenario, *, cases: int | None = None, seed: int = 0) -> Proof:
    """Return what is proved of a family, over every case or `cases` sampled ones. Raises InputError for a file that cannot be used."""
    proof = Proof(scenario.name)
    if scenario.spec.cases.questions is not None:
        return await prove_questions(scenario, proof, cases=cases, seed=seed)
    if scenario.document.path.name == HARBOR_TASK:
        return await prove_harbor(scenario, proof, cases=cases, seed=seed)
    if not scenario.spec.planned:
        proof.problems.append("there is no `reference` plan, so nothing can be proved")
        return proof
    await _PlanProver(scenario, proof, cases=cases, seed=seed).prove()
    proof.warnings += cautions(scenario)
    return proof


class _PlanProver(Prover):
    def __init__(self, scenario: Scenario, proof: Proof, *, cases: int | None, seed: int) -> None:
        super().__init__(scenario, proof, cases=cases, seed=seed)
        self.wrong_trips = 0
        self.tripped: set[str] = set()
        self.lowering = Telling()
        self.spoiling = Telling()
        if scenario.spec.cases.tasks is not None:
            # Among all values of a machine, the code is what such a task depends on.
            self.lowering.add(BROKEN_CODE)

    def _check_family(self) -> None:
        super()._check_family()
        self._has_its_twin()

    async def _check_solved(self, oracles: Sequence[tuple[Episode, Trajectory]]) -> None:
        self._wrong_plan_trips()
        for episode, oracle in oracles:
            await self._depends_on_world(episode, oracle)
            await self._graders_can_fail(episode, oracle)
            if reordered := await self._reordered(episode, oracle):
                pairs = zip(oracle.steps, reordered.steps, strict=False)
                tool = next((ours.action.tool for ours, theirs in pairs if ours != theirs), "a tool")
                self._note(
                    episode, f"the reply of {tool} depends on an order that its SQL leaves open; complete its ORDER BY"
                )

    def _has_its_twin(self) -> None:
        """Check that the twin has the same prompt and the opposite outcome, so that no wording gives the outcome away."""
        spec = self.scenario.spec
        if spec.twin is None:
            return
        twin = load_scenario_file(
            find("scenarios", spec.twin, beside=self.scenario.document.path.parent), spec.twin
        ).spec
        if twin.prompt != spec.prompt:
            self.proof.problems.append(f"the prompt of the twin {spec.twin!r} reads otherwise")
        if twin.impossible is spec.impossible:
            self.proof.problems.append(f"the twin {spec.twin!r} has the same outcome")

    def _nothing_leaks(self, episode: Episode) -> None:
        """Check that no gold value is in the prompt or in a tool's description, except parameters, yes, no and small numbers."""
        world, offered = self._world(episode), tuple(self.scenario.spec.tools)
        texts = [
            ("the prompt", self.scenario.prompt.render(episode.case)),
            *(
                (f"the description of {tool.name}", tool.description)
                for tool in world.tools
                if matches(tool.name, offered)
            ),
        ]
        stated = {str(value).lower() for value in episode.case.values()}
        for grading in self.scenario.grading:
            for value in _leaves(grading.grader.gold(world, episode.case)):
                text_of_value = _as_text(value)
                if text_of_value is None or text_of_value in stated:
                    continue
                for where, text in texts:
                    # Whole values only: 112 is not in 1120, 2.112 or 112.5.
                    if re.search(rf"(?<![\w.]){re.escape(text_of_value)}(?![\w]|\.\d)", text.lower()):
                        self._note(episode, f"the gold value {value!r} is in {where}")

    async def _check_case(self, episode: Episode) -> Trajectory:
        """Check, beside the rest, the wrong plan and what the prompt gives away."""
        self._nothing_leaks(episode)
        oracle = await super()._check_case(episode)
        if self._has_wrong_plan:
            wrong = await self._play(episode, "wrong")
            self.wrong_trips += await self._harms(episode, wrong)
            self.tripped |= lowered(wrong)
            self.proof.rules |= _rules(wrong)
        self.proof.rules |= _rules(oracle)
        self._says_only_what_is_stated(episode, oracle)
        return oracle

    async def _idle(self, episode: Episode, agent: str) -> Trajectory:
        """Return the trajectory of an agent without calls, with calls optional, so that the graders alone decide."""
        rubric = self.scenario.spec.rubric.model_copy(update={"calls": "optional"})
        spec = self.scenario.spec.model_copy(update={"rubric": rubric})
        return await self._play(replace(episode, scenario=replace(self.scenario, spec=spec)), agent)

    async def _harms(self, episode: Episode, wrong: Trajectory) -> bool:
        """True if a gate finds a forbidden effect. Work that is merely not done is no harm."""
        world = self._world(episode)
        final = world.open(wrong.changes)
        finished = FinishedWorld(world, final, wrong.changes)
        found = [await item.grader.decline(wrong, finished) for item in self.scenario.grading if item.gate]
        final.close()
        return any(reward is not None and reward.value == 0 for reward in found)

    def _says_only_what_is_stated(self, episode: Episode, trajectory: Trajectory) -> None:
        """Check that a case parameter that the plan uses is in the prompt as text, and does not only choose its wording."""
        prompt = trajectory.prompt.lower()
        for name in self.scenario.stated:
            value = episode.case[name]
            if (
                isinstance(value, str)
                and len(value) > 3
                and value.lower() not in prompt
                # Only the first call: later ones may use what replies have told.
                and any(value in str(step.action.arguments) for step in trajectory.steps[:1])
            ):
                self._note(episode, f"the plan uses {name!r}, but its value {value!r} is not in the prompt")

    @property
    def _has_wrong_plan(self) -> bool:
        return self.scenario.spec.wrong is not None or self.scenario.spec.cases.tasks is not None

    def _wrong_plan_trips(self) -> None:
        writes = {tool.name for tool in self.scenario.source.build().tools if tool.writes}
        spec = self.scenario.spec
        # What mends a repository writes.
        written = spec.reference is None or any(step.call in writes for step in spec.reference.calls())
        if spec.impossible or not written:
            return
        if not self._has_wrong_plan:
            self.proof.problems.append("a family that writes needs a `wrong` plan, to show that its checks catch one")
        elif self.wrong_trips == 0:
            self.proof.problems.append("the wrong plan trips no forbidden-effect check in any case")

    async def _depends_on_world(self, episode: Episode, oracle: Trajectory) -> None:
        """Check that some change to the world lowers the oracle's reward while plan and gold stay the same."""
        world = self._world(episode)
        for statement in self.lowering.first(column_changes(world)):
            try:
                altered = world.altered(statement)
                played = await self._play(episode, "oracle", altered)
            # A change that constraints refuse, or that breaks the plan, shows nothing.
            except SimtrainError:
                continue
            if await self._loses(episode, altered, played):
                self.lowering.add(statement)
                return
        self._note(
            episode,
            "no changed value of the world lowers the oracle's reward: the plan or the gold does not depend on the world",
        )

    async def _graders_can_fail(self, episode: Episode, oracle: Trajectory) -> None:
        # Graders that the wrong plan has lowered are proved already.
        unmoved = {grading.label for grading in self.scenario.grading} - self.tripped
        if not unmoved:
            return
        world = self._world(episode)
        async for statement, graded in self._spoilt(world, oracle):
            moved = unmoved & lowered(graded)
            if moved and statement is not None:
                self.spoiling.add(statement)
            unmoved -= moved
            if not unmoved:
                return
        for label in sorted(unmoved):
            self._note(
                episode, f"the grader {label!r} gives full marks whatever is changed in the answer or the final state"
            )

    async def _spoilt(self, world: World, oracle: Trajectory) -> AsyncIterator[tuple[str | None, Trajectory]]:
        """Yield the oracle's trajectory graded with another end (None), or over another final state, with the statement that made it."""
        final = world.open(oracle.changes)
        finished = FinishedWorld(world, final, oracle.changes)
        for changed in answer_changes(oracle):
            yield None, await self._grade(changed, finished)
        for statement, state in state_changes(finished, self.spoiling.first(column_changes(world))):
            yield statement, await self._grade(replace(oracle, changes=dict(state.changes)), state)
        final.close()


def _leaves(value: JsonValue) -> Iterator[JsonValue]:
    if is_object(value):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in cast(Sequence[JsonValue], value):
            yield from _leaves(item)
    else:
        yield value


def _as_text(value: JsonValue) -> str | None:
    """Return a gold value as text; None for what anybody could guess: yes, no, and numbers below 100."""
    if value is None or isinstance(value, bool) or (isinstance(value, int | float) and abs(value) < 100):
        return None
    text = str(value).strip().lower()
    if text in _WORDLESS:
        return None
    try:
        return None if abs(float(text)) < 100 else text
    except ValueError:
        return text


def _rules(trajectory: Trajectory) -> set[str]:
    return {
        step.observation.provenance.rule
        for step in trajectory.steps
        if step.observation.provenance and step.observation.provenance.rule
    }
