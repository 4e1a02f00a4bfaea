"""The steps of a rebase: picking commits, melding them, running commands."""

import re
from collections.abc import Sequence

from simtrain.worlds.handlers.git.objects import EMPTY_TREE, Commit
from simtrain.worlds.handlers.git.patch import patch
from simtrain.worlds.handlers.git.states import compared
from simtrain.worlds.machine.git.applying import carry_over, write_tree
from simtrain.worlds.machine.git.committing import commit
from simtrain.worlds.machine.git.messages import cleaned_as, subject_of
from simtrain.worlds.machine.git.rebase_todo import FOLDER, RebaseStep, left_steps, put_steps
from simtrain.worlds.machine.git.session import GitSession
from simtrain.worlds.machine.git.three_way import Merged

_CLEAR = f"\r{' ' * 80}\r"
_CONFLICT = (
    "error: could not apply {0}... {1}\n"
    "hint: Resolve all conflicts manually, mark them as resolved with\n"
    'hint: "git add/rm <conflicted_files>", then run "git rebase --continue".\n'
    'hint: You can instead skip this commit: run "git rebase --skip".\n'
    'hint: To abort and get back to the state before "git rebase", run "git rebase --abort".\n'
    "Could not apply {0}... {1}"
)
_AMEND = (
    "You can amend the commit now, with\n\n  git commit --amend \n\n"
    "Once you are satisfied with your changes, run\n\n  git rebase --continue"
)


def held(session: GitSession, name: str) -> str:
    """Return what a file of the rebase in progress says."""
    return (session.repository.text(f"{FOLDER}/{name}") or "").strip()


def is_quiet(session: GitSession) -> bool:
    """Return whether the rebase in progress was asked to be quiet."""
    return session.repository.text(f"{FOLDER}/quiet") is not None


def carry_on(session: GitSession) -> bool:
    """Take the steps that are left; return whether all of them are done."""
    repository = session.repository
    while steps := left_steps(session):
        step = steps[0]
        put_steps(session, steps[1:])
        done = (repository.text(f"{FOLDER}/done") or "") + f"{step.line(session)}\n"
        repository.put_text(f"{FOLDER}/done", done)
        number = done.count("\n")
        repository.put_text(f"{FOLDER}/msgnum", f"{number}\n")
        repository.put_text(f"{FOLDER}/end", f"{number + len(steps) - 1}\n")
        if not is_quiet(session) and step.verb not in ("exec", "break", "noop"):
            session.errors.append(f"Rebasing ({number}/{number + len(steps) - 1})\r")
        if not _take(session, step, steps[1:]):
            return False
    return True


def clear_line(session: GitSession) -> None:
    """Clear the line that shows how far the rebase is."""
    if not is_quiet(session):
        session.errors.append(_CLEAR)


def _take(session: GitSession, step: RebaseStep, left: Sequence[RebaseStep]) -> bool:
    """Take one step; return False where the call ends with it."""
    if step.verb in ("noop", "drop"):
        return True
    if step.verb == "exec":
        return _run(session, step.rest)
    if step.verb == "break":
        _say_stop(session, session.head or "")
        return False
    if step.verb in ("fixup", "squash"):
        return _meld(session, step, left)
    if not _pick(session, step):
        return False
    if step.verb == "reword":
        session.words = ["--amend", "--edit", "--no-verify", "--allow-empty"]
        commit(session, action="rebase (reword)")
    if step.verb == "edit":
        session.repository.put_text(f"{FOLDER}/amend", f"{session.head}\n")
        clear_line(session)
        _say_stop(session, session.head or "")
        session.warn(_AMEND)
        return False
    return True


def _say_stop(session: GitSession, sha: str) -> None:
    subject = subject_of(session.repository.commit(sha).message)
    session.repository.put_text(f"{FOLDER}/stopped-sha", f"{sha}\n")
    session.warn(f"Stopped at {session.repository.abbreviated(sha)}...  {subject}")


def _run(session: GitSession, command: str) -> bool:
    clear_line(session)
    session.warn(f"Executing: {command}")
    done = session.call.run(command, directory=session.repository.path)
    session.output.append(done.stdout)
    session.errors.append(done.stderr)
    if done.exit_code:
        session.warn(
            f"warning: execution failed: {command}\nYou can fix the problem, and then run\n\n  git rebase --continue\n\n"
        )
        session.code = 1
    return not done.exit_code


def _pick(session: GitSession, step: RebaseStep) -> bool:
    repository, head = session.repository, session.head or ""
    picked = repository.commit(step.sha)
    if picked.parents == _below(session) and repository.text(f"{FOLDER}/force") is None:
        old = repository.files(repository.commit(head).tree)
        write_tree(session, old, repository.files(picked.tree), "rebase", "rebase")
        session.move(step.sha, "rebase: fast-forward")
        return True
    done = _carried(session, step, picked)
    if done.conflicts:
        return False
    tree = repository.keep_tree(repository.index())
    if tree == repository.commit(head).tree and not _was_empty(session, picked):
        session.warn(f"dropping {step.sha} {subject_of(picked.message)} -- patch contents already upstream")
        return True
    _record(session, tree, picked, picked.message, _below(session), f"rebase ({step.verb})")
    return True


