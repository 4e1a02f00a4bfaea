"""Episodes of a recipe: demonstrations by an agent, samples by the model, and evaluations on worlds that were held out."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from simtrain.agents.select import build_agent
from simtrain.contracts.scenario import Scenario
from simtrain.contracts.trajectory import SUCCESS, Trajectory
from simtrain.curricula.levels import load_ladder
from simtrain.drills.plan import plan_drill
from simtrain.integrations.train.models import SavedModel
from simtrain.integrations.train.recipe import ChatSpec, Demonstrations, Play, Samples, ServerSpec
from simtrain.integrations.train.servers import NAME, serving
from simtrain.integrations.train.watching import TrainingWatch
from simtrain.public import load_scenarios, run
from simtrain.runs.export import Selection
from simtrain.runs.run_folder import RUN_FILE, read_facts, read_run
from simtrain.runs.runner import FinishedRollout
from simtrain.scenarios.arms import armed
from simtrain.values.arm import CLEAN, PRIMED, Arm
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject

AGENT = f"chat:{NAME}"
"""The agent as which every model plays."""


def scenarios_of(play: Play) -> list[Scenario]:
    """Return the scenarios of a recipe's episodes, each under every condition. Raises InputError."""
    scenarios = load_scenarios(*play.scenarios)
    packs = [name for name in play.conditions if name != CLEAN]
    if not packs:
        return [armed(scenario, Arm(CLEAN, cases=play.cases)) for scenario in scenarios]
    # One plan for all packs: their arms share cases and schedules, so that they can be compared case by case.
    plan = plan_drill(scenarios, packs=packs, kinds=("pack",), cases=play.cases)
    left_out = {PRIMED} if CLEAN in play.conditions else {CLEAN, PRIMED}
    return [one for one in plan.scenarios if one.arm and one.arm.name not in left_out]


def check_play(play: Play) -> None:
    """Raise InputError for scenarios, packs, a curriculum or an agent that cannot be had."""
    if isinstance(play, Demonstrations):
        build_agent(play.agent, play.knobs)
    if isinstance(play, Samples) and play.curriculum:
        load_ladder(play.curriculum).families("train")
    else:
        scenarios_of(play)


def condition(arm: str | None) -> str:
    """Return the condition that an arm belongs to: `clean`, or the name of a pack."""
    return (arm or CLEAN).partition("/")[0]


def demonstrate(data: Demonstrations, seeds: Sequence[int], out: Path, *, watch: TrainingWatch) -> list[Trajectory]:
    """Return the episodes that an agent played, of those that are kept. Raises InputError."""
    if not _complete(out):
        _run(data, data.agent, data.knobs, seeds, out, concurrency=32, watch=watch, name="demonstrations")
    chosen = Selection(minimum=1.0) if data.keep == "solved" else Selection()
    kept = [trajectory for trajectory in read_run(out) if chosen.fits(trajectory)]
    if not kept:
        raise InputError(
            f"the agent {data.agent} solved none of its {sum(1 for _ in read_run(out))} episodes, so the dataset has no rows",
            remedy="name another agent, other scenarios, or `keep: all`",
            file=out,
        )
    return kept


def play_model(
    model: SavedModel,
    play: Play,
    seeds: Sequence[int],
    out: Path,
    *,
    chat: ChatSpec,
    server: ServerSpec,
    temperature: float = 0.0,
    seed: int = 0,
    watch: TrainingWatch,
    name: str,
) -> list[Trajectory]:
    """Return the episodes that a model played, in the run folder `out`; goes on with a run that was broken off.

    Raises InputError, also where episodes failed through no fault of the model.
    """
    if not _complete(out):
        with serving(model, server) as url:
            knobs = chat_knobs(url, chat, temperature)
            _run(play, AGENT, knobs, seeds, out, seed=seed, concurrency=server.slots, watch=watch, name=name)
    return list(read_run(out))


def chat_knobs(url: str, chat: ChatSpec, temperature: float) -> JsonObject:
    """Return the knobs of the agent `chat` that renders a conversation as in training."""
    return {
        "base_url": url,
        "protocol": "completions",
        "chat_template": chat.template,
        "listing": chat.listing,
        "max_tokens": chat.max_tokens,
        "temperature": temperature,
        "seed": "episode",
    }


def _complete(out: Path) -> bool:
    """True if a run folder holds all episodes that were planned."""
    return (out / RUN_FILE).is_file() and sum(1 for _ in read_run(out)) == read_facts(out)["episodes"]


def _run(
    play: Play,
    agent: str,
    knobs: JsonObject,
    seeds: Sequence[int],
    out: Path,
    *,
    seed: int = 0,
    concurrency: int,
    watch: TrainingWatch,
    name: str,
) -> None:
    done = 0
    solved = Counter[bool]()

    def played(rollout: FinishedRollout) -> None:
        nonlocal done
        done += 1
        if rollout.reward is not None:
            solved[rollout.reward >= SUCCESS] += 1
        watch.step(done, f"solved {solved[True]} of {solved.total()}")

    result = run(
        scenarios_of(play),
        agent,
        out=out,
        knobs=knobs,
        seed=seed,
        attempts=play.attempts,
        concurrency=concurrency,
        seeds=seeds,
        resume=True,
        on_planned=lambda total: watch.begin(name, total),
        on_played=played,
    )
    if result.interrupted:
        raise InputError("stopped early", remedy="run the same command again: it goes on where it was", file=out)
    if result.failed:
        raise InputError(
            f"{result.failed} episodes failed through no fault of the agent",
            remedy="see failures.jsonl, then run the same command again: it plays them anew",
            file=out,
        )


def best_of(trajectories: Sequence[Trajectory], *, most: int) -> list[Trajectory]:
    """Return the solved episodes, at most so many of each case; of one case, those with the fewest steps."""
    found: dict[str, list[Trajectory]] = {}
    for trajectory in trajectories:
        if trajectory.reward is not None and trajectory.reward >= SUCCESS:
            found.setdefault(case_of(trajectory), []).append(trajectory)
    short = [sorted(of_case, key=lambda one: (len(one.steps), one.attempt))[:most] for of_case in found.values()]
    return [trajectory for of_case in short for trajectory in of_case]


def case_of(trajectory: Trajectory) -> str:
    """Return what identifies a case and its condition across models: family, world, case and arm."""
    return f"{trajectory.scenario} {trajectory.episode} {trajectory.arm}"
