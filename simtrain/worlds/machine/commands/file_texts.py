"""Kinds of text: its encoding, the ends and lengths of its lines, and what its first lines tell of it."""

import csv
import re
from dataclasses import dataclass
from io import StringIO
from typing import TypeAlias

import orjson

_LONGEST_LINE = 300
_CODED = 65_536
"""Bytes by which an encoding is told."""
_CONTROLS = frozenset(range(32)) - {7, 8, 9, 10, 12, 13, 27} | {127}
_ROWS = 10
_BOURNE = "text/x-shellscript"
_Mark: TypeAlias = tuple[re.Pattern[str], str, str, bool]


@dataclass(frozen=True, slots=True)
class _Encoding:
    words: str
    charset: str
    text: str


def text_kind(content: bytes) -> tuple[str, str, str] | None:
    """Return description, MIME type and encoding of a text; None for what is none."""
    found = _encoding(content)
    if found is None:
        return None
    told = _structured(content, found)
    if told is not None:
        return *told, found.charset
    words, mime, puts_text = _language(found.text)
    lines = _lines(found.text, wide=found.charset not in ("us-ascii", "iso-8859-1", "unknown-8bit"))
    if not words:
        return f"{found.words} text{lines}", mime, found.charset
    if not puts_text:
        return words, mime, found.charset
    before, runs, _ = words.partition(" executable")
    if runs and mime != "application/javascript":
        return f"{before}, {found.words} text executable{lines}", mime, found.charset
    return f"{words}, {found.words} text{lines}", mime, found.charset


def _encoding(content: bytes) -> _Encoding | None:
    for mark, codec, words in (
        (b"\xff\xfe", "utf-16le", "Unicode text, UTF-16, little-endian"),
        (b"\xfe\xff", "utf-16be", "Unicode text, UTF-16, big-endian"),
    ):
        if content.startswith(mark) and len(content) % 2 == 0:
            return _Encoding(words, codec, content[2:].decode(codec, "replace"))
    if _CONTROLS & set(content[:_CODED]):
        return None
    if content.isascii():
        return _Encoding("ASCII", "us-ascii", content.decode("ascii"))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # The last letter may lie where the looking ends.
        if error.start < len(content) - 3 or error.reason != "unexpected end of data":
            return _one_byte(content)
        text = content[: error.start].decode("utf-8-sig")
    with_mark = content.startswith(b"\xef\xbb\xbf")
    return _Encoding(f"Unicode text, UTF-8{' (with BOM)' if with_mark else ''}", "utf-8", text)


def _one_byte(content: bytes) -> _Encoding:
    text = content.decode("latin-1")
    high = {byte for byte in set(content) if byte >= 0x80 and byte != 0x85}
    if not high:
        return _Encoding("ASCII", "us-ascii", text)
    if min(high) >= 0xA0:
        return _Encoding("ISO-8859", "iso-8859-1", text)
    return _Encoding("Non-ISO extended-ASCII", "unknown-8bit", text)


def _structured(content: bytes, found: _Encoding) -> tuple[str, str] | None:
    """Return what is said of JSON and CSV, which are known by all of their text."""
    if found.text.lstrip()[:1] in ("{", "["):
        if _is_json(content):
            return "JSON text data", "application/json"
        lines = found.text.splitlines()
        if len(lines) > 1 and all(line[:1] == "{" and _is_json(line) for line in lines):
            return "New Line Delimited JSON text data", "application/x-ndjson"
    if "," not in found.text.partition("\n")[0]:
        return None
    lines = found.text.split("\n", _ROWS)[:_ROWS]
    if lines[-1] == "":
        lines.pop()
    try:
        counts = [len(row) for row in csv.reader(StringIO("\n".join(lines)))]
    except csv.Error:
        return None
    return ("CSV text", "text/csv") if len(counts) > 2 and counts[0] > 1 and len(set(counts)) == 1 else None


def _is_json(text: str | bytes) -> bool:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


