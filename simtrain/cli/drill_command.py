"""`simtrain drill`: play the same episodes with and without perturbations, and report."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simtrain.cli.completing import agent_names, pack_names, scenario_names
from simtrain.cli.options import allow_live_servers, console, knobs_from, print_json, warn
from simtrain.cli.shared_options import AllowLive, Attempts, Concurrency, Knobs, Out, Resume, Seed, Via, Workers
from simtrain.values.errors import InputError, nearest

if TYPE_CHECKING:
    from simtrain.drills.gates import Gate
    from simtrain.drills.plan import DrillPlan
    from simtrain.drills.report import Report, RunReport
    from simtrain.runs.run import RunResult
    from simtrain.runs.runner import RunOptions

HELP = """Play the same episodes with and without trouble, and report.

Arms: clean, each perturbation of the packs alone, each pack, all packs at
once; if a language model is the world, also clean with its state given
(primed). All share cases, seeds and schedules. The run folder gets
drill.json and drill.html. Exit code 1 if a condition of --fail-on holds,
a planned fault never fired, or the run was interrupted.

\b
Examples:
  simtrain drill helpdesk --pack uncertain_writes
  simtrain drill helpdesk --pack flaky_network --pack dirty_data \\
      --agent chat:gpt-5.4 -k 4 --severity 0,0.25,0.5,1 --plan
  simtrain drill helpdesk/refund --pack uncertain_writes --agent naive \\
      --agent resilient --fail-on "success<0.9" --fail-on duplicate-write
  simtrain drill helpdesk/refund --pack flaky_network \\
      --agent "mcp:my_agent --url {url} --task {prompt}" -c 4
  simtrain drill --compare runs/before runs/after --json
  simtrain drill helpdesk/refund --pack uncertain_writes --out runs/drill \\
      --junit drill.xml --sarif drill.sarif --summary drill.md
"""


FIXES = 5
"""Maximum findings that are printed; the report has more."""


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Families, suites, files or folders.", metavar="[NAME|FILE|FOLDER...]", autocompletion=scenario_names
        ),
    ] = None,
    packs: Annotated[
        list[str] | None,
        typer.Option(
            "--pack",
            "-p",
            help="A pack; may be repeated. Without: the scenarios' own perturbations.",
            autocompletion=pack_names,
        ),
    ] = None,
    agents: Annotated[
        list[str] | None,
        typer.Option(
            "--agent", "-a", help="As in simtrain run; two are compared. [resilient]", autocompletion=agent_names
        ),
    ] = None,
    knobs: Knobs = None,
    attempts: Attempts = 1,
    severity: Annotated[
        str | None, typer.Option("--severity", help="0 to 1, several with commas; else what the packs say.")
    ] = None,
    cases: Annotated[
        int | None, typer.Option("--cases", "-n", min=1, help="Cases of each family, drawn by the seed; else all.")
    ] = None,
    arms: Annotated[str, typer.Option("--arms", help="Which beside the clean one.")] = "alone,pack,together",
    seed: Seed = 0,
    concurrency: Concurrency = 32,
    workers: Workers = 1,
    out: Out = None,
    resume: Resume = False,
    via: Via = None,
    allow_live: AllowLive = False,
    max_cost: Annotated[
        float | None, typer.Option("--max-cost", min=0, help="US dollars after which no episode is begun.")
    ] = None,
    prove: Annotated[
        bool,
        typer.Option("--prove", help="Search a way through every case and arm, and keep labels and proofs."),
    ] = False,
    fail_on: Annotated[
        list[str] | None,
        typer.Option("--fail-on", help='A condition such as "success<0.9" or duplicate-write; may be repeated.'),
    ] = None,
    allow_unfired: Annotated[
        bool, typer.Option("--allow-unfired", help="Do not fail if planned faults never fired.")
    ] = False,
    plan_only: Annotated[
        bool, typer.Option("--plan", help="Print arms, episodes and the estimated tokens and cost; play nothing.")
    ] = False,
    compare: Annotated[
        tuple[Path, Path] | None, typer.Option("--compare", help="Report on two drills that were played.")
    ] = None,
    again: Annotated[
        Path | None, typer.Option("--report", help="Report again on a drill that was played.", metavar="RUN")
    ] = None,
    junit: Annotated[
        Path | None, typer.Option("--junit", help="Also write JUnit XML to this file.", metavar="FILE.xml")
    ] = None,
    sarif: Annotated[
        Path | None, typer.Option("--sarif", help="Also write the findings as SARIF 2.1.0.", metavar="FILE.sarif")
    ] = None,
    summary: Annotated[
        Path | None, typer.Option("--summary", help="Also write a summary in Markdown.", metavar="FILE.md")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Plan, play, report, judge."""
    from simtrain.cli.run_result import new_folder
    from simtrain.drills.drill import folders_of
    from simtrain.drills.gates import read_gate
    from simtrain.drills.report import report_on
    from simtrain.runs.runner import RunOptions

    # Read first: a misspelt condition must fail before hours of playing, not after.
    judging = _Judging([read_gate(text) for text in fail_on or []], junit, sarif, summary, allow_unfired)
    judging.check(playing=not plan_only)
    if compare is not None or again is not None:
        if names:
            raise InputError("--report and --compare play nothing", remedy="leave the scenarios out")
        runs = compare or (again,)
        finished = report_on(*(run for run in runs if run is not None))
        # A comparison must not overwrite the report of either drill.
        stem = "compared" if compare else "drill"
        _finish(finished, out or runs[-1] or Path(), judging, stem=stem, as_json=as_json)
        return
    players = agents or ["resilient"]
    if not names:
        raise InputError("there is nothing to drill", remedy="name a scenario, or a drill with --report")
    if resume and out is None:
        raise InputError("--resume needs --out", remedy="name the run folder to continue")
    if allow_live:
        allow_live_servers()
    plan = _plan(names, packs or [], severity, arms, cases)
    options = [
        RunOptions(
            player, knobs_from(knobs or []), seed, None, attempts, concurrency, workers, via=via, max_cost=max_cost
        )
        for player in players
    ]
    # Only for its check: two agents that cannot be compared are refused before anything is played.
    folders_of(options, Path())
    if plan_only:
        _print_plan(plan, options, as_json=as_json)
        return
    whole = _play(
        plan, options, out or new_folder(names[0], prefix="drill-"), resume=resume, prove=prove, quiet=as_json
    )
    _finish(*whole, judging, as_json=as_json)


