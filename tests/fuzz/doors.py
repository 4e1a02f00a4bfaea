"""The doors at which hostile inputs knock. Each makes one input by a number and tries it; what must not happen raises."""

from __future__ import annotations

import asyncio
import io
import json
import shutil
import unicodedata
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import cache
from pathlib import Path
from random import Random

import yaml

from simtrain.cli import main
from simtrain.files.templates import Text, Value
from simtrain.llm.completion import Malformed, read_completion, read_error
from simtrain.mcp.serve.targets import load_target
from simtrain.mcp_wire.frames import decode_frames
from simtrain.mcp_wire.validation import flaw
from simtrain.runs.schedule import Deal
from simtrain.scenarios.find import find
from simtrain.scenarios.load import load_world, paradigm_of
from simtrain.values.errors import SimtrainError
from simtrain.values.types import Action
from tests.fuzz import bad, good

LINE = 500
"""Characters of an error line."""


def command(words: list[str]) -> None:
    """Run a command. Raises AssertionError for any end but a result or one line, and for text that steers a terminal."""
    out, err = _Stream(), _Stream()
    code: object = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main(words)
        except SystemExit as ended:
            code = ended.code
    said = err.getvalue()
    assert code in (0, 1, 2, None), f"exit code {code}"
    for letter in out.getvalue() + said:
        assert letter in "\n\t" or unicodedata.category(letter) not in ("Cc", "Cs"), f"{letter!r} was printed"
    if code == 2:
        assert said.startswith("error: ") and said.count("\n") == 1 and len(said) <= LINE + 1, said[:2000]


class _Stream(io.TextIOWrapper):
    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    def getvalue(self) -> str:
        return self.buffer.getvalue().decode()  # type: ignore[attr-defined]


def changed_text(text: str, random: Random) -> str:
    """A text with some of it gone, doubled, or put in the place of other parts."""
    for _ in range(random.randint(1, 4)):
        first, last = sorted(random.randrange(len(text) + 1) for _ in range(2))
        last = min(last, first + 40)
        new = random.choice(
            ("", text[first:last] * 2, random.choice(list("{}[]'\":|,-\n\t&*!%@`\x00\x1b")), *map(str, bad.VALUES[:20]))
        )
        text = text[:first] + new + text[last:]
    return text


def changed_tree(value: object, random: Random) -> object:
    """A JSON value with another one at one place of it."""
    if isinstance(value, dict) and value and random.random() < 0.9:
        key = random.choice(list(value))
        if random.random() < 0.1:
            return {**{name: value[name] for name in value if name != key}, str(random.choice(bad.VALUES)): value[key]}
        return {**value, key: changed_tree(value[key], random)}
    if isinstance(value, list) and value and random.random() < 0.9:
        place = random.randrange(len(value))
        return [*value[:place], changed_tree(value[place], random), *value[place + 1 :]]
    if isinstance(value, str):
        return random.choice(
            (random.choice(bad.SQL), random.choice(bad.TEMPLATES), random.choice(bad.VALUES), bad.STEERING)
        )
    return random.choice(bad.VALUES)


def _written(text: str, random: Random) -> bytes:
    """A hostile form of a YAML or JSON file."""
    if random.random() < 0.3:
        return changed_text(text, random).encode(errors="surrogatepass")
    tree = yaml.safe_load(text)
    for _ in range(random.randint(1, 2)):
        tree = changed_tree(tree, random)
    try:
        return json.dumps(tree, default=lambda date: date.strftime("%Y-%m-%dT%H:%M:%SZ")).encode()
    except ValueError:
        return changed_text(text, random).encode(errors="surrogatepass")


def files(random: Random, folder: Path) -> None:
    """A world and its scenario, played."""
    hostile = random.choice(("w.yaml", "s.yaml"))
    for name, text in (("w.yaml", good.WORLD), ("s.yaml", good.SCENARIO)):
        (folder / name).write_bytes(_written(text, random) if name == hostile else text.encode())
    if random.random() < 0.2:
        try:
            load_target(str(folder / "w.yaml"))
        except SimtrainError:
            return
    command(
        [
            "run",
            str(folder / "s.yaml"),
            "--agent",
            random.choice(("oracle", "naive", "nop")),
            "--episodes",
            "2",
            "--out",
            str(folder / "r"),
            "--show",
        ]
    )


def runs(random: Random, folder: Path) -> None:
    """A run folder of somebody else."""
    shutil.copytree(_good_run(), folder / "r")
    chosen = random.choice([path for path in sorted((folder / "r").iterdir()) if path.suffix in (".json", ".jsonl")])
    lines = chosen.read_text().splitlines() or [""]
    place = random.randrange(len(lines))
    lines[place] = _written(lines[place] if chosen.suffix == ".jsonl" else chosen.read_text(), random).decode(
        errors="replace"
    )
    chosen.write_text("\n".join(lines if chosen.suffix == ".jsonl" else [lines[place]]) + "\n")
    words = random.choice(
        (["show"], ["grade"], ["show", "--failed"], ["export", "--to", "openai", "--out", str(folder / "e.jsonl")])
    )
    command([words[0], str(folder / "r"), *words[1:]])