def _lines(text: str, *, wide: bool) -> str:
    """Return what is said of the lines of a text; nothing where they are as usual."""
    pairs = text.count("\r\n")
    single, feeds = text.count("\r") - pairs, text.count("\n") - pairs
    nexts = text.count("\x85")
    longest = max(map(len, re.split(r"[\r\n\x85]", text)))
    words = f", with very long lines ({longest})" if longest > _LONGEST_LINE else ""
    if not (pairs or single or feeds or nexts):
        words += ", with no line terminators"
    elif pairs or single or nexts:
        kinds = (("CRLF", pairs), ("CR", single), ("LF", feeds), ("NEL", nexts))
        words += f", with {', '.join(name for name, count in kinds if count)} line terminators"
    words += ", with escape sequences" if "\x1b" in text else ""
    return words + (", with overstriking" if "\b" in text else "")


def _language(text: str) -> tuple[str, str, bool]:
    """Return what is said of the language of a text, its MIME type, and whether its encoding is said as well."""
    if text.startswith("#!"):
        line, end, _ = text[2:].partition("\n")
        return _script(line.strip(), ends=bool(end))
    head = text[:8192]
    for pattern, words, mime, puts_text in _MARKS:
        found = pattern.search(head)
        if found is not None:
            return found.expand(words), mime, puts_text
    return "", "text/plain", True


def _script(line: str, *, ends: bool) -> tuple[str, str, bool]:
    """Return the same for the line that names the program of a script; `ends` says that more than this line is there."""
    path, _, rest = re.sub(r"\s", " ", line, count=1).partition(" ")
    program = path.rpartition("/")[2]
    by_env = program == "env" and bool(rest.strip())
    if by_env:
        program = rest.split()[0]
    known = _RELEASED.sub("", program)
    words, mime = _PROGRAMS.get(known, ("", ""))
    only = _ONLY_AT.get(known)
    if not ends and line.endswith(program) and known not in _BARE:
        words = ""
    if not words or (known in _NOT_BY_ENV and by_env) or (only is not None and not by_env and path != only):
        return f"a {rest if by_env else line} script executable", "text/plain", True
    return f"{words} script{' text' if known == 'perl' else ''} executable", mime, known != "perl"


_RELEASED = re.compile(r"(?<=python)[\d.]+$")
_PROGRAMS = {
    "bash": ("Bourne-Again shell", _BOURNE), "sh": ("POSIX shell", _BOURNE), "ksh": ("Korn shell", _BOURNE),
    "csh": ("C shell", _BOURNE), "tcsh": ("Tenex C shell", _BOURNE), "zsh": ("Paul Falstad's zsh", _BOURNE),
    "fish": ("fish shell", _BOURNE), "python": ("Python", "text/x-script.python"), "perl": ("Perl", "text/x-perl"),
    "node": ("Node.js", "application/javascript"), "nodejs": ("Node.js", "application/javascript"),
    "awk": ("awk", "text/x-awk"), "gawk": ("GNU awk", "text/x-gawk"), "ruby": ("Ruby", "text/x-ruby"),
    "php": ("PHP", "text/x-php"), "lua": ("Lua", "text/x-lua"), "tclsh": ("Tcl/Tk", "text/x-tcl"),
}  # fmt: skip
"""Program that runs a script -> what the script is called, and its MIME type."""
_BARE = frozenset({"python", "node", "nodejs"})
"""Programs that are known without a space or an end of line behind them."""
_NOT_BY_ENV = frozenset({"sh", "awk", "gawk"})
_ONLY_AT = {"sh": "/bin/sh", "node": "/usr/bin/node", "nodejs": "/usr/bin/nodejs"}
"""Program -> the only path by which it is known."""


_PYTHON = "Python script executable", "text/x-script.python", True
_SCRIPT = "JavaScript source", "application/javascript", True


def _mark(pattern: str, words: str, mime: str = "text/plain", puts_text: bool = True) -> _Mark:
    return re.compile(pattern, re.MULTILINE), words, mime, puts_text


