"""log, show, reflog and shortlog."""

import re
from collections.abc import Sequence
from dataclasses import replace

from simtrain.worlds.handlers.git.deltas import Side
from simtrain.worlds.handlers.git.paths import quoted
from simtrain.worlds.handlers.git.revisions import full_name
from simtrain.worlds.machine.git.combined import combined
from simtrain.worlds.machine.git.formats import CommitWriter, Move, date_text
from simtrain.worlds.machine.git.listing import Merges, written
from simtrain.worlds.machine.git.log_request import AMBIGUOUS, LogRequest
from simtrain.worlds.machine.git.session import GitSession, GitStop
from simtrain.worlds.machine.git.walking import Graph, commits


def log(session: GitSession) -> None:
    """Show commits."""
    asked = LogRequest(session)
    writer = asked.writer()
    walks = bool(asked.flags & {"-g", "--walk-reflogs"})
    if walks and "--graph" in asked.flags:
        raise GitStop("fatal: options '--graph' and '--walk-reflogs' cannot be used together")
    if "--graph" in asked.flags:
        _graph(session, asked, writer, asked.chosen())
        return
    found: list[tuple[str, Move | None]] = [*asked.moves()] if walks else [(sha, None) for sha in asked.chosen()]
    for number, (sha, writer.move) in enumerate(found):
        if number and (not writer.is_line or writer.separated):
            session.output.append("\n")
        merges = asked.wish.merges or ("" if asked.wish.forms else None)
        session.output.append(_entry(session, asked, writer, sha, merges=merges))


def _entry(session: GitSession, asked: LogRequest, writer: CommitWriter, sha: str, *, merges: Merges | None) -> str:
    """Return a commit with its differences. `merges` says how those of a merge are shown; None: no differences at all."""
    parents = session.repository.commit(sha).parents
    writer.mark = asked.mark(sha)
    if merges is None or asked.wish.none:
        return _alone(writer, sha)
    if len(parents) < 2 or (not merges and "--first-parent" in asked.flags):
        specs = [asked.names[sha]] if sha in asked.names else asked.specs
        body = written(session, asked.deltas(sha), asked.wish, specs=specs, follow=sha in asked.names)
        return _alone(writer, sha) + (_gap(asked, writer) + body if body else "")
    if merges == "each":
        return _from_each(session, asked, writer, sha, len(parents))
    if not merges:
        return _alone(writer, sha)
    body = _of_merge(session, asked, sha, dense=merges == "dense")
    return _alone(writer, sha) + ("" if writer.is_empty else "\n") + body


def _alone(writer: CommitWriter, sha: str) -> str:
    text = writer.text(sha)
    return text.removesuffix("\n") if writer.separated else text


def _gap(asked: LogRequest, writer: CommitWriter) -> str:
    """Return what stands between a commit and its differences."""
    if writer.is_empty or (writer.form == "oneline" and not writer.custom):
        return ""
    return "---\n" if asked.wish.is_stat_and_patch else "\n"


def _from_each(session: GitSession, asked: LogRequest, writer: CommitWriter, sha: str, count: int) -> str:
    """Return a merge once for each parent that it differs from."""
    parts: list[str] = []
    for number, parent in enumerate(session.repository.commit(sha).parents[:count]):
        body = written(session, asked.deltas(sha, number), asked.wish, specs=asked.specs)
        if body:
            writer.origin = parent
            parts.append(_alone(writer, sha) + _gap(asked, writer) + body)
    writer.origin = None
    return ("" if writer.is_line else "\n").join(parts)


def _of_merge(session: GitSession, asked: LogRequest, sha: str, *, dense: bool) -> str:
    """Return the differences of a merge: sums against its first parent, lines against all of them."""
    wish, repository = asked.wish, session.repository
    files = asked.merged(sha)
    sums = [form for form in wish.forms if form not in ("patch", "name-only", "name-status")]
    text = written(session, asked.deltas(sha), replace(wish, forms=sums), specs=asked.specs) if sums else ""
    if "name-only" in wish.forms:
        text += "".join(f"{quoted(path)}\n" for path, _, _ in files)
    elif "name-status" in wish.forms:
        text += "".join(
            f"{''.join(_letter(one, own) for one in sides)}\t{quoted(path)}\n" for path, sides, own in files
        )
    if wish.forms and "patch" not in wish.forms:
        return text
    lines = "".join(combined(path, sides, own, repository.abbreviated, dense=dense) for path, sides, own in files)
    return f"{text}\n{lines}" if text and lines else text + lines


def _letter(before: Side | None, after: Side | None) -> str:
    return "A" if before is None else "D" if after is None else "M"


