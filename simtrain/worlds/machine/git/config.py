"""Git's configuration files: sections with keys, as `git config` reads and writes them."""

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

_SECTION = re.compile(r'\s*\[([-.\w]+)(?:\s+"((?:[^"\\]|\\.)*)")?\]\s*(.*)')
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}


def parsed_config(text: str) -> list[tuple[str, str]]:
    """Return the keys (`remote.origin.url`) and values of a file, in their order."""
    found: list[tuple[str, str]] = []
    section = ""
    for line in text.splitlines():
        head = _SECTION.match(line)
        if head:
            section = head[1].lower() + (f".{head[2]}" if head[2] is not None else "")
            line = head[3]
        plain = line.strip()
        if not plain or plain[0] in "#;" or not section:
            continue
        key, equals, value = plain.partition("=")
        found.append((f"{section}.{key.strip().lower()}", _value(value.strip()) if equals else "true"))
    return found


@lru_cache(maxsize=256)
def settings_of(text: str) -> Mapping[str, str]:
    """Return the last value of each key of a file."""
    return MappingProxyType(dict(parsed_config(text)))


def _value(text: str) -> str:
    quoted, found, place = False, "", 0
    while place < len(text):
        letter = text[place]
        if letter == '"':
            quoted = not quoted
        elif letter == "\\" and place + 1 < len(text):
            place += 1
            found += _ESCAPES.get(text[place], text[place])
        elif letter in "#;" and not quoted:
            break
        else:
            found += letter
        place += 1
    return found.rstrip() if not quoted else found


def changed_config(text: str, key: str, value: str | None) -> str:
    """Return a file with a key set to a value, or without it if the value is None."""
    section, _, name = key.rpartition(".")
    wanted = section.partition(".")[0].lower() + (f".{section.partition('.')[2]}" if "." in section else "")
    lines = text.splitlines()
    here, end, place = "", None, None
    for number, line in enumerate(lines):
        head = _SECTION.match(line)
        if head:
            here = head[1].lower() + (f".{head[2]}" if head[2] is not None else "")
        if here == wanted:
            end = number + 1
            if not head and line.strip().partition("=")[0].strip().lower() == name.lower():
                place = number
    if value is None:
        if place is not None:
            del lines[place]
        return "".join(f"{line}\n" for line in lines)
    written = f"\t{name} = {_quoted(value)}"
    if place is not None:
        lines[place] = written
    elif end is not None:
        lines.insert(end, written)
    else:
        outer, dot, inner = section.partition(".")
        lines += [f'[{outer} "{inner}"]' if dot else f"[{outer}]", written]
    return "".join(f"{line}\n" for line in lines)


def without_section(text: str, section: str) -> str:
    """Return a file without a section such as `remote.origin`."""
    kept: list[str] = []
    here = ""
    for line in text.splitlines():
        head = _SECTION.match(line)
        if head:
            here = head[1].lower() + (f".{head[2]}" if head[2] is not None else "")
        if here != section:
            kept.append(line)
    return "".join(f"{line}\n" for line in kept)


def _quoted(value: str) -> str:
    text = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{text}"' if text != text.strip() or any(letter in text for letter in "#;") else text
