"""grep: lines of the files that git knows of."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from simtrain.worlds.handlers.git.deltas import is_binary
from simtrain.worlds.handlers.git.paths import Ignored, quoted
from simtrain.worlds.machine.expressions import RegularExpression
from simtrain.worlds.machine.git.resetting import next_word
from simtrain.worlds.machine.git.session import GitSession, GitStop, expression_of, matching, unknown_option

_USAGE = "usage: git grep [<options>] [-e] <pattern> [<rev>...] [[--] <path>...]"
_PLAIN: Final = "niwvclLhHoqEFPGIaz"
_LONG = {
    "--line-number": "n", "--ignore-case": "i", "--word-regexp": "w", "--invert-match": "v", "--count": "c",
    "--files-with-matches": "l", "--name-only": "l", "--files-without-match": "L", "--only-matching": "o", "--quiet": "q",
    "--extended-regexp": "E", "--fixed-strings": "F", "--perl-regexp": "P", "--basic-regexp": "G", "--text": "a", "--null": "z",
    "--cached": "cached", "--untracked": "untracked", "--heading": "heading", "--break": "break", "--column": "column",
    "--all-match": "", "--no-color": "", "--full-name": "full-name", "--recursive": "", "--no-recursive": "",
}  # fmt: skip
_CONTEXT = {
    "-A": "after",
    "--after-context": "after",
    "-B": "before",
    "--before-context": "before",
    "-C": "both",
    "--context": "both",
}
_MOST = ("-m", "--max-count")


@dataclass(slots=True)
class _Asked:
    flags: set[str] = field(default_factory=set[str])
    patterns: list[str] = field(default_factory=list[str])
    rest: list[str] = field(default_factory=list[str])
    paths: list[str] | None = None
    before: int = 0
    after: int = 0
    most: int | None = None


def grep(session: GitSession) -> None:
    """Search the files of the index, or of commits."""
    asked = _read(session)
    wanted = _pattern(asked)
    revisions, paths = _revisions(session, asked)
    found = False
    for label, files in _trees(session, asked, revisions):
        specs = session.paths(paths) if paths else [session.prefix.rstrip("/")] if session.prefix else []
        for path in matching(list(files), specs):
            shown = label + quoted(path if "full-name" in asked.flags else session.relative(path))
            found = _search(session, asked, wanted, shown, files[path]) or found
    session.code = 0 if found else 1


def _read(session: GitSession) -> _Asked:
    asked, words = _Asked(), list(session.words)
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        if word == "--":
            asked.paths = words
            break
        if word == "-e":
            asked.patterns.append(next_word(words, word))
        elif word == "-f":
            path = session.call.path(next_word(words, word))
            asked.patterns += session.call.files.read(path).decode(errors="replace").splitlines()
        elif name in _CONTEXT or name in _MOST:
            _number(asked, name, value if equals else next_word(words, word))
        elif word[:2] in (*_CONTEXT, "-m") and word[2:].isdigit():
            _number(asked, word[:2], word[2:])
        elif re.fullmatch(r"-\d+", word):
            _number(asked, "-C", word[1:])
        elif word in _LONG:
            asked.flags.add(_LONG[word])
        elif re.fullmatch(f"-[{_PLAIN}]+e?", word):
            asked.flags |= set(word[1:].removesuffix("e"))
            if word.endswith("e"):
                asked.patterns.append(next_word(words, word))
        elif word.startswith("-") and len(word) > 1:
            raise unknown_option(word, _USAGE)
        else:
            asked.rest.append(word)
    if not asked.patterns:
        if not asked.rest:
            raise GitStop("fatal: no pattern given")
        asked.patterns.append(asked.rest.pop(0))
    return asked


def _number(asked: _Asked, name: str, text: str) -> None:
    if not text.isdigit():
        raise GitStop(f"error: switch `{name.lstrip('-')}' expects a numerical value", 129)
    if name in _MOST:
        asked.most = int(text)
        return
    where = _CONTEXT[name]
    asked.before = int(text) if where in ("before", "both") else asked.before
    asked.after = int(text) if where in ("after", "both") else asked.after


def _pattern(asked: _Asked) -> RegularExpression:
    flags = asked.flags
    syntax = "fixed" if "F" in flags else "perl" if "P" in flags else "extended" if "E" in flags else "basic"
    return expression_of(*asked.patterns, syntax=syntax, ignore_case="i" in flags, words="w" in flags)


def _revisions(session: GitSession, asked: _Asked) -> tuple[list[str], list[str]]:
    """Return which words are revisions, and which are paths."""
    rest, revisions = list(asked.rest), list[str]()
    while rest:
        there = asked.paths is None and session.call.files.exists(f"{session.directory}/{rest[0]}", follow=False)
        if there or session.maybe(rest[0]) is None:
            break
        revisions.append(rest.pop(0))
    if rest and asked.paths is not None:
        raise GitStop(f"fatal: unable to resolve revision: {rest[0]}")
    for word in rest:
        if not session.call.files.exists(f"{session.directory}/{word}", follow=False) and not set("*?[") & set(word):
            session.object(word)
    return revisions, [*rest, *(asked.paths or [])]


def _trees(session: GitSession, asked: _Asked, revisions: Sequence[str]) -> list[tuple[str, dict[str, bytes]]]:
    repository = session.repository
    if revisions:
        found: list[tuple[str, dict[str, bytes]]] = []
        for name in revisions:
            files = repository.files(session.commit(name).tree)
            found.append((f"{name}:", {path: repository.blob(entry.sha) for path, entry in files.items()}))
        return found
    index, tree = repository.index(), repository.worktree()
    if "cached" in asked.flags:
        return [("", {path: repository.blob(entry.sha) for path, entry in index.items()})]
    ignored = Ignored(tree)
    loose = "untracked" in asked.flags
    return [
        (
            "",
            {
                path: content
                for path, (_, content) in tree.items()
                if path in index or (loose and ignored.cause(path) is None)
            },
        )
    ]


def _search(session: GitSession, asked: _Asked, wanted: RegularExpression, shown: str, content: bytes) -> bool:
    """Say what is found in one file, and return whether anything is."""
    flags = asked.flags
    lines = content.decode("utf-8", "replace").splitlines()
    hits = [number for number, line in enumerate(lines, 1) if wanted.finds(line) != ("v" in flags)]
    hits = hits[: asked.most]
    end = "\0" if "z" in flags else "\n"
    if "L" in flags:
        session.output += [] if hits else [f"{shown}{end}"]
        return not hits
    if not hits or "q" in flags:
        return bool(hits)
    if "l" in flags:
        session.output.append(f"{shown}{end}")
    elif "c" in flags:
        session.say(f"{'' if 'h' in flags else f'{shown}:'}{len(hits)}")
    elif is_binary(content) and "a" not in flags:
        session.output += [] if "I" in flags else [f"Binary file {shown} matches\n"]
    else:
        _say_hits(session, asked, wanted, shown, lines, hits)
    return True


def _say_hits(
    session: GitSession, asked: _Asked, wanted: RegularExpression, shown: str, lines: Sequence[str], hits: Sequence[int]
) -> None:
    flags = asked.flags
    around = asked.before or asked.after
    if session.output and ("break" in flags or around):
        session.say("" if "break" in flags else "--")
    if "heading" in flags:
        session.say(shown)
    named = "h" not in flags and "heading" not in flags
    near = {
        number for hit in hits for number in range(max(1, hit - asked.before), min(len(lines), hit + asked.after) + 1)
    }
    last = None
    for number in sorted(near):
        if last is not None and number > last + 1 and around:
            session.say("--")
        last = number
        sign = ":" if number in hits else "-"
        head = f"{shown}{sign}" if named else ""
        head += f"{number}{sign}" if "n" in flags else ""
        line = lines[number - 1]
        if "o" in flags and sign == ":":
            session.output += [f"{head}{line[start:end]}\n" for start, end in wanted.spans(line) if end > start]
            continue
        place = next(wanted.spans(line), None) if "column" in flags and sign == ":" else None
        column = f"{place[0] + 1}:" if place else ""
        session.say(f"{head}{column}{line}")
