"""A formatter that rewrites files of Python after each change."""

import ast
import io
import re
import tokenize
from typing import ClassVar

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.perturbations.catalogued import Catalogued
from simtrain.perturbations.code_files import code, host_of, is_of_code, on_a_machine, write_code
from simtrain.values.python_source import parsed_python
from simtrain.values.types import Observation, ToolSpec

_PLAIN = re.compile(r"([rbuRBU]{0,2})(['\"])([^'\"\\\n]*)\2")


class Formatter(Catalogued):
    """A formatter runs on what is saved: files of Python that a call changed are rewritten after it, with the other kind of quotes.

    Source: SWE agents' trajectories, editors that format on saving. What the code does stays the same. An agent should read a file
    again before it edits it once more, and edit what is there. It fires on calls that change a file of Python with a plain string in it,
    and goes on with all later ones.
    """

    traits: ClassVar[Traits] = Traits(
        side="state", layer="D", effect="after", visible=False, recoverable_by=("cross-check", "fix-call"), needs_world=True, shell=True,
    )  # fmt: skip

    def reaches(self, tool: ToolSpec) -> bool:
        """True for a shell and for the tools of coding agents for files."""
        return is_of_code(tool)

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Pass the call on, and format what it changed."""
        world = on_a_machine(call)
        if world is None:
            return await proceed(call.request)
        host = host_of(call, world)
        before = code(world, host)
        reply = await proceed(call.request)
        for path, text in code(world, host).items():
            if before.get(path) == text:
                continue
            # A formatter has one idea of a file, whatever is typed into it.
            quote = str(call.memory.setdefault(path, other_quote(text)))
            if (after := formatted(text, quote)) != text:
                write_code(world, host, path, after)
        return reply


def other_quote(text: str) -> str:
    """Return the kind of quotes that fewer of a module's plain strings have."""
    kinds = [found[2] for _, found in _strings(text)]
    return '"' if kinds.count("'") * 2 >= len(kinds) else "'"


def formatted(text: str, quote: str) -> str:
    """Return a module whose plain strings have one kind of quotes; one that does not parse, or would mean something else, as it is."""
    lines = text.splitlines(keepends=True)
    # From the end, so that places before stay where they are.
    for token, found in reversed(_strings(text)):
        (row, start), (_, end) = token.start, token.end
        line = lines[row - 1]
        lines[row - 1] = f"{line[:start]}{found[1]}{quote}{found[3]}{quote}{line[end:]}"
    after = "".join(lines)
    return after if _meaning(after) == _meaning(text) else text


def _strings(text: str) -> list[tuple[tokenize.TokenInfo, re.Match[str]]]:
    """Return the strings without quotes, backslashes and line ends in them; none of what does not parse."""
    if _meaning(text) is None:
        return []
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [
        (token, found)
        for token in tokens
        if token.type == tokenize.STRING and (found := _PLAIN.fullmatch(token.string)) is not None
    ]


def _meaning(text: str) -> str | None:
    try:
        return ast.dump(parsed_python(text))
    except (SyntaxError, ValueError, RecursionError):
        return None
