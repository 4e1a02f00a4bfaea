"""apply: carries a patch out in the working tree, the index, or both."""

import re
from collections.abc import Mapping, Sequence
from posixpath import join, normpath

from simtrain.worlds.handlers.git.objects import TreeEntry
from simtrain.worlds.handlers.git.states import worktree_entries
from simtrain.worlds.machine.git.listing import renamed
from simtrain.worlds.machine.git.locking import require_unlocked
from simtrain.worlds.machine.git.mail_applying import NoBase, base_of, changed_entry
from simtrain.worlds.machine.git.patching import DoesNotApply, FilePatch, NoName, parsed, turned
from simtrain.worlds.machine.git.resetting import next_word
from simtrain.worlds.machine.git.session import GitSession, GitStop, matching, unknown_option
from simtrain.worlds.machine.git.three_way import merge as merge_trees

_FLAGS = {
    "--check": "check", "--stat": "stat", "--numstat": "numstat", "--summary": "summary", "-R": "back",
    "--reverse": "back", "--index": "index", "--cached": "cached", "-3": "merge", "--3way": "merge", "-v": "verbose",
    "--verbose": "verbose", "--apply": "apply", "--allow-empty": "empty", "-q": "quiet", "--quiet": "quiet",
}  # fmt: skip
_IGNORED = ("--whitespace", "--recount", "--unidiff-zero", "--ignore-", "--inaccurate-eof", "--allow-overlap", "-C", "-N",
            "--intent-to-add", "--unsafe-paths", "--no-add", "--allow-binary-replacement", "--binary")  # fmt: skip
_WIDE = 70
_LONGEST = 50


def apply(session: GitSession) -> None:
    """Carry a patch out, or say what it would change."""
    flags, values, names = _read_words(session)
    text = "".join(session.text_of(name, "error: can't open patch '{}'") for name in names or ["-"])
    try:
        found = parsed(text, strip=int(values.get("-p", "1")))
    except NoName as line:
        raise GitStop(f"error: git diff header lacks filename information when removing {line}") from None
    if not found and "empty" not in flags:
        raise GitStop('error: No valid patches in input (allow with "--allow-empty")')
    found = [turned(one) for one in found] if "back" in flags else found
    found = [
        one for one in (_moved(one, values.get("--directory", "")) for one in found) if _is_meant(session, one, values)
    ]
    shown = flags & {"stat", "numstat", "summary"}
    if "check" in flags or not shown or "apply" in flags:
        _carry_out(session, found, flags)
    if shown and found:
        _say(session, found, flags)


def _read_words(session: GitSession) -> tuple[set[str], dict[str, str], list[str]]:
    flags, values, names = set[str](), dict[str, str](), list[str]()
    words = list(session.words)
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        if re.fullmatch("-[Rv3q]{2,}", word):
            words[:0] = [f"-{letter}" for letter in word[1:]]
        elif word in _FLAGS:
            flags.add(_FLAGS[word])
        elif name in ("--directory", "--include", "--exclude"):
            values[name] = value if equals else next_word(words, word)
        elif word.startswith("-p"):
            values["-p"] = word[2:] or next_word(words, word)
        elif word.startswith("-") and len(word) > 1 and not word.startswith(_IGNORED):
            raise unknown_option(word, "usage: git apply [<options>] [<patch>...]")
        elif not word.startswith("-") or word == "-":
            names.append(word)
    if "merge" in flags:
        flags.add("index")
    return flags, values, names


def _moved(one: FilePatch, folder: str) -> FilePatch:
    """Return a patch for files below another folder."""
    if folder:
        one.old, one.new = (normpath(join(folder, path)) if path is not None else None for path in (one.old, one.new))
    return one


def _is_meant(session: GitSession, one: FilePatch, values: Mapping[str, str]) -> bool:
    """Return whether a patch is about a file below the working directory, and none that is left out."""
    path = one.new or one.old or ""
    if "--include" in values and not matching([path], [values["--include"]]):
        return False
    if "--exclude" in values and matching([path], [values["--exclude"]]):
        return False
    return path.startswith(session.prefix)


def _carry_out(session: GitSession, found: Sequence[FilePatch], flags: set[str]) -> None:
    """Carry patches out. Raises GitStop, before anything is changed, where one of them does not apply."""
    repository = session.repository
    if flags & {"index", "cached"}:
        require_unlocked(session)
    index, tree = repository.index(), worktree_entries(repository)
    files = dict(index if "cached" in flags else tree)
    refusals: list[str] = []
    merged: list[FilePatch] = []
    for one in found:
        if "verbose" in flags:
            session.warn(f"Checking patch {one.path}...")
        wrong = _problem(one, index, tree, files, flags)
        if wrong is not None:
            refusals.append(f"error: {one.path}: {wrong}")
            continue
        if "merge" in flags and one.old is not None and _has_base(session, one):
            merged.append(one)
            continue
        try:
            _change(session, one, files, tree)
        except DoesNotApply as failed:
            if "verbose" in flags:
                refusals.append(f"error: while searching for:\n{failed.wanted}")
            refusals.append(f"error: patch failed: {one.path}:{failed.line}\nerror: {one.path}: patch does not apply")
    if refusals:
        raise GitStop("\n".join(refusals), 1)
    if "check" in flags and "apply" not in flags:
        return
    _write(session, found, files, flags)
    if "verbose" in flags:
        session.errors += [f"Applied patch {one.path} cleanly.\n" for one in found]
    if merged:
        _merge(session, merged)


