"""The token ids that `simtrain capture-tokens` recorded, by episode."""

from dataclasses import dataclass
from pathlib import Path

import orjson
from pydantic import TypeAdapter, ValidationError

from simtrain.files.jsonl import whole_lines
from simtrain.values.errors import InputError
from simtrain.values.tokens import Tokens, behind


@dataclass(frozen=True)
class _Line:
    """The fields of a captured reply that are used; others are ignored."""

    prompt_ids: tuple[int, ...]
    completion_ids: tuple[int, ...]
    logprobs: tuple[float, ...] = ()
    episode: str | None = None
    choice: int = 0


@dataclass(frozen=True)
class _CapturedTurn:
    tokens: Tokens


def read_capture(path: Path) -> dict[str, list[Tokens]]:
    """Return the tokens of each episode's replies, in the order of the requests; a reply that continues others has only the new ids.

    Of several choices the first is used. Raises InputError, with the line, for a file that is not a capture.
    """
    found: dict[str, list[_CapturedTurn]] = {}
    lines = TypeAdapter(_Line)
    try:
        for number, text in whole_lines(path):
            line = _read(lines, text, path, number)
            if line.episode is not None and not line.choice:
                turns = found.setdefault(line.episode, [])
                # One logprob per id, or none at all: trainers pair them by position.
                logprobs = line.logprobs if len(line.logprobs) == len(line.completion_ids) else ()
                turns.append(_CapturedTurn(behind(Tokens(line.prompt_ids, line.completion_ids, logprobs), turns)))
    except OSError as error:
        raise InputError(f"the capture cannot be read: {error.strerror}", file=path) from None
    return {episode: [one.tokens for one in turns] for episode, turns in found.items()}


def _read(lines: TypeAdapter[_Line], text: bytes, path: Path, number: int) -> _Line:
    try:
        return lines.validate_python(orjson.loads(text))
    except (orjson.JSONDecodeError, ValidationError):
        raise InputError(
            "this is not a line of captured tokens",
            remedy="give a file of simtrain capture-tokens",
            file=path,
            line=number,
        ) from None
