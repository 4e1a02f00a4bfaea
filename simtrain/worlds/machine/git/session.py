"""One call of git: who calls it, where, on which repository, and what it prints."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from posixpath import dirname, join, normpath

from simtrain.contracts.handler import ToolError
from simtrain.worlds.handlers.git.branches import current
from simtrain.worlds.handlers.git.objects import Commit, Signature
from simtrain.worlds.handlers.git.revisions import Object, earlier_checkout, resolve
from simtrain.worlds.machine.commands.date_words import NoDate, moment_of
from simtrain.worlds.machine.commands.zones import local, zone_named
from simtrain.worlds.machine.expressions import ExpressionProblem, RegularExpression, Syntax, expression
from simtrain.worlds.machine.git.config import settings_of
from simtrain.worlds.machine.git.folder import FolderRepository, moment
from simtrain.worlds.machine.invocation import Invocation

_UNKNOWN = (
    "fatal: ambiguous argument '{0}': unknown revision or path not in the working tree.\n"
    "Use '--' to separate paths from revisions, like this:\n'git <command> [<revision>...] -- [<file>...]'"
)
_STRANGER = (
    '\n*** Please tell me who you are.\n\nRun\n\n  git config --global user.email "you@example.com"\n'
    '  git config --global user.name "Your Name"\n\nto set your account\'s default identity.\n'
    "Omit --global to set the identity only in this repository.\n"
)


class GitStop(Exception):
    """Ends the call with an exit code, after a text on stderr."""

    def __init__(self, text: str = "", code: int = 128) -> None:
        super().__init__(text)
        self.text, self.code = text, code


def unknown_option(word: str, usage: str) -> GitStop:
    """Return what ends a call with an option that git does not know, in its words."""
    kind = "option" if word.startswith("--") else "switch"
    return GitStop(f"error: unknown {kind} `{word.lstrip('-')}'\n{usage}", 129)


def expression_of(*texts: str, syntax: Syntax, ignore_case: bool = False, words: bool = False) -> RegularExpression:
    """Return what some texts look for. Raises GitStop for one that is no expression."""
    try:
        return expression(*texts, syntax=syntax, ignore_case=ignore_case, words=words)
    except ExpressionProblem as problem:
        raise GitStop(f"fatal: command line, '{texts[0]}': {problem}") from None


@dataclass(slots=True)
class GitSession:
    """A call in progress. `words` are the arguments behind the subcommand, `prefix` the folder within the working tree."""

    call: Invocation
    directory: str
    words: list[str]
    settings: Mapping[str, str]
    output: list[str] = field(default_factory=list[str])
    errors: list[str] = field(default_factory=list[str])
    code: int = 0
    _repository: FolderRepository | None = None

    def say(self, text: str) -> None:
        """Print a line."""
        self.output.append(f"{text}\n")

    def warn(self, text: str) -> None:
        """Print a line on stderr."""
        self.errors.append(f"{text}\n")

    @property
    def repository(self) -> FolderRepository:
        """Return the repository around the working directory. Raises GitStop if there is none."""
        if self._repository is None:
            at = normpath(self.directory)
            while not self.call.files.exists(f"{at.rstrip('/')}/.git/HEAD"):
                if self.call.files.exists(f"{at.rstrip('/')}/HEAD") and self.call.files.exists(
                    f"{at.rstrip('/')}/objects"
                ):
                    self._repository = FolderRepository(self.call.files, at, folder=at)
                    return self._repository
                if at == "/":
                    raise GitStop("fatal: not a git repository (or any of the parent directories): .git")
                at = dirname(at)
            self._repository = FolderRepository(self.call.files, at)
            self._repository.stays = normpath(self.directory)
            self._repository.signed_by(self._committer_or_none)
        return self._repository

    def open(self, repository: FolderRepository) -> None:
        """Work on this repository from now on."""
        self._repository = repository
        repository.signed_by(self._committer_or_none)

    @property
    def prefix(self) -> str:
        """Return the working directory within the working tree, with a slash at the end; `` at its root."""
        inside = normpath(self.directory)[len(self.repository.path.rstrip("/")) :].strip("/")
        return f"{inside}/" if inside else ""

    def setting(self, key: str) -> str | None:
        """Return a value of the configuration: of the call, the repository, or the user."""
        if key in self.settings:
            return self.settings[key]
        try:
            own = self.repository.setting(key)
        except GitStop:
            own = None
        if own is not None:
            return own
        return settings_of(self.user_config()).get(key)

    def user_config(self) -> str:
        """Return the user's own configuration file."""
        path = self.user_config_path
        return self.call.files.read(path).decode(errors="replace") if self.call.files.exists(path) else ""

    @property
    def user_config_path(self) -> str:
        """Return where the user's own configuration lies."""
        return f"{self.call.environment.get('HOME', self.call.user.home)}/.gitconfig"

    def text_of(self, name: str, refusal: str) -> str:
        """Return the text of a file that is named on the command line, `-` for standard input.

        `refusal` is what git says of one that it cannot read, with `{}` for the name. Raises GitStop.
        """
        if name == "-":
            return self.call.stdin or ""
        try:
            content = self.call.files.read(join(self.directory, name))
        except OSError as error:
            raise GitStop(f"{refusal.format(name)}: {error.strerror}") from None
        return content.decode("utf-8", "surrogateescape")

    # People and times.

    @property
    def now(self) -> str:
        """Return the time of the world as ISO 8601 in the zone of the call."""
        return local(int(self.call.now), self.call.environment).isoformat()

    def _person(self, role: str) -> tuple[str | None, str | None]:
        environment = self.call.environment
        name = environment.get(f"GIT_{role}_NAME") or self.setting("user.name")
        mail = environment.get(f"GIT_{role}_EMAIL") or self.setting("user.email") or environment.get("EMAIL")
        return name, mail

    def signature(self, role: str) -> Signature:
        """Return the AUTHOR or COMMITTER of what the call makes. Raises GitStop for an unknown one."""
        name, mail = self._person(role)
        if not name or not mail:
            kind = "Author" if role == "AUTHOR" else "Committer"
            host = self.call.machine.name
            why = f"fatal: unable to auto-detect email address (got '{self.call.user.name}@{host}.(none)')"
            raise GitStop(f"{kind} identity unknown\n{_STRANGER}\n{why}")
        return Signature(name, mail, self.date(self.call.environment.get(f"GIT_{role}_DATE")))

    def _committer_or_none(self) -> Signature:
        name, mail = self._person("COMMITTER")
        who = name or self.call.user.name, mail or f"{self.call.user.name}@{self.call.machine.name}"
        return Signature(*who, self.date(self.call.environment.get("GIT_COMMITTER_DATE")))

    def date(self, text: str | None) -> str:
        """Return a date that was given, as ISO 8601; now without one. Raises GitStop for a text that is none."""
        if not text:
            return self.now
        raw = re.fullmatch(r"@?(\d{9,}) ([+-]\d{4})", text)
        if raw:
            return moment(int(raw[1]), raw[2])
        try:
            return (
                datetime.fromisoformat(text).replace(microsecond=0).isoformat()
                if _has_zone(text)
                else self._spoken(text)
            )
        except ValueError:
            return self._spoken(text)

    def _spoken(self, text: str) -> str:
        zone = zone_named(self.call.environment.get("TZ"))
        try:
            seconds = moment_of(text, now=self.call.now, zone=zone)
        except NoDate:
            raise GitStop(f"fatal: invalid date format: {text}") from None
        offset = re.search(r" ([+-]\d{2}):?(\d{2})$", text)
        if offset:
            return moment(int(seconds), offset[1] + offset[2])
        return datetime.fromtimestamp(int(seconds), zone).isoformat()

    @property
    def reflog_time(self) -> str:
        """Return the time that a log of a ref notes."""
        return self.repository.by.at

    # Revisions.

    def object(self, name: str) -> Object:
        """Return what a revision leads to. Raises GitStop in git's words."""
        found = self.maybe(name)
        if found is None:
            raise GitStop(_UNKNOWN.format(name))
        return found

    def maybe(self, name: str) -> Object | None:
        """Return what a revision leads to; None if it leads nowhere."""
        written = name
        if name == "-":
            written = earlier_checkout(self.repository, 1) or name
        if name.startswith("@{-") and name.endswith("}"):
            written = earlier_checkout(self.repository, int(name[3:-1] or 1)) or name
        if written.startswith("@") and (len(written) == 1 or written[1] in "~^:"):
            written = f"HEAD{written[1:]}"
        special = re.fullmatch(r"(ORIG_HEAD|MERGE_HEAD|FETCH_HEAD|CHERRY_PICK_HEAD)(.*)", written)
        if special:
            held = (self.repository.text(special[1]) or "").split()
            if not held:
                return None
            written = held[0] + special[2]
        try:
            found = resolve(self.repository, written)
        except (ToolError, KeyError, ValueError, RecursionError):
            return None
        return found if self.repository.kind(found.sha) else None

    def commit_id(self, name: str) -> str:
        """Return the id of the commit that a revision leads to. Raises GitStop."""
        found = self.object(name)
        if found.kind != "commit":
            raise GitStop(f"error: object {found.sha} is a {found.kind}, not a commit\nfatal: bad revision '{name}'")
        return found.sha

    def commit(self, name: str) -> Commit:
        """Return the commit that a revision leads to."""
        return self.repository.commit(self.commit_id(name))

    @property
    def head(self) -> str | None:
        """Return the id of the commit at HEAD; None before the first."""
        return self.repository.ref("HEAD")

    @property
    def branch(self) -> str | None:
        """Return the branch that is checked out."""
        return current(self.repository)

    def move(self, sha: str, message: str) -> None:
        """Move the branch that is checked out, or HEAD, to a commit, and note it in the logs."""
        repository = self.repository
        old, head, at = repository.ref("HEAD"), repository.head, self.reflog_time
        if head.startswith("refs/"):
            repository.set_ref(head, sha)
            repository.note(head, old=old or "0" * 40, new=sha, message=message, at=at)
        else:
            repository.set_head(sha)
        repository.note("HEAD", old=old or "0" * 40, new=sha, message=message, at=at)

    # Paths.

    def paths(self, names: Sequence[str]) -> list[str]:
        """Return names on the command line as paths from the root of the working tree. Raises GitStop for one outside it."""
        root = self.repository.path
        found: list[str] = []
        for name in names:
            plain = name.removeprefix(":/")
            full = (
                normpath(f"{root if name.startswith(':/') else self.directory}/{plain}")
                if not name.startswith("/")
                else normpath(name)
            )
            if full != root and not full.startswith(f"{root.rstrip('/')}/"):
                raise GitStop(f"fatal: {name}: '{name}' is outside repository at '{root}'")
            found.append(full[len(root.rstrip("/")) :].strip("/"))
        return found

    def relative(self, path: str) -> str:
        """Return a path of the working tree as seen from the working directory."""
        prefix = self.prefix
        if not prefix:
            return path
        if path.startswith(prefix):
            return path[len(prefix) :] or "./"
        parts, here = path.split("/"), prefix.rstrip("/").split("/")
        same = 0
        while same < min(len(parts) - 1, len(here)) and parts[same] == here[same]:
            same += 1
        return "../" * (len(here) - same) + "/".join(parts[same:])


def matching(paths: Sequence[str], specs: Sequence[str]) -> list[str]:
    """Return those of some paths that a list of pathspecs chooses; all without a list."""
    from fnmatch import fnmatchcase

    if not specs:
        return list(paths)
    return [
        path
        for path in paths
        if any(spec == "" or path == spec or path.startswith(f"{spec}/") or fnmatchcase(path, spec) for spec in specs)
    ]


def _has_zone(text: str) -> bool:
    return bool(re.search(r"(Z|[+-]\d{2}:?\d{2})$", text)) and "T" in text