@dataclass(frozen=True)
class _Judging:
    """When the drill fails, and the files for a CI system."""

    gates: Sequence[Gate]
    junit: Path | None
    sarif: Path | None
    summary: Path | None
    allow_unfired: bool

    def check(self, *, playing: bool) -> None:
        """Raise InputError for files that could not be written at the end."""
        for option, path in (("--junit", self.junit), ("--sarif", self.sarif), ("--summary", self.summary)):
            if path is not None and not playing:
                raise InputError(f"{option} goes with a drill that is played", remedy="leave --plan or it out")
            if path is not None and (path.is_dir() or not path.parent.is_dir()):
                raise InputError(f"{option}: no file can be written here", remedy="name one in a folder", file=path)

    def write(self, report: Report, failures: Sequence[str]) -> None:
        """Write the files. Raises InputError."""
        from simtrain.drills.junit import junit
        from simtrain.drills.markdown import markdown
        from simtrain.drills.sarif import sarif
        from simtrain.files.jsonl import write_whole

        if self.junit is not None:
            write_whole(self.junit, junit(report, self.gates, allow_unfired=self.allow_unfired))
        if self.sarif is not None:
            write_whole(self.sarif, sarif(report, root=Path.cwd()))
        if self.summary is not None:
            write_whole(self.summary, markdown(report, failures))


def _plan(names: Sequence[str], packs: Sequence[str], severity: str | None, arms: str, cases: int | None) -> DrillPlan:
    from simtrain.drills.plan import KINDS, plan_drill
    from simtrain.public import load_scenarios

    words = [word.strip() for word in arms.split(",")]
    for word in words:
        if word not in KINDS:
            raise InputError(f"--arms: unknown kind {word!r}", remedy=nearest(word, KINDS))
    scenarios = load_scenarios(*names)
    warn(scenarios)
    return plan_drill(
        scenarios,
        packs=packs,
        severities=_severities(severity),
        kinds=[KINDS[word] for word in words],
        cases=cases,
    )


def _severities(text: str | None) -> list[float]:

    if text is None:
        return []
    try:
        found = [float(word) for word in text.split(",")]
    except ValueError:
        found = [-1.0]
    # A severity given twice would make two arms of one name.
    if not all(0 <= value <= 1 for value in found) or len(set(found)) < len(found):
        raise InputError(f"--severity {text!r}: no severities", remedy="write numbers from 0 to 1, like 0,0.25,0.5,1")
    return sorted(found)


def _play(
    plan: DrillPlan, options: Sequence[RunOptions], out: Path, *, resume: bool, prove: bool, quiet: bool
) -> tuple[Report, Path]:
    """Play the drill with each agent, and report; exits with code 1 if it was interrupted."""
    from simtrain.cli.progress import DrillProgress
    from simtrain.drills.drill import drill

    with DrillProgress(quiet=quiet) as progress:
        result = drill(plan, options, out, proving=prove, resume=resume, watch=progress.watch)
    if result.report is None or not result.complete:
        last = result.runs[-1]
        print(
            f"{last.path}: {last.played} played, {last.failed} failed through no fault of the agent"
            f"{', stopped early' if last.interrupted else ''}; go on with --out {out} --resume{_why(last)}",
            file=sys.stderr,
        )
        sys.exit(1)
    return result.report, out


