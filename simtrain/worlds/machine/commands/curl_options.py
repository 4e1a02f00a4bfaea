"""The command line of curl 7.88: long and short options, values, and its refusals."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite

from simtrain.worlds.machine.invocation import Result

HELP = "curl: try 'curl --help' or 'curl --manual' for more information\n"
_FLAGS = {
    "s": "silent", "S": "show-error", "O": "remote-name", "I": "head", "i": "include", "f": "fail", "L": "location", "k": "insecure",
    "v": "verbose", "g": "globoff", "G": "get", "V": "version", "N": "no-buffer", "J": "remote-header-name", "4": "ipv4",
    "6": "ipv6", "#": "progress-bar",
}  # fmt: skip
_VALUES = {
    "o": "output", "X": "request", "d": "data", "H": "header", "w": "write-out", "u": "user", "m": "max-time", "A": "user-agent",
    "e": "referer", "b": "cookie", "c": "cookie-jar", "T": "upload-file", "x": "proxy", "F": "form",
}  # fmt: skip
_LONG_FLAGS = {
    *_FLAGS.values(), "fail-with-body", "compressed", "retry-connrefused", "retry-all-errors", "no-progress-meter", "http1.1",
    "http1.0", "http2", "create-dirs", "fail-early", "no-keepalive", "tcp-nodelay", "path-as-is",
}  # fmt: skip
_LONG_VALUES = {
    *_VALUES.values(), "data-raw", "data-binary", "data-urlencode", "data-ascii", "json", "connect-timeout", "retry", "retry-delay",
    "retry-max-time", "max-redirs", "url", "output-dir", "resolve", "noproxy", "cacert", "cert", "key", "dump-header",
    "oauth2-bearer",
}  # fmt: skip
NUMBERS = frozenset({"max-time", "connect-timeout", "retry", "retry-delay", "retry-max-time", "max-redirs"})
NOT_MODELLED = frozenset(
    {"cookie", "cookie-jar", "upload-file", "proxy", "form", "resolve", "cert", "key", "dump-header"}
)
"""Options that curl has and this one refuses."""


@dataclass(slots=True)
class CurlOptions:
    """What was asked for: flags, values in order, and the addresses."""

    flags: set[str] = field(default_factory=set[str])
    values: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    urls: list[str] = field(default_factory=list[str])

    def value(self, name: str) -> str | None:
        """Return the last value of an option; None if it was not given."""
        return next((value for found, value in reversed(self.values) if found == name), None)

    def all(self, *names: str) -> list[tuple[str, str]]:
        """Return the values of some options in the order in which they were given."""
        return [one for one in self.values if one[0] in names]

    def number(self, name: str) -> float | None:
        """Return the value of an option that is a number."""
        given = self.value(name)
        return None if given is None else float(given)


def curl_options(words: Sequence[str]) -> CurlOptions | Result:
    """Return the options of a command line, or curl's refusal."""
    found, rest = CurlOptions(), list(words)
    while rest:
        word = rest.pop(0)
        if word.startswith("--") and word != "--":
            refusal = _long(word, rest, found)
        elif word.startswith("-") and word != "-" and word != "--":
            refusal = _short(word, rest, found)
        else:
            found.urls += [] if word == "--" else [word]
            continue
        if refusal is not None:
            return Result(stderr=f"curl: option {refusal}\n{HELP}", exit_code=2)
    found.urls += [value for name, value in found.values if name == "url"]
    for name, _ in found.values:
        if name in NOT_MODELLED:
            return Result(stderr=f"curl: option --{name}: is not available on this machine\n", exit_code=2)
    return found


def _long(word: str, rest: list[str], found: CurlOptions) -> str | None:
    name = word[2:]
    known = _LONG_FLAGS | _LONG_VALUES
    fitting = [name] if name in known else [one for one in known if one.startswith(name)]
    if name.startswith("no-") and name[3:] in _LONG_FLAGS and name not in known:
        found.flags.discard(name[3:])
        return None
    if len(fitting) != 1:
        return f"{word}: is {'ambiguous' if fitting else 'unknown'}"
    if fitting[0] in _LONG_FLAGS:
        found.flags.add(fitting[0])
        return None
    return _valued(word, fitting[0], None, rest, found)


def _short(word: str, rest: list[str], found: CurlOptions) -> str | None:
    for place, letter in enumerate(word[1:], start=1):
        if letter in _FLAGS:
            found.flags.add(_FLAGS[letter])
            continue
        if letter not in _VALUES:
            return f"{word}: is unknown"
        return _valued(word, _VALUES[letter], word[place + 1 :] or None, rest, found)
    return None


def _valued(word: str, name: str, value: str | None, rest: list[str], found: CurlOptions) -> str | None:
    if value is None:
        if not rest:
            return f"{word}: requires parameter"
        value = rest.pop(0)
    if name in NUMBERS:
        try:
            if not isfinite(float(value)):
                return f"{word}: expected a proper numerical parameter"
            if float(value) < 0 and name != "max-redirs":
                return f"{word}: expected a positive numerical parameter"
        except ValueError:
            return f"{word}: expected a proper numerical parameter"
    found.values.append((name, value))
    return None
