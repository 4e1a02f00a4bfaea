"""robots.txt (RFC 9309): which paths of a site a program may fetch by itself."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import translate
from urllib.parse import urlsplit


@dataclass(slots=True)
class _Group:
    agents: list[str] = field(default_factory=list[str])
    rules: list[tuple[bool, str]] = field(default_factory=list[tuple[bool, str]])


def allowed(text: str, *, agent: str, url: str) -> bool:
    """True if the rules in `text` let `agent` fetch an address. The longest rule that fits counts; permission wins a tie."""
    parts = urlsplit(url)
    if parts.path == "/robots.txt":
        return True
    path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    fitting = [(len(pattern), permits) for permits, pattern in _rules(_groups(text), agent) if _fits(pattern, path)]
    return max(fitting)[1] if fitting else True


def _groups(text: str) -> list[_Group]:
    groups: list[_Group] = []
    for line in text.splitlines():
        key, colon, value = line.partition("#")[0].partition(":")
        name, value = key.strip().lower(), value.strip()
        if not colon:
            continue
        if name == "user-agent":
            if not groups or groups[-1].rules:
                groups.append(_Group())
            groups[-1].agents.append(value.lower())
        elif name in ("allow", "disallow") and groups:
            groups[-1].rules.append((name == "allow", value))
    return groups


def _rules(groups: Iterable[_Group], agent: str) -> list[tuple[bool, str]]:
    """Return the rules of the groups that name the agent most exactly; else of those for everybody."""
    names = {name for group in groups for name in group.agents if name != "*" and name in agent.lower()}
    wanted = max(names, key=len) if names else "*"
    return [rule for group in groups if wanted in group.agents for rule in group.rules if rule[1]]


def _fits(pattern: str, path: str) -> bool:
    literal = pattern.removesuffix("$").replace("[", "[[]").replace("?", "[?]")
    return re.match(translate(literal + ("" if pattern.endswith("$") else "*")), path) is not None