def _below(session: GitSession) -> tuple[str, ...]:
    """Return the parents of the next commit: HEAD, unless that only stands for the beginning of all history."""
    head = session.head or ""
    return () if head == held(session, "squash-onto") else (head,)


def _was_empty(session: GitSession, picked: Commit) -> bool:
    above = session.repository.commit(picked.parents[0]).tree if picked.parents else ""
    return above == picked.tree


def _carried(session: GitSession, step: RebaseStep, picked: Commit) -> Merged:
    """Carry the change of a commit over to HEAD, and note conflicts."""
    repository = session.repository
    short, subject = repository.abbreviated(step.sha), subject_of(picked.message)
    favour = held(session, "strategy_opts") or None
    names = ("HEAD", f"{short} ({subject})")
    done = carry_over(session, step.sha, back=False, names=names, what="merge", favour=favour)
    session.output += [f"{note}\n" for note in done.notes]
    if done.conflicts:
        _note_conflict(session, step, picked, done.conflicts)
        session.warn(_CONFLICT.format(short, subject))
        session.code = 1
    return done


def _note_conflict(session: GitSession, step: RebaseStep, picked: Commit, conflicts: Sequence[str]) -> None:
    repository, author = session.repository, picked.author
    listed = "".join(f"#\t{path}\n" for path in conflicts)
    when = author.encode().rpartition("> ")[2]
    script = {"NAME": author.name, "EMAIL": author.email, "DATE": f"@{when}"}
    repository.put_text("MERGE_MSG", f"{picked.message.rstrip(chr(10))}\n\n# Conflicts:\n{listed}")
    base = repository.commit(picked.parents[0]).tree if picked.parents else EMPTY_TREE
    found = compared(repository, repository.files(base), repository.files(picked.tree))
    texts = {
        "patch": patch(found, context=3, abbreviate=repository.abbreviated),
        "message": f"{picked.message.rstrip(chr(10))}\n\n",
        "stopped-sha": f"{step.sha}\n",
        "author-script": "".join(f"GIT_AUTHOR_{name}='{value}'\n" for name, value in script.items()),
    }
    for name, text in texts.items():
        repository.put_text(f"{FOLDER}/{name}", text)


def _record(
    session: GitSession, tree: str, picked: Commit, message: str, parents: tuple[str, ...], action: str
) -> None:
    made = Commit(tree, parents, picked.author, session.signature("COMMITTER"), message)
    session.move(session.repository.keep_commit(made), f"{action}: {message.partition(chr(10))[0]}")


def _meld(session: GitSession, step: RebaseStep, left: Sequence[RebaseStep]) -> bool:
    """Meld a commit into HEAD. The last of several opens the editor, if any of them keeps its message."""
    repository, head = session.repository, session.repository.commit(session.head or "")
    picked = repository.commit(step.sha)
    if _carried(session, step, picked).conflicts:
        return False
    last = not left or left[0].verb not in ("fixup", "squash")
    text = _combined(session, step, head, picked)
    message = cleaned_as(text, "strip", edited=True)
    if step.rest.startswith("-C "):
        message = picked.message.partition("\n\n")[2] if picked.message.startswith("amend! ") else picked.message
    tree = repository.keep_tree(repository.index())
    if last and repository.text(f"{FOLDER}/message-squash") is not None:
        repository.put_text("MERGE_MSG", text)
        _record(session, tree, head, message, head.parents, f"rebase ({step.verb})")
        repository.put_text("SQUASH_MSG", text)
        session.words = ["--amend", "--edit", "--no-verify", "--cleanup=strip", "-F", f"{repository.folder}/SQUASH_MSG"]
        commit(session, action=f"rebase ({step.verb})")
    else:
        _record(session, tree, head, message, head.parents, f"rebase ({step.verb})")
    if last:
        for name in ("message-squash", "message-fixup"):
            repository.drop(f"{FOLDER}/{name}")
    return True


def _combined(session: GitSession, step: RebaseStep, head: Commit, picked: Commit) -> str:
    """Return the messages of all commits that are melded so far, as the editor shows them."""
    repository = session.repository
    before = repository.text(f"{FOLDER}/message-squash") or repository.text(f"{FOLDER}/message-fixup")
    kept = step.verb == "squash"
    text = (
        before
        or f"# This is a combination of 1 commits.\n# This is the 1st commit message:\n\n{head.message.strip(chr(10))}\n"
    )
    count = int(re.findall(r"\d+", text)[0]) + 1
    text = re.sub(r"\d+", str(count), text, count=1)
    message = picked.message.strip("\n")
    if kept:
        shown = re.sub(r"\A((?:squash|fixup|amend)! )", r"# \1", message)
        text += f"\n# This is the commit message #{count}:\n\n{shown}\n"
    else:
        skipped = "".join(f"# {line}".rstrip() + "\n" for line in message.split("\n"))
        text += f"\n# The commit message #{count} will be skipped:\n\n{skipped}"
    squashing = kept or repository.text(f"{FOLDER}/message-squash") is not None
    repository.put_text(f"{FOLDER}/message-{'squash' if squashing else 'fixup'}", text)
    return text
