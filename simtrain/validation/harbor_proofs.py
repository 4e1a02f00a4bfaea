"""Proofs of a Harbor folder: its solution earns 1 each time, nobody else does, and a reward that the agent writes itself counts nothing.

Other families change their world until a reward falls. Here the tests are programs that nobody has to understand: they are run.
"""

from collections.abc import Sequence

from simtrain.contracts.scenario import Episode, Scenario
from simtrain.contracts.trajectory import SUCCESS, Trajectory
from simtrain.validation.proof import Proof, Prover, why


async def prove_harbor(scenario: Scenario, proof: Proof, *, cases: int | None, seed: int) -> Proof:
    """Prove a Harbor folder, and return the proof. Raises InputError for a file that cannot be used."""
    if scenario.spec.reference is None:
        proof.problems.append("there is no solution/solve.sh, so nothing can be proved")
        return proof
    await _HarborProver(scenario, proof, cases=cases, seed=seed).prove()
    return proof


class _HarborProver(Prover):
    async def _check_case(self, episode: Episode) -> Trajectory:
        oracle = await super()._check_case(episode)
        forged = await self._play(episode, "wrong")
        if forged.reward is None or forged.reward >= SUCCESS:
            self._note(episode, f"an agent that writes the reward itself earns {forged.reward}: {why(forged)}")
        return oracle

    async def _check_solved(self, oracles: Sequence[tuple[Episode, Trajectory]]) -> None:
        for episode, _ in oracles:
            again = await self._play(episode, "oracle")
            if again.reward is None or again.reward < SUCCESS:
                self._note(
                    episode, f"the tests are flaky: the same solution earned 1, and then {again.reward}: {why(again)}"
                )