_MARKS: tuple[_Mark, ...] = (
    _mark(r"\A%PDF-(\d\.\d)", r"PDF document, version \1", "application/pdf", False),
    _mark(r"\A\s{0,99}(?:<\?xml[^>]*>\s*)?<(?i:svg)", "SVG Scalable Vector Graphics image", "image/svg+xml", False),
    _mark(r"\A<\?xml version=[\"']([\d.]+)[\"']", r"XML \1 document", "text/xml"),
    _mark(r"\A<\?xml", "XML document", "text/xml"),
    _mark(r"\A<\?php", "PHP script", "text/x-php"),
    _mark(r"\A-----BEGIN CERTIFICATE-----", "PEM certificate", puts_text=False),
    _mark(r"\A-----BEGIN CERTIFICATE REQ", "PEM certificate request", puts_text=False),
    _mark(r"\A-----BEGIN (RSA|DSA|EC) PRIVATE KEY-----", r"PEM \1 private key", puts_text=False),
    _mark(r"\A-----BEGIN OPENSSH PRIVATE KEY-----", "OpenSSH private key", puts_text=False),
    _mark(r"\A-----BEGIN PGP PUBLIC KEY BLOCK-", "PGP public key block", "application/pgp-keys", False),
    _mark(r"\Assh-rsa ", "OpenSSH RSA public key", puts_text=False),
    _mark(r"\Assh-ed25519 ", "OpenSSH ED25519 public key", puts_text=False),
    _mark(r"^--- .*\n\+\+\+ .*\n@@ ", "unified diff output", "text/x-diff"),
    _mark(r"\A(?:diff |Only in )", "diff output", "text/x-diff"),
    _mark(r"\A\*\*\* .*\n--- ", "context diff output", "text/x-diff"),
    _mark(r"\A(?:From|Date): ", "news or mail", "message/rfc822"),
    _mark(r"\AReceived: ", "RFC 822 mail", "message/rfc822"),
    _mark(r"\AReturn-Path: ", "SMTP mail", "message/rfc822"),
    _mark(r"\ABEGIN:VCARD", "vCard visiting card", "text/vcard", False),
    _mark(r"\ABEGIN:VCALENDAR", "vCalendar calendar file", "text/calendar", False),
    _mark(r"\A@echo off", "DOS batch file", "text/x-msdos-batch"),
    _mark(r"\A(?:[^\n]*\n){0,9}\\documentclass", "LaTeX 2e document", "text/x-tex"),
    _mark(r"<(?i:!doctype html|html|head|title|style|script|table|a href=)", "HTML document", "text/html"),
    _mark(r"\A(?:\"\"\")", *_PYTHON),
    _mark(r"^from [\w.]+ import .*$", *_PYTHON),
    _mark(r"^import [\w.]+ as \w+$", *_PYTHON),
    _mark(r"^[ \t]{0,50}def {1,50}\w{1,100} {0,50}\([a-zA-Z,* ]{0,255}\):$", *_PYTHON),
    _mark(r"^class {1,50}\w{1,100}(?: {0,50}\([\w.,= ]{0,255}\))?:$", *_PYTHON),
    _mark(r"^[ \t]*try:\n(?:[ \t].*\n){1,99}[ \t]*(?:except.*|finally):$", *_PYTHON),
    _mark(r"^import [^;\n]* from\b", *_SCRIPT),
    _mark(r"^(?:const|var) [\w{}, ]+ = require\(", *_SCRIPT),
    _mark(r"^(?:module\.exports|[\"']use strict[\"'])", *_SCRIPT),
    _mark(r"^import [\w.]+;", "Java source", "text/x-java"),
    _mark(r"^(?:template *<|namespace \w+ *\{|class \w+ *\{[^}]*\})", "C++ source", "text/x-c++"),
    _mark(r"^(?:#include[ \t]*[<\"]|int main\(|struct \w+ *\{|extern \w|char \*)", "C source", "text/x-c"),
    _mark(r"^(?:all:|CFLAGS *=|VPATH *=)", "makefile script", "text/x-makefile"),
)
"""What is found in the first lines, what is said of it, the MIME type, and whether the encoding is said as well."""
