"""cherry-pick and revert: make the changes of commits here, or undo them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from simtrain.worlds.handlers.git.objects import Commit
from simtrain.worlds.machine.git.applying import back_to, carry_over, write_tree
from simtrain.worlds.machine.git.committing import UNMERGED, commit, report_commit
from simtrain.worlds.machine.git.locking import require_unlocked
from simtrain.worlds.machine.git.messages import signed_off, subject_of, with_line
from simtrain.worlds.machine.git.resetting import head_files, next_word
from simtrain.worlds.machine.git.session import GitSession, GitStop, unknown_option
from simtrain.worlds.machine.git.status import long_status
from simtrain.worlds.machine.git.walking import Range, commits

_MARKS = {"cherry-pick": "CHERRY_PICK_HEAD", "revert": "REVERT_HEAD"}
_USAGE = {
    "cherry-pick": "usage: git cherry-pick [--edit] [-n] [-m <parent-number>] [-s] [-x] [--ff]\n"
    "                       [-S[<keyid>]] <commit>...\n   or: git cherry-pick (--continue | --skip | --abort | --quit)",
    "revert": "usage: git revert [--[no-]edit] [-n] [-m <parent-number>] [-s] [-S[<keyid>]] <commit>...\n"
    "   or: git revert (--continue | --skip | --abort | --quit)",
}
_ADVICE = (
    'hint: After resolving the conflicts, mark them with\nhint: "git add/rm <pathspec>", then run\n'
    'hint: "git {0} --continue".\n'
    'hint: You can instead skip this commit with "git {0} --skip".\n'
    'hint: To abort and get back to the state before "git {0}",\nhint: run "git {0} --abort".'
)
_SHORT_ADVICE = (
    "hint: after resolving the conflicts, mark the corrected paths\nhint: with 'git add <paths>' or 'git rm <paths>'"
)
_FLAGS = {
    "-n": "no-commit", "--no-commit": "no-commit", "-x": "record-origin", "-s": "signoff", "--signoff": "signoff",
    "-e": "edit", "--edit": "edit", "--no-edit": "no-edit", "--ff": "allow-ff", "--allow-empty": "allow-empty",
    "--keep-redundant-commits": "keep-redundant-commits", "--allow-empty-message": "allow-empty-message",
    "--abort": "abort", "--quit": "quit", "--skip": "skip", "--continue": "continue",
}  # fmt: skip
_KEPT = ("no-commit", "record-origin", "signoff", "edit", "allow-ff", "allow-empty", "keep-redundant-commits")
_VALUES = {"-m": "mainline", "--mainline": "mainline", "--strategy": "strategy", "-X": "favour",
           "--strategy-option": "favour", "--cleanup": "cleanup"}  # fmt: skip


@dataclass(slots=True)
class _Picking:
    """A pick that is under way: its verb, its flags, and the values of its options."""

    session: GitSession
    verb: str
    flags: set[str]
    values: dict[str, str]
    many: bool = False

    @property
    def back(self) -> bool:
        """Whether changes are undone."""
        return self.verb == "revert"

    @property
    def mark(self) -> str:
        """The file that holds the commit which could not be picked."""
        return _MARKS[self.verb]

    def stop(self, text: str) -> GitStop:
        """Return what ends the call as a failure."""
        return GitStop(f"error: {text}\nfatal: {self.verb} failed")


def cherry_pick(session: GitSession) -> None:
    """Make the changes of other commits here as well."""
    _pick(session, "cherry-pick")


def revert(session: GitSession) -> None:
    """Undo commits by new ones."""
    _pick(session, "revert")


def _pick(session: GitSession, verb: str) -> None:
    picking, names = _read_words(session, verb)
    repository, flags = session.repository, picking.flags
    if "quit" in flags:
        for name in ("sequencer", *_MARKS.values(), "MERGE_MSG"):
            repository.drop(name)
    elif "abort" in flags:
        _abort(picking)
    elif "skip" in flags:
        _skip(picking)
    elif "continue" in flags:
        _go_on(picking)
    else:
        if not names:
            raise GitStop(_USAGE[verb], 129)
        chosen = _chosen(picking, names)
        _check_begin(picking, len(chosen) > 1)
        picking.many = len(chosen) > 1
        _pick_all(picking, chosen, session.head or "")


def _read_words(session: GitSession, verb: str) -> tuple[_Picking, list[str]]:
    words, names = list(session.words), list[str]()
    picking = _Picking(session, verb, set(), {})
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        if name in _VALUES:
            picking.values[_VALUES[name]] = value if equals else next_word(words, word)
        elif word[:2] in ("-m", "-X") and len(word) > 2:
            picking.values[_VALUES[word[:2]]] = word[2:]
        elif word in _FLAGS:
            picking.flags.add(_FLAGS[word])
        elif re.fullmatch("-[nxse]{2,}", word):
            picking.flags |= {_FLAGS[f"-{letter}"] for letter in word[1:]}
        elif word.startswith("-") and len(word) > 1:
            raise unknown_option(word, _USAGE[verb])
        else:
            names.append(word)
    mainline = picking.values.get("mainline", "1")
    if not mainline.isdecimal() or not int(mainline):
        raise GitStop("error: option `mainline' expects a number greater than zero", 129)
    return picking, names


def _chosen(picking: _Picking, names: Sequence[str]) -> list[str]:
    """Return the commits to be picked, in the order in which they are. Raises GitStop."""
    session = picking.session
    ranged, asked = False, Range()
    for name in names:
        if ".." not in name and not name.startswith("^") and session.maybe(name) is None:
            raise GitStop(f"fatal: bad revision '{name}'")
        ranged = ranged or ".." in name or name.startswith("^")
        if not asked.take(session, name):
            raise GitStop(f"fatal: bad revision '{name}'")
    if not ranged:
        return asked.wanted
    found = commits(session, asked)
    if not found:
        raise picking.stop("empty commit set passed")
    return found if picking.back else found[::-1]


def _check_begin(picking: _Picking, many: bool) -> None:
    session, repository = picking.session, picking.session.repository
    require_unlocked(session, kind="error", after=f"fatal: {picking.verb} failed")
    if repository.conflicts():
        act = "Reverting" if picking.back else "Cherry-picking"
        raise GitStop(UNMERGED.format(act, f"{picking.verb} failed"))
    if many and repository.text("sequencer/todo") is not None:
        doing = (repository.text("sequencer/todo") or "").startswith("revert")
        verb = "revert" if doing else "cherry-pick"
        raise picking.stop(
            f'{verb} is already in progress\nhint: try "git {verb} (--continue | --skip | --abort | --quit)"'
        )
    _check_staged(picking)


def _check_staged(picking: _Picking) -> None:
    repository = picking.session.repository
    if "no-commit" not in picking.flags and repository.index() != head_files(picking.session):
        raise picking.stop(
            f"your local changes would be overwritten by {picking.verb}.\n"
            "hint: commit your changes or stash them to proceed."
        )


def _pick_all(picking: _Picking, chosen: Sequence[str], begun: str) -> None:
    """Pick commits one after another; note what is left where one stops the call."""
    session, repository = picking.session, picking.session.repository
    for place, sha in enumerate(chosen):
        if picking.many:
            _put_state(picking, chosen[place:], begun)
        if not _pick_one(picking, sha):
            session.code = 1
            return
    repository.drop("sequencer")


def _put_state(picking: _Picking, left: Sequence[str], begun: str) -> None:
    """Note where picking began, and what is left of it."""
    repository = picking.session.repository
    word = "revert" if picking.back else "pick"
    lines = [f"{word} {repository.abbreviated(one)} {subject_of(repository.commit(one).message)}\n" for one in left]
    repository.put_text("sequencer/head", f"{begun}\n")
    repository.put_text("sequencer/abort-safety", f"{picking.session.head}\n")
    repository.put_text("sequencer/todo", "".join(lines))
    _keep_options(picking)


def _keep_options(picking: _Picking) -> None:
    kept = [f"\t{name} = true\n" for name in _KEPT if name in picking.flags]
    kept += [f"\tmainline = {picking.values['mainline']}\n"] if "mainline" in picking.values else []
    if kept:
        picking.session.repository.put_text("sequencer/opts", "[options]\n" + "".join(kept))


def _take_options(picking: _Picking) -> None:
    for line in (picking.session.repository.text("sequencer/opts") or "").splitlines()[1:]:
        name, _, value = line.strip().partition(" = ")
        if value == "true":
            picking.flags.add(name)
        else:
            picking.values[name] = value


def _pick_one(picking: _Picking, sha: str) -> bool:
    """Pick one commit; return False where the call ends in the middle of it."""
    session, repository = picking.session, picking.session.repository
    picked, flags = repository.commit(sha), picking.flags
    parent = _parent(picking, sha, picked)
    if "allow-ff" in flags and picked.parents[:1] == (session.head,):
        back = repository.files(repository.commit(session.head or "").tree)
        write_tree(session, back, repository.files(picked.tree), "merge", "merge")
        session.move(sha, f"{picking.verb}: fast-forward")
        return True
    short, subject = repository.abbreviated(sha), subject_of(picked.message)
    names = ("HEAD", f"parent of {short} ({subject})" if picking.back else f"{short} ({subject})")
    staged = "no-commit" in flags
    favour = picking.values.get("favour")
    try:
        done = carry_over(
            session, sha, back=picking.back, names=names, what="merge", parent=parent, staged=staged, favour=favour
        )
    except GitStop as stop:
        raise GitStop(f"{stop.text}\nfatal: {picking.verb} failed") from None
    session.output += [f"{note}\n" for note in done.notes]
    message = _message(picking, sha, picked, parent)
    listed = "".join(f"#\t{path}\n" for path in done.conflicts)
    repository.put_text("MERGE_MSG", f"{message}\n# Conflicts:\n{listed}" if done.conflicts else message)
    if done.conflicts:
        if not staged or picking.back:
            repository.put_text(picking.mark, f"{sha}\n")
        session.warn(f"error: could not {'revert' if picking.back else 'apply'} {short}... {subject}")
        session.warn(_SHORT_ADVICE if staged else _ADVICE.format(picking.verb))
        return False
    if staged:
        if picking.back:
            repository.put_text(picking.mark, f"{sha}\n")
        return True
    return _record(picking, sha, picked, parent, message)


def _parent(picking: _Picking, sha: str, picked: Commit) -> int:
    """Return the number of the parent against which a commit is taken. Raises GitStop where that is not clear."""
    given = picking.values.get("mainline")
    number = int(given or 1)
    if len(picked.parents) > 1 and given is None:
        raise picking.stop(f"commit {sha} is a merge but no -m option was given.")
    if number > max(len(picked.parents), 1):
        raise picking.stop(f"commit {sha} does not have parent {number}")
    return number


def _message(picking: _Picking, sha: str, picked: Commit, parent: int) -> str:
    message = picked.message if picked.message.endswith("\n") else f"{picked.message}\n"
    if picking.back:
        merge = f", reversing\nchanges made to {picked.parents[parent - 1]}" if len(picked.parents) > 1 else ""
        message = f'Revert "{subject_of(picked.message)}"\n\nThis reverts commit {sha}{merge}.\n'
    elif "record-origin" in picking.flags:
        message = with_line(message, f"(cherry picked from commit {sha})")
    return signed_off(picking.session, message) if "signoff" in picking.flags else message


def _record(picking: _Picking, sha: str, picked: Commit, parent: int, message: str) -> bool:
    session, repository = picking.session, picking.session.repository
    tree, head = repository.keep_tree(repository.index()), session.head or ""
    if tree == repository.commit(head).tree and "keep-redundant-commits" not in picking.flags:
        above = repository.commit(picked.parents[parent - 1]).tree if picked.parents else ""
        if "allow-empty" not in picking.flags or picked.tree != above:
            _stop_empty(picking, sha)
            return False
    if "edit" in picking.flags:
        if not picking.back:
            repository.put_text(picking.mark, f"{sha}\n")
        session.words = ["--allow-empty", "--no-verify"]
        commit(session)
        return True
    author = session.signature("AUTHOR") if picking.back else picked.author
    made = Commit(tree, (head,), author, session.signature("COMMITTER"), message)
    new = repository.keep_commit(made)
    session.move(new, f"{picking.verb}: {message.partition(chr(10))[0]}")
    repository.drop("MERGE_MSG")
    report_commit(session, new, dated=True)
    return True


def _stop_empty(picking: _Picking, sha: str) -> None:
    session = picking.session
    if not picking.back:
        session.repository.put_text(picking.mark, f"{sha}\n")
    session.output.append(long_status(session, committing=True))
    if not picking.back:
        session.warn(
            "The previous cherry-pick is now empty, possibly due to conflict resolution.\n"
            "If you wish to commit it anyway, use:\n\n    git commit --allow-empty\n\n"
            "Otherwise, please use 'git cherry-pick --skip'"
        )


# Going on, and giving up.


def _waiting(picking: _Picking) -> tuple[str, list[str]]:
    """Return the commit where picking began, and those that are left, the current one first."""
    repository = picking.session.repository
    lines = (repository.text("sequencer/todo") or "").splitlines()
    begun = (repository.text("sequencer/head") or "").strip()
    return begun, [picking.session.commit_id(line.split()[1]) for line in lines if line.strip()]


def _open(picking: _Picking) -> _Picking | None:
    """Return the pick that is in progress; None without one. It may have been begun by the other verb."""
    repository = picking.session.repository
    todo = repository.text("sequencer/todo") or ""
    for verb, mark in _MARKS.items():
        if repository.text(mark) is not None or todo.startswith("revert" if verb == "revert" else "pick"):
            return replace(picking, verb=verb, many=bool(todo))
    return None


def _abort(picking: _Picking) -> None:
    session, repository = picking.session, picking.session.repository
    found = _open(picking)
    if found is None:
        raise picking.stop("no cherry-pick or revert in progress")
    begun, _ = _waiting(found)
    safe = (repository.text("sequencer/abort-safety") or "").strip()
    if begun and safe and safe != session.head:
        session.warn("warning: You seem to have moved HEAD. Not rewinding, check your HEAD!")
        begun = ""
    back_to(session, begun or session.head or "")
    if begun and begun != session.head:
        session.move(begun, f"reset: moving to {begun}")
    repository.drop("sequencer")


def _skip(picking: _Picking) -> None:
    session, repository = picking.session, picking.session.repository
    found = _open(picking)
    if found is None:
        raise picking.stop(f"no {picking.verb} in progress")
    begun, left = _waiting(found)
    _take_options(found)
    back_to(session, session.head or "")
    repository.drop("sequencer")
    _pick_all(found, left[1:], begun)


def _go_on(picking: _Picking) -> None:
    session, repository = picking.session, picking.session.repository
    found = _open(picking)
    if found is None:
        raise picking.stop("no cherry-pick or revert in progress")
    begun, left = _waiting(found)
    _take_options(found)
    if repository.text(found.mark) is not None:
        session.words = ["--no-edit", "--cleanup=strip"] if "no-edit" in picking.flags else []
        commit(session)
    else:
        _check_staged(found)
    _pick_all(found, left[1:], begun)
