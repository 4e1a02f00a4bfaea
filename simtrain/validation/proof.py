"""The result of proving a scenario family, and the part of the proofs that all families share."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from simtrain.agents.select import build_agent
from simtrain.contracts.scenario import Episode, Scenario
from simtrain.contracts.trajectory import SUCCESS, Trajectory, to_line
from simtrain.contracts.world import FinishedWorld, World
from simtrain.grading.reward import grade
from simtrain.runs.rollout import rollout
from simtrain.scenarios.beginning import world_of
from simtrain.scenarios.load import paradigm_of
from simtrain.values.errors import InputError
from simtrain.values.seeding import Stream, derive
from simtrain.values.types import JsonObject


@dataclass
class Proof:
    """The result of proving a family; it is proved if `problems` is empty.

    `rules` are the refusals met, `calls` the oracle's fewest and most; `warnings` name what is allowed but unlikely to be meant.
    """

    name: str
    cases: int = 0
    calls: tuple[int, int] = (0, 0)
    rules: set[str] = field(default_factory=set[str])
    problems: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])

    def facts(self) -> JsonObject:
        """Return the JSON that `simtrain validate --json` prints."""
        return {
            "name": self.name,
            "ok": not self.problems,
            "cases": self.cases,
            "calls": list(self.calls),
            "rules": sorted(self.rules),
            "problems": self.problems,
            "warnings": self.warnings,
        }


class Prover(ABC):
    """Plays the episodes of a family and collects its problems, one line each."""

    def __init__(self, scenario: Scenario, proof: Proof, *, cases: int | None, seed: int) -> None:
        """Sample `cases` episodes; None: all. Raises InputError for a file that cannot be used."""
        self.scenario = scenario
        self.proof = proof
        self.episodes = list(paradigm_of(scenario).episodes(scenario, seed=seed, attempts=1))
        if cases is not None:
            self.episodes = Stream(derive(seed, scenario.name, "proof")).sample(self.episodes, cases)

    async def prove(self) -> None:
        """Run every proof."""
        self.proof.cases = len(self.episodes)
        self._check_family()
        oracles: list[tuple[Episode, Trajectory]] = []
        for episode in self.episodes:
            try:
                # A bad case is a finding: the others are still proved.
                oracles.append((episode, await self._check_case(episode)))
            except InputError as error:
                self._note(episode, str(error))
        if oracles:
            counts = [len(oracle.steps) for _, oracle in oracles]
            self.proof.calls = (min(counts), max(counts))
        await self._check_solved([(episode, oracle) for episode, oracle in oracles if (oracle.reward or 0) >= SUCCESS])

    def _check_family(self) -> None:
        """Check that no two cases have the same prompt."""
        prompts = Counter((self.scenario.prompt.render(episode.case), episode.variant) for episode in self.episodes)
        for (prompt, _), count in prompts.items():
            if count > 1:
                self.proof.problems.append(f"{count} cases have the same prompt: {prompt.strip()[:80]!r}")

    async def _check_case(self, episode: Episode) -> Trajectory:
        """Check that the oracle earns full reward, that idle agents earn less, and that one that declines a feasible
        case earns nothing.
        """
        oracle = await self._play(episode, "oracle")
        if oracle.reward is None or oracle.reward < SUCCESS:
            self._note(episode, f"the oracle earns {oracle.reward}, not 1: {why(oracle)}")
        for name in ("nop", "claims_done"):
            idle = await self._idle(episode, name)
            if idle.reward is None or idle.reward >= SUCCESS:
                self._note(episode, f"the agent {name}, which calls nothing, earns {idle.reward}")
        if not self.scenario.spec.impossible:
            declined = await self._idle(episode, "abstain")
            if declined.reward != 0:
                self._note(episode, f"an agent that declines at once earns {declined.reward}, not 0")
        return oracle

    @abstractmethod
    async def _check_solved(self, oracles: Sequence[tuple[Episode, Trajectory]]) -> None:
        """Prove the rest from the cases in which the oracle earned full reward."""

    async def _play(self, episode: Episode, agent: str, world: World | None = None) -> Trajectory:
        return await rollout(episode, build_agent(agent), name=agent, world=world)

    async def _idle(self, episode: Episode, agent: str) -> Trajectory:
        """Return the trajectory of an agent that makes no call."""
        return await self._play(episode, agent)

    async def _reordered(self, episode: Episode, oracle: Trajectory) -> Trajectory | None:
        """Return the oracle's trajectory with SQLite's free choices of order reversed; None if that changes nothing."""
        played = await self._play(episode, "oracle", self._world(episode).backwards())
        # `timing` holds wall-clock values, which differ anyway.
        same = to_line(replace(played, timing={})) == to_line(replace(oracle, timing={}))
        return None if same else played

    async def _loses(self, episode: Episode, altered: World, played: Trajectory) -> bool:
        """True if what was played in an altered world earns less than full reward by the gold of the original world."""
        final = altered.open(played.changes)
        graded = await self._grade(played, FinishedWorld(self._world(episode), final, played.changes))
        final.close()
        return graded.reward is not None and graded.reward < SUCCESS

    async def _grade(self, trajectory: Trajectory, finished: FinishedWorld) -> Trajectory:
        return await grade(trajectory, self.scenario.grading, self.scenario.spec.rubric, finished)

    def _world(self, episode: Episode) -> World:
        return world_of(episode)

    def _note(self, episode: Episode, problem: str) -> None:
        self.proof.problems.append(f"case {episode.id}: {problem}")


def lowered(trajectory: Trajectory) -> set[str]:
    """Return the graders that gave less than full reward."""
    return {reward.grader for reward in trajectory.rewards if reward.value is not None and reward.value < SUCCESS}


def why(trajectory: Trajectory) -> str:
    """Return why a trajectory lost reward, in a few words."""
    if trajectory.stop.detail:
        return trajectory.stop.detail
    lost = [reward for reward in trajectory.rewards if reward.value is None or reward.value < SUCCESS]
    return "; ".join(f"{reward.grader}: {reward.error or reward.detail}" for reward in lost)[:400]
