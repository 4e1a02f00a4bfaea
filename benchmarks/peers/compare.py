"""CPU time of a tool call in peers and in simtrain: the same episode of ten calls, each peer in an environment that this script makes.

The model is `python -m simtrain.testing`, in a process whose CPU time does not count; or else an object of the peer's own in its process.
tau2-bench is no package: it is measured from a checkout that `--tau2` names.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))

from bench_http import serving  # noqa: E402
from depot import CALLS, SEARCH, searching  # noqa: E402
from measure import Episode  # noqa: E402

from simtrain.runs.rollout import brief  # noqa: E402
from simtrain.runs.schedule import Deal  # noqa: E402
from simtrain.scenarios.load import paradigm_of  # noqa: E402
from simtrain.values.types import Action, JsonObject  # noqa: E402

ENVIRONMENTS = HERE / ".venvs"
ARGUMENTS = {"text": "an"}
ANSWER = "ANSWER: done"


@dataclass(frozen=True)
class Peer:
    """A script, and the environment that it runs in: the name of a file of pinned versions; None for this interpreter's own."""

    title: str
    script: str
    environment: str | None


PEERS = {
    "langgraph": Peer("bare LangGraph, two nodes, and posts with aiohttp", "play_langgraph.py", "langchain"),
    "simtrain": Peer("simtrain", "play_simtrain.py", None),
    "verifiers": Peer("verifiers, `ToolEnv`", "play_verifiers.py", "verifiers"),
    "create_agent": Peer("LangChain, `create_agent` and `ChatOpenAI`", "play_create_agent.py", "langchain"),
    "inspect_ai": Peer("inspect_ai, `generate` with a tool", "play_inspect_ai.py", "inspect_ai"),
    "tau2": Peer("tau2-bench, `Orchestrator` and `LLMAgent`", "play_tau2.py", "tau2"),
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peers", nargs="*", help=f"some of {', '.join(PEERS)}; without any, all but tau2")
    parser.add_argument(
        "--tau2", type=Path, metavar="FOLDER", help="a checkout or a wheel of tau2-bench, to be measured as well"
    )
    parser.add_argument("--episodes", type=int, default=192, help="episodes in a round")
    parser.add_argument("--rounds", type=int, default=5, help="rounds, of which the median counts")
    parser.add_argument("--json", action="store_true", help="print one JSON object a peer")
    given = parser.parse_args()
    wanted = given.peers or [name for name in PEERS if name != "tau2" or given.tau2]
    if unknown := [name for name in wanted if name not in PEERS]:
        parser.error(f"no peer is called {unknown[0]}")
    if "tau2" in wanted and not given.tau2:
        parser.error("tau2-bench is no package: name a checkout of it with --tau2 FOLDER")
    if given.tau2 and not given.tau2.exists():
        parser.error(f"{given.tau2}: there is no such folder")
    for name in wanted:
        found = measured(PEERS[name], episodes=given.episodes, rounds=given.rounds, checkout=given.tau2)
        print(json.dumps({"peer": name, **found}) if given.json else row(PEERS[name], found), flush=True)


def row(peer: Peer, found: dict[str, Any]) -> str:
    """One row of the table in docs/benchmarks.md."""
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    return f"| {peer.title} | {found['http']:.2f} | {found['in_process']:.2f} | {versions} |"


def measured(peer: Peer, *, episodes: int, rounds: int, checkout: Path | None) -> dict[str, Any]:
    """What the script of a peer prints."""
    python = interpreter(peer.environment, checkout)
    options = ["--episodes", str(episodes), "--rounds", str(rounds)]
    settings = {
        "INSPECT_DISPLAY": "none",
        "LANGSMITH_TRACING": "false",
        "OPENAI_API_KEY": "none",
        "HF_HUB_OFFLINE": "1",
    }
    with TemporaryDirectory() as folder, serving(calls=CALLS) as url:
        file = Path(folder) / "episode.json"
        file.write_text(json.dumps(asdict(asyncio.run(described(Path(folder), url)))))
        command = [python, str(HERE / peer.script), str(file), *options]
        done = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, check=False, cwd=folder, env={**os.environ, **settings}
        )
    if done.returncode:
        raise SystemExit(f"{peer.script} ended with exit code {done.returncode}")
    return json.loads(done.stdout.splitlines()[-1])


def interpreter(environment: str | None, checkout: Path | None) -> str:
    """The interpreter of an environment, which is made when it is not there or when what belongs into it has changed."""
    if environment is None:
        return sys.executable
    folder, pins = ENVIRONMENTS / environment, HERE / f"{environment}.txt"
    python, mark = folder / "bin" / "python", folder / "installed.txt"
    # A checkout names the versions that it wants itself.
    wanted = _of_a_checkout(checkout) if environment == "tau2" else ["-r", str(pins)]
    done = "\n".join([*wanted, pins.read_text() if pins.exists() else ""])
    if not mark.exists() or mark.read_text() != done:
        print(f"making {folder.relative_to(HERE.parent.parent)}", file=sys.stderr)
        run([sys.executable, "-m", "venv", "--clear", str(folder)])
        run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted])
        mark.write_text(done)
    return str(python)


def _of_a_checkout(checkout: Path | None) -> list[str]:
    """What pip is told to install a folder where it lies, or else a wheel."""
    assert checkout is not None
    place = str(checkout.resolve())
    return ["-e", place] if checkout.is_dir() else [place]


def run(command: Sequence[str]) -> None:
    """Run a command, whose failure ends this one."""
    if subprocess.run(command, check=False).returncode:
        raise SystemExit(f"failed: {' '.join(command)}")


async def described(folder: Path, url: str) -> Episode:
    """The episode for the peers: prompt, tool and reply are those of simtrain's world."""
    [episode] = Deal([searching(folder)], seed=0, total=1, attempts=1)
    async with paradigm_of(episode.scenario).open(episode) as environment:
        given: JsonObject = dict(ARGUMENTS)
        reply = await environment.step(Action("call_0", SEARCH, given))
        [tool] = environment.tools
        return Episode(
            url=url,
            model="fake",
            prompt=brief(episode, environment).prompt,
            tool="items_search",
            description=tool.description,
            arguments=ARGUMENTS,
            reply=reply.text,
            calls=CALLS,
            answer=ANSWER,
        )


if __name__ == "__main__":
    main()