def _why(run: RunResult) -> str:
    """Return the message of the last failure; all of them are in the run folder."""
    from simtrain.runs.trajectory_files import last_failure
    from simtrain.values.terminal_text import in_line

    found = last_failure(run.path) if run.failed else None
    return "" if found is None else f"\nThe last failure, in {found.arm or 'it'}: {in_line(found.stop.detail or '')}"


def _finish(report: Report, folder: Path, judging: _Judging, *, stem: str = "drill", as_json: bool) -> None:
    """Write the files, print, and exit with code 1 if a condition holds or a planned fault never fired."""
    from simtrain.cli.drill_tables import arms_table, attacks_table, compared_table, families_table
    from simtrain.cli.tables import ungraded
    from simtrain.drills.page import write_report
    from simtrain.runs.summary import summarise
    from simtrain.runs.trajectory_files import read_rows

    folder.mkdir(parents=True, exist_ok=True)
    page = write_report(report, folder, stem=stem)
    failures = [line for run in report.runs for gate in judging.gates for line in gate.failures(run)]
    unfired = [f"{run.agent}: {line}" for run in report.runs for line in run.unfired]
    judging.write(report, failures)
    if as_json:
        print_json({**report.facts(), "failures": failures, "page": str(page)})
    else:
        screen = console()
        for run in report.runs:
            screen.print(arms_table(run))
            attacks = attacks_table(run)
            if attacks is not None:
                screen.print(attacks)
            families = families_table(run)
            if families is not None:
                screen.print(families)
        if report.compared:
            screen.print(compared_table(report))
        for run in report.runs:
            for line in ungraded(summarise(read_rows(run.path))):
                screen.print(f"{run.agent}: {line}")
        for run in report.runs:
            for line in run.spared:
                screen.print(f"spared: {run.agent}: {line}")
        for line in unfired:
            screen.print(f"never fired: {line}")
        for line in failures:
            screen.print(f"FAILED: {line}")
        for run in report.runs:
            _print_fixes(run)
        screen.print(f"Report: {page}")
    # A fault that never fired proves nothing, so it fails like a broken condition.
    if failures or (unfired and not judging.allow_unfired):
        sys.exit(1)


def _print_fixes(run: RunReport) -> None:
    """Print what to fix, worst first, with the command that replays one of its episodes; lines meant for copying are
    not wrapped.
    """
    from simtrain.drills.measures import identical_words

    screen = console()
    repeated = [arm.measures for arm in run.arms if arm.measures.identical]
    if repeated:
        words = identical_words(sum(one.identical for one in repeated), once=all(one.once for one in repeated))
        screen.print(f"{run.agent}: {words}")
    if not run.findings:
        return
    screen.print(f"What to fix: {run.agent}", style="bold")
    for number, finding in enumerate(run.findings[:FIXES], 1):
        screen.print(f"{number}. {finding.words} {finding.advice}")
        # Not wrapped, since the command is meant to be copied.
        screen.print(f"   {finding.replay(run.path)}", soft_wrap=True)
    if len(run.findings) > FIXES:
        screen.print(f"{len(run.findings) - FIXES} more are in the report.")


def _print_plan(plan: DrillPlan, options: Sequence[RunOptions], *, as_json: bool) -> None:
    import asyncio

    from simtrain.cli.drill_tables import plan_table
    from simtrain.drills.estimate import estimate, price_of
    from simtrain.runs.schedule import Deal

    dealt = Deal(plan.scenarios, seed=options[0].seed, total=None, attempts=options[0].attempts)
    prices = {option.agent: price_of(option) for option in options}
    found = {agent: asyncio.run(estimate(plan.scenarios, dealt, price=price)) for agent, price in prices.items()}
    if as_json:
        print_json(
            {
                "episodes": len(dealt) * len(options),
                "arms": {
                    agent: [{"arm": arm.name, "episodes": arm.episodes, "usage": arm.usage} for arm in arms]
                    for agent, arms in found.items()
                },
                "left_out": [{"scenario": it.scenario, "arm": it.arm, "reason": it.reason} for it in plan.idle],
            }
        )
        return
    screen = console()
    for agent, arms in found.items():
        screen.print(plan_table(agent, arms, scripted=prices[agent] is None))
    for it in plan.idle:
        screen.print(f"left out: {it.scenario}, {it.arm}: {it.reason}")
