"""The words of a call of commit."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from posixpath import join

from simtrain.worlds.machine.git.messages import MODES
from simtrain.worlds.machine.git.resetting import next_word
from simtrain.worlds.machine.git.session import GitSession, GitStop

_VALUES = {
    "-m": "message", "--message": "message", "-F": "file", "--file": "file", "-C": "reuse", "--reuse-message": "reuse",
    "-c": "reedit", "--reedit-message": "reedit", "--author": "author", "--date": "date", "--fixup": "fixup",
    "--squash": "squash", "--trailer": "trailer", "-t": "template", "--template": "template", "--cleanup": "cleanup",
    "--pathspec-from-file": "listed",
}  # fmt: skip
_FLAGS: Mapping[str, tuple[str, bool]] = {
    "-a": ("all", True), "--all": ("all", True), "--amend": ("amend", True), "--allow-empty": ("empty", True),
    "-q": ("quiet", True), "--quiet": ("quiet", True), "--reset-author": ("reset_author", True),
    "--allow-empty-message": ("empty_message", True), "-s": ("signoff", True), "--signoff": ("signoff", True),
    "--no-signoff": ("signoff", False), "-n": ("unverified", True), "--no-verify": ("unverified", True),
    "--verify": ("unverified", False), "-o": ("only", True), "--only": ("only", True), "-i": ("include", True),
    "--include": ("include", True), "-v": ("verbose", True), "--verbose": ("verbose", True), "--dry-run": ("dry", True),
    "--no-all": ("all", False), "--no-quiet": ("quiet", False), "--no-verbose": ("verbose", False),
}  # fmt: skip
_FORMS = {"--short": "short", "--porcelain": "porcelain", "-z": "null", "--long": "long"}
_UNTRACKED = {"": "all", "all": "all", "no": "no", "normal": "normal"}
_IGNORED = {"--no-gpg-sign", "--no-status", "--status", "--no-post-rewrite", "--post-rewrite", "--branch", "--ahead-behind",
            "--no-ahead-behind", "--no-pathspec-file-nul"}  # fmt: skip
_USAGE = "usage: git commit [<options>] [--] <pathspec>..."


@dataclass(slots=True)
class CommitRequest:
    """What is asked for: flags, values of options, and paths."""

    all: bool = False
    amend: bool = False
    empty: bool = False
    quiet: bool = False
    reset_author: bool = False
    empty_message: bool = False
    signoff: bool = False
    unverified: bool = False
    only: bool = False
    include: bool = False
    verbose: bool = False
    dry: bool = False
    edit: bool | None = None
    form: str = "long"
    untracked: str | None = None
    values: dict[str, str] = field(default_factory=dict[str, str])
    messages: list[str] = field(default_factory=list[str])
    trailers: list[str] = field(default_factory=list[str])
    paths: list[str] = field(default_factory=list[str])

    @property
    def stages(self) -> bool:
        """Whether the call itself stages files."""
        return self.all or bool(self.paths)

    @property
    def partial(self) -> bool:
        """Whether only the paths of the call are to be committed, and not what is staged beside them."""
        return bool(self.paths) and not self.include


def requested(session: GitSession) -> CommitRequest:
    """Read the words of the call. Raises GitStop for words that are unknown, or do not go together."""
    asked, words = CommitRequest(), list(session.words)
    while words:
        word = words.pop(0)
        if word == "--":
            asked.paths += words
            break
        if word.startswith("--"):
            _take_long(asked, word, words)
        elif word.startswith("-") and len(word) > 1:
            _take_letters(asked, word[1:], words)
        else:
            asked.paths.append(word)
    listed = asked.values.get("listed")
    if listed is not None:
        content = session.call.files.read(join(session.directory, listed)).decode() if listed != "-" else None
        asked.paths += (content if content is not None else session.call.stdin or "").splitlines()
    _check(asked)
    return asked


def _take_long(asked: CommitRequest, word: str, words: list[str]) -> None:
    name, equals, value = word.partition("=")
    known = {*_VALUES, *_FLAGS, *_FORMS, *_IGNORED, "--edit", "--no-edit", "--untracked-files", "--gpg-sign"}
    near = [one for one in known if one.startswith(name)]
    name = near[0] if name not in known and len(near) == 1 else name
    if name in _VALUES:
        _take_value(asked, _VALUES[name], value if equals else next_word(words, word))
    elif name in ("--edit", "--no-edit"):
        asked.edit = name == "--edit"
    elif name == "--untracked-files":
        asked.untracked = _UNTRACKED.get(value, "all")
    elif not _take_flag(asked, name) and name not in _IGNORED and name != "--gpg-sign":
        raise GitStop(f"error: unknown option `{word[2:]}'\n{_USAGE}", 129)


def _take_letters(asked: CommitRequest, letters: str, words: list[str]) -> None:
    for place, letter in enumerate(letters):
        rest = letters[place + 1 :]
        if f"-{letter}" in _VALUES:
            _take_value(asked, _VALUES[f"-{letter}"], rest or next_word(words, f"-{letter}"))
            return
        if letter == "u":
            asked.untracked = _UNTRACKED.get(rest, "all")
            return
        if letter == "S":
            return
        if letter == "e":
            asked.edit = True
        elif not _take_flag(asked, f"-{letter}"):
            raise GitStop(f"error: unknown switch `{letter}'\n{_USAGE}", 129)


def _take_value(asked: CommitRequest, name: str, value: str) -> None:
    if name == "message":
        asked.messages.append(value)
    elif name == "trailer":
        asked.trailers.append(value)
    else:
        asked.values[name] = value


def _take_flag(asked: CommitRequest, word: str) -> bool:
    if word in _FORMS:
        asked.form, asked.dry = _FORMS[word], True
    elif word in _FLAGS:
        name, value = _FLAGS[word]
        setattr(asked, name, value)
    else:
        return False
    return True


def _check(asked: CommitRequest) -> None:
    values = asked.values
    sources = {"reuse": "-C", "reedit": "-c", "file": "-F", "fixup": "--fixup"}
    given = [flag for name, flag in sources.items() if name in values]
    if asked.reset_author and "author" in values:
        raise GitStop("fatal: options '--reset-author' and '--author' cannot be used together")
    if len(given) > 1:
        raise GitStop(f"fatal: options '{given[0]}' and '{given[1]}' cannot be used together")
    if asked.messages and given and given[0] != "--fixup":
        raise GitStop(f"fatal: options '-m' and '{given[0]}' cannot be used together")
    kind = values.get("fixup", "").partition(":")[0]
    if asked.messages and kind in ("amend", "reword") and ":" in values["fixup"]:
        raise GitStop(f"fatal: options '-m' and '--fixup:{kind}' cannot be used together")
    if values.get("cleanup", "default") not in MODES:
        raise GitStop(f"fatal: Invalid cleanup mode {values['cleanup']}")
    if ((asked.only and not asked.amend) or asked.include) and not asked.paths:
        raise GitStop("fatal: No paths with --include/--only does not make sense.")
    if asked.all and asked.paths:
        raise GitStop(f"fatal: paths '{asked.paths[0]} ...' with -a does not make sense")