def _graph(session: GitSession, asked: LogRequest, writer: CommitWriter, found: Sequence[str]) -> None:
    graph = Graph(session.repository, asked.walked)
    for number, sha in enumerate(found):
        first, rows, further = graph.rows(sha)
        text = writer.text(sha)
        if not writer.is_line and number < len(found) - 1:
            text += "\n"
        if asked.wish.forms and not asked.wish.none and len(session.repository.commit(sha).parents) < 2:
            body = written(session, asked.deltas(sha), asked.wish, specs=asked.specs)
            text += body if writer.is_line else f"{body}\n" if text.endswith("\n\n") else f"\n{body}"
        lines = text.removesuffix("\n").split("\n")
        session.say(first + lines[0])
        waiting = list(rows)
        for line in lines[1:]:
            prefix = waiting.pop(0) if waiting else further
            session.say(prefix + line)
        for row in waiting:
            session.say(row)
    if writer.separated and found and not asked.wish.forms:
        session.output[-1] = session.output[-1].removesuffix("\n")


def show(session: GitSession) -> None:
    """Show commits with their differences, tags, folders and files."""
    asked = LogRequest(session)
    repository = session.repository
    writer = asked.writer()
    names = asked.objects or ["HEAD"]
    if session.head is None and names == ["HEAD"]:
        raise GitStop(f"fatal: your current branch '{session.branch}' does not have any commits yet")
    for number, name in enumerate(names):
        ranged = ".." in name
        found = None if ranged else session.object(name)
        if found is not None and found.kind == "blob":
            session.output.append(repository.blob(found.sha).decode("utf-8", "surrogateescape"))
            continue
        if found is not None and found.kind == "tree":
            session.say(f"tree {name}\n")
            for entry, what in repository.tree(found.sha).items():
                session.say(f"{entry}/" if what.mode == "40000" else entry)
            continue
        if number and (not writer.is_line or writer.separated):
            session.say("")
        ref = full_name(repository, name)
        target = repository.ref(ref) if ref else None
        if target is not None and repository.kind(target) == "tag":
            tag = repository.tag_text(target)
            when = date_text(tag.tagger, asked.date, session.call.now)
            session.say(
                f"tag {tag.name}\nTagger: {tag.tagger.name} <{tag.tagger.email}>\nDate:   {when}\n\n{tag.message}"
            )
        for sha in commits(session, asked.range) if ranged else [found.sha if found else ""]:
            merges = asked.wish.merges or "dense"
            session.output.append(_entry(session, asked, writer, sha, merges=merges))


def reflog(session: GitSession) -> None:
    """Show where HEAD, or a branch, has been."""
    words = [word for word in session.words if word not in ("show", "-q")]
    most = next((int(word.lstrip("-n")) for word in words if re.fullmatch(r"-n?\d+", word)), None)
    names = [word for word in words if not word.startswith("-")]
    if names[:1] == ["expire"] or names[:1] == ["delete"]:
        return
    name = names[0] if names else "HEAD"
    ref = "HEAD" if name == "HEAD" else full_name(session.repository, name)
    if ref is None:
        raise GitStop(AMBIGUOUS.format(name))
    entries = session.repository.log(ref)
    for number, entry in enumerate(entries[:most] if most else entries):
        session.say(f"{session.repository.abbreviated(entry['new'])} {name}@{{{number}}}: {entry['message']}")


def shortlog(session: GitSession) -> None:
    """Show who made how many commits, or their subjects by person."""
    flags = {word for word in session.words if word.startswith("-")}
    letters = {letter for flag in flags if not flag.startswith("--") for letter in flag[1:]}
    letters |= {"s" for flag in flags if flag == "--summary"} | {"n" for flag in flags if flag == "--numbered"}
    session.words = [word for word in session.words if word not in flags]
    asked = LogRequest(session)
    if not asked.objects and session.call.stdin is not None and not asked.specs:
        return
    found: dict[str, list[str]] = {}
    for sha in reversed(asked.chosen()):
        commit = session.repository.commit(sha)
        name = f"{commit.author.name} <{commit.author.email}>" if "e" in letters else commit.author.name
        found.setdefault(name, []).append(commit.message.partition("\n")[0])
    order = sorted(found, key=lambda name: (-len(found[name]) if "n" in letters else 0, name.lower()))
    for name in order:
        if "s" in letters:
            session.say(f"{len(found[name]):6}\t{name}")
        else:
            session.say(f"{name} ({len(found[name])}):")
            session.output += [f"      {subject}\n" for subject in found[name]] + ["\n"]
