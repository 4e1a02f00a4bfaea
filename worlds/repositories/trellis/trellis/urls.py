"""Percent signs and queries."""

from collections.abc import Iterable, Mapping

_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def quote(text: str, also: str = "") -> str:
    """Return a text for a URL; the letters of `also` stay as they are."""
    found = []
    for letter in text:
        if letter in _PLAIN or letter in also:
            found.append(letter)
        else:
            found += [f"%{byte:02X}" for byte in letter.encode()]
    return "".join(found)


def unquote(text: str, *, plus: bool = False) -> str:
    """Return a text of a URL; `plus` reads + as a space. What is no number behind % stays."""
    if plus:
        text = text.replace("+", " ")
    found = bytearray()
    at = 0
    while at < len(text):
        digits = text[at + 1 : at + 3]
        if text[at] == "%" and len(digits) == 2 and _is_hex(digits):
            found.append(int(digits, 16))
            at += 3
        else:
            found += text[at].encode()
            at += 1
    return found.decode(errors="replace")


def _is_hex(digits: str) -> bool:
    return all(letter in "0123456789abcdefABCDEF" for letter in digits)


def parse_query(text: str) -> dict[str, list[str]]:
    """Return the values of a query by name, in their order; a name without = has an empty value."""
    found: dict[str, list[str]] = {}
    for part in text.removeprefix("?").split("&"):
        if part:
            name, _, value = part.partition("=")
            found.setdefault(unquote(name, plus=True), []).append(unquote(value, plus=True))
    return found


def build_query(values: Mapping[str, object]) -> str:
    """Return a query; a list gives several values, None leaves a name out, switches are 1 and 0."""
    pairs = []
    for name, value in values.items():
        given = value if isinstance(value, list | tuple) else [value]
        for one in given:
            if one is not None:
                text = str(int(one)) if isinstance(one, bool) else str(one)
                pairs.append(f"{quote(name)}={quote(text)}")
    return "&".join(pairs)


def join_path(parts: Iterable[str]) -> str:
    """Return parts of a path as one, with one slash between two."""
    found = [part.strip("/") for part in parts]
    return "/" + "/".join(part for part in found if part)