def _problem(
    one: FilePatch,
    index: Mapping[str, TreeEntry],
    tree: Mapping[str, TreeEntry],
    files: Mapping[str, TreeEntry],
    flags: set[str],
) -> str | None:
    staged = bool(flags & {"index", "cached"})
    if one.old is None:
        if staged and one.new in index:
            return "already exists in index"
        return "already exists in working directory" if "cached" not in flags and one.new in files else None
    if staged and one.old not in index:
        return "does not exist in index"
    if one.old not in files:
        return "No such file or directory"
    return "does not match index" if "index" in flags and tree.get(one.old) != index[one.old] else None


def _change(session: GitSession, one: FilePatch, files: dict[str, TreeEntry], tree: Mapping[str, TreeEntry]) -> None:
    repository = session.repository
    before = files.get(one.old) if one.old is not None else None
    if before is not None and before == tree.get(one.old or ""):
        # A file of the working tree need not be in the repository.
        repository.keep_blob(repository.worktree()[one.old or ""][1])
    entry = changed_entry(repository, one, before)
    if one.old is not None and not one.copied:
        files.pop(one.old, None)
    if one.new is not None and entry is not None:
        files[one.new] = entry


def _write(session: GitSession, found: Sequence[FilePatch], files: Mapping[str, TreeEntry], flags: set[str]) -> None:
    touched = list(dict.fromkeys(path for one in found for path in (one.old, one.new) if path is not None))
    changes = {path: files.get(path) for path in touched}
    if "cached" not in flags:
        now = worktree_entries(session.repository)
        session.repository.put_files({path: entry for path, entry in changes.items() if now.get(path) != entry})
    if flags & {"index", "cached"}:
        session.repository.stage(changes)


def _has_base(session: GitSession, one: FilePatch) -> bool:
    try:
        base_of(session.repository, [one], session.repository.index())
    except NoBase:
        return False
    return True


def _merge(session: GitSession, found: Sequence[FilePatch]) -> None:
    """Merge patches with what is staged, by way of the files that they were made for."""
    repository = session.repository
    index = repository.index()
    stages = dict(repository.stages())
    conflicts: list[str] = []
    for one in found:
        base = base_of(repository, [one], index)
        entry = changed_entry(repository, one, base[one.path])
        theirs = {one.new: entry} if one.new is not None and entry is not None else {}
        ours = {one.path: index[one.path]}
        done = merge_trees(repository, base, ours, theirs, names=("ours", "theirs"))
        stages = {key: held for key, held in stages.items() if key[0] != one.path} | done.stages
        session.warn(f"Applied patch to '{one.path}' {'with conflicts' if done.conflicts else 'cleanly'}.")
        conflicts += done.conflicts
        for path, (mode, content) in done.files.items():
            repository.put_file(path, mode, content)
    repository.put_stages(stages)
    if conflicts:
        raise GitStop("\n".join(f"U {path}" for path in conflicts), 1)


# What a patch changes.


def _say(session: GitSession, found: Sequence[FilePatch], flags: set[str]) -> None:
    rows = [(_name(one), one.counts()) for one in found]
    if "stat" in flags:
        _say_stat(session, rows)
    if "numstat" in flags:
        session.output += [
            f"{plus}\t{minus}\t{one.new or one.old}\n" for one, (_, (plus, minus)) in zip(found, rows, strict=True)
        ]
    for one in found if "summary" in flags else ():
        if one.old is None:
            session.say(f" create mode {one.new_mode} {one.new}")
        elif one.new is None:
            session.say(f" delete mode {one.old_mode} {one.old}")
        elif one.old != one.new:
            session.say(f" rename {renamed(one.old, one.new)} ({one.alike})")
        elif one.old_mode and one.new_mode and one.old_mode != one.new_mode:
            session.say(f" mode change {one.old_mode} => {one.new_mode} {one.new}")


def _name(one: FilePatch) -> str:
    if one.old is not None and one.new is not None and one.old != one.new:
        return renamed(one.old, one.new)
    return one.new or one.old or ""


def _say_stat(session: GitSession, rows: Sequence[tuple[str, tuple[int, int]]]) -> None:
    most = max(sum(count) for _, count in rows)
    wide = min(max(len(name) for name, _ in rows), _LONGEST)
    bar = min(most, _WIDE - wide)
    for name, (plus, minus) in rows:
        total, more = plus + minus, plus
        if most:
            total, more = ((number * bar + most // 2) // most for number in (plus + minus, plus))
        shown = name if len(name) <= wide else f"...{name[len(name) - wide + 3 :]}"
        session.say(f" {shown.ljust(wide)} | {plus + minus:>4} {'+' * more}{'-' * (total - more)}")
    added, gone = (sum(count[side] for _, count in rows) for side in (0, 1))
    text = f" {len(rows)} file{'s' if len(rows) != 1 else ''} changed"
    if added or not gone:
        text += f", {added} insertion{'s' if added != 1 else ''}(+)"
    if gone or not added:
        text += f", {gone} deletion{'s' if gone != 1 else ''}(-)"
    session.say(text)