@cache
def _good_run() -> Path:
    folder = Path.cwd() / "good"
    folder.mkdir()
    (folder / "w.yaml").write_text(good.WORLD)
    (folder / "s.yaml").write_text(good.SCENARIO)
    command(["run", str(folder / "s.yaml"), "--agent", "oracle", "--episodes", "2", "--out", str(folder / "r")])
    return folder / "r"


def documents(random: Random, folder: Path) -> None:
    """Files that other commands read."""
    (folder / "q.jsonl").write_bytes(_written(good.QUESTIONS, random) + b"\n")
    (folder / "a.jsonl").write_bytes(_written(good.RESPONSES, random) + b"\n")
    (folder / "m.json").write_bytes(random.choice((_written(good.SERVERS, random), random.choice(bad.JSON).encode())))
    chosen = random.randrange(4)
    if chosen == 0:
        command(
            [
                "score-widesearch",
                "--questions",
                str(folder / "q.jsonl"),
                "--responses",
                str(folder / "a.jsonl"),
                "--gold",
                str(folder),
            ]
        )
    elif chosen == 1:
        command(
            ["capture", "--config", str(folder / "m.json"), "--out", str(folder / "c.json"), "--server-timeout", "2"]
        )
    elif chosen == 2:
        command(["world", "draft", str(folder / "m.json"), "--out", str(folder / "d.yaml")])
    else:
        command(["serve", str(folder / "m.json"), "--port", "99999999"])


def calls(random: Random, folder: Path) -> None:
    """A tool call with hostile arguments."""
    name = random.choice(
        (
            "sqlite",
            "sqlite",
            "filesystem",
            "git",
            "memory",
            "time",
            "sequential_thinking",
            "notes",
            "tracker",
            "mailbox",
            "helpdesk",
        )
    )
    asyncio.run(_call(name, random))


async def _call(name: str, random: Random) -> None:
    (scenario,) = _served(name)
    async with paradigm_of(scenario).open(Deal([scenario], seed=0, total=1, attempts=1)[0]) as environment:
        for _ in range(3):
            tool = random.choice(environment.tools)
            properties: dict[str, object] = tool.input_schema.get("properties", {})
            arguments = {key: _argument(key, random) for key in properties if random.random() < 0.9}
            environment.begin_turn()
            try:
                observation = await environment.step(Action("c", tool.name, arguments))
            except SimtrainError as error:
                # A fault that hides some other exception is a bug of ours.
                assert error.__cause__ is None, f"{type(error.__cause__).__name__}: {error}"
                continue
            observation.text.encode()


def _argument(key: str, random: Random) -> object:
    if key in ("query", "sql") and random.random() < 0.9:
        return random.choice(bad.SQL)
    return random.choice((random.choice(bad.VALUES), random.choice(bad.VALUES), "a", 1, random.choice(bad.JSON)))


@cache
def _served(name: str):
    return load_target(name)


def frames(random: Random, folder: Path) -> None:
    """Messages and bodies."""
    text = random.choice(
        (
            random.choice(bad.JSON),
            changed_text(good.FRAME, random),
            _written(good.FRAME, random).decode(errors="replace"),
        )
    )
    content = text.encode(errors="replace")
    told = flaw(content)
    assert told is None or json.dumps(told)
    decode_frames(content)
    body = random.choice(
        (content, _written(good.COMPLETION, random), changed_text(good.COMPLETION, random).encode(errors="replace"))
    )
    with suppress(Malformed):
        read_completion(body)
    read_error(body)


def templates(random: Random, folder: Path) -> None:
    """Templates."""
    source = random.choice(bad.TEMPLATES)
    source = source if random.random() < 0.6 else changed_text(source, random)
    values = {"x": random.choice(("a" * 1000, list(range(5000)), [["a"] * 100] * 100, {"a": 1}, 3, None, bad.STEERING))}
    for make in (Text, Value):
        try:
            made = make(source)
            made.render(values) if isinstance(made, Text) else made.evaluate(values)
        except SimtrainError as error:
            assert "\n" not in str(error) and len(str(error)) < 2000


def statements(random: Random, folder: Path) -> None:
    """SQL over a world's state."""
    state = _world().open()
    sql = random.choice(bad.SQL)
    sql = sql if random.random() < 0.8 else changed_text(sql, random)
    for ask in (state.query, state.execute):
        try:
            ask(sql)
        except SimtrainError as error:
            assert "\n" not in str(error)
    state.changes()
    state.close()


@cache
def _world():
    return load_world(find("worlds", "helpdesk")).build()


DOORS: tuple[tuple[Callable[[Random, Path], None], int], ...] = (
    (files, 30), (runs, 12), (documents, 12), (calls, 22), (frames, 8), (templates, 10), (statements, 6),
)  # fmt: skip
"""The doors, and how many of a hundred inputs go to each."""


def door_of(number: int) -> Callable[[Random, Path], None]:
    """The door of an input."""
    left = number * 37 % 100
    for door, share in DOORS:
        left -= share
        if left < 0:
            return door
    raise AssertionError
