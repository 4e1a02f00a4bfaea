"""The list of what a rebase has to do: how it is made, ordered, edited and read."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from simtrain.worlds.handlers.git.objects import EMPTY_TREE
from simtrain.worlds.handlers.git.patch import body
from simtrain.worlds.handlers.git.states import compared
from simtrain.worlds.machine.git.messages import edited, subject_of
from simtrain.worlds.machine.git.session import GitSession, GitStop
from simtrain.worlds.machine.git.walking import Range, commits

FOLDER = "rebase-merge"
TODO = f"{FOLDER}/git-rebase-todo"
_SHORT = {"p": "pick", "r": "reword", "e": "edit", "s": "squash", "f": "fixup", "x": "exec", "b": "break", "d": "drop"}
_VERBS = {*_SHORT.values(), "noop"}
_MELDED = re.compile(r"(fixup|squash|amend)! ")
_HELP = """
# Rebase {range} onto {onto} ({count} command{plural})
#
# Commands:
# p, pick <commit> = use commit
# r, reword <commit> = use commit, but edit the commit message
# e, edit <commit> = use commit, but stop for amending
# s, squash <commit> = use commit, but meld into previous commit
# f, fixup [-C | -c] <commit> = like "squash" but keep only the previous
#                    commit's log message, unless -C is used, in which case
#                    keep only this commit's message; -c is same as -C but
#                    opens the editor
# x, exec <command> = run command (the rest of the line) using shell
# b, break = stop here (continue rebase later with 'git rebase --continue')
# d, drop <commit> = remove commit
# l, label <label> = label current HEAD with a name
# t, reset <label> = reset HEAD to a label
# m, merge [-C <commit> | -c <commit>] <label> [# <oneline>]
#         create a merge commit using the original merge commit's
#         message (or the oneline, if no original merge commit was
#         specified); use -c <commit> to reword the commit message
# u, update-ref <ref> = track a placeholder for the <ref> to be updated
#                       to this position in the new commits. The <ref> is
#                       updated at the end of the rebase
#
# These lines can be re-ordered; they are executed from top to bottom.
#
# If you remove a line here THAT COMMIT WILL BE LOST.
#
# However, if you remove everything, the rebase will be aborted.
#
"""


@dataclass(frozen=True, slots=True)
class RebaseStep:
    """One line of the list: a verb, the commit that it is about, and what else the line says."""

    verb: str
    sha: str = ""
    rest: str = ""

    def line(self, session: GitSession, *, short: bool = False) -> str:
        """Return the line."""
        if self.sha:
            sha = session.repository.abbreviated(self.sha) if short else self.sha
            return f"{self.verb} {sha} {self.rest}"
        return f"{self.verb} {self.rest}".rstrip()


def picks(session: GitSession, head: str, upstream: str | None) -> list[RebaseStep]:
    """Return the commits to be moved, the oldest first, without those whose change the upstream has already."""
    repository = session.repository
    found = commits(session, Range(wanted=[head], unwanted=[upstream] if upstream else []))
    own = [sha for sha in reversed(found) if len(repository.commit(sha).parents) < 2]
    there = commits(session, Range(wanted=[upstream], unwanted=[head])) if upstream else []
    known = {_change(session, sha) for sha in there if len(repository.commit(sha).parents) < 2} - {""}
    steps: list[RebaseStep] = []
    for sha in own:
        if known and _change(session, sha) in known:
            session.warn(f"warning: skipped previously applied commit {repository.abbreviated(sha)}")
        else:
            steps.append(RebaseStep("pick", sha, subject_of(repository.commit(sha).message)))
    if len(steps) < len(own):
        session.warn(
            "hint: use --reapply-cherry-picks to include skipped commits\n"
            'hint: Disable this message with "git config advice.skippedCherryPicks false"'
        )
    return steps


def _change(session: GitSession, sha: str) -> str:
    """Return what a commit changes, wherever in a file that is."""
    repository = session.repository
    commit = repository.commit(sha)
    base = repository.commit(commit.parents[0]).tree if commit.parents else EMPTY_TREE
    found = compared(repository, repository.files(base), repository.files(commit.tree))
    return "".join(f"{delta.path}\n{re.sub('(?m)^@@.*$', '', body(delta, context=3))}" for delta in found)


def squashed(steps: Sequence[RebaseStep]) -> list[RebaseStep]:
    """Return the list with `fixup!` and `squash!` commits behind those that they belong to."""
    groups: list[list[RebaseStep]] = []
    for step in steps:
        found = _MELDED.match(step.rest)
        target = step.rest
        while _MELDED.match(target):
            target = _MELDED.sub("", target, count=1)
        home = next((group for group in groups if found and _belongs(group[0], target)), None)
        if home is None or found is None:
            groups.append([step])
        else:
            verb = "squash" if found[1] == "squash" else "fixup"
            home.append(RebaseStep(verb, step.sha, f"-C {step.rest}" if found[1] == "amend" else step.rest))
    return [step for group in groups for step in group]


def _belongs(step: RebaseStep, target: str) -> bool:
    return step.rest.startswith(target) or (
        bool(re.fullmatch("[0-9a-f]{7,40}", target)) and step.sha.startswith(target)
    )


def with_commands(steps: Sequence[RebaseStep], commands: Sequence[str]) -> list[RebaseStep]:
    """Return the list with commands behind each commit and what is melded into it."""
    found: list[RebaseStep] = []
    for place, step in enumerate(steps):
        found.append(step)
        follows = steps[place + 1].verb if place + 1 < len(steps) else ""
        if follows not in ("fixup", "squash"):
            found += [RebaseStep("exec", rest=command) for command in commands]
    return found


def edited_steps(session: GitSession, steps: Sequence[RebaseStep], since: str, onto: str) -> list[RebaseStep]:
    """Let the user edit the list. Raises GitStop where nothing is left, or a line says nothing."""
    repository = session.repository
    environment = session.call.environment
    command = environment.get("GIT_SEQUENCE_EDITOR") or session.setting("sequence.editor")
    text = "".join(f"{step.line(session, short=True)}\n" for step in steps) or "noop\n"
    short = repository.abbreviated(onto)
    span = f"{since}..{repository.abbreviated(session.head or '')}" if since else repository.abbreviated(onto)
    count = len(steps)
    text += _HELP.format(range=span, onto=short, count=count, plural="" if count == 1 else "s")
    try:
        changed = edited(session, text, TODO, command=command)
    except GitStop:
        repository.drop(FOLDER)
        raise
    found = read_steps(session, changed)
    if not found:
        repository.drop(FOLDER)
        raise GitStop("error: nothing to do", 1)
    return found


def read_steps(session: GitSession, text: str) -> list[RebaseStep]:
    """Return the steps that a text lists. Raises GitStop for a line that is none."""
    found: list[RebaseStep] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        word, _, rest = line.strip().partition(" ")
        verb = _SHORT.get(word, word)
        flag = re.match(r"(-[Cc]) +", rest) if verb == "fixup" else None
        name, _, subject = (rest[flag.end() :] if flag else rest).partition(" ")
        if verb == "exec":
            found.append(RebaseStep(verb, rest=rest))
        elif verb in ("break", "noop"):
            found.append(RebaseStep(verb))
        elif verb in _VERBS and name and session.maybe(name) is not None:
            found.append(RebaseStep(verb, session.commit_id(name), f"{flag[1]} {subject}" if flag else subject))
        else:
            raise GitStop(
                f"error: invalid line {number}: {line}\nerror: You can fix this with 'git rebase --edit-todo' "
                "and then run 'git rebase --continue'.\nOr you can abort the rebase with 'git rebase --abort'.",
                1,
            )
    return found


def put_steps(session: GitSession, steps: Sequence[RebaseStep]) -> None:
    """Write the list of what is left."""
    session.repository.put_text(TODO, "".join(f"{step.line(session)}\n" for step in steps))


def left_steps(session: GitSession) -> list[RebaseStep]:
    """Return what is left of the rebase in progress."""
    return read_steps(session, session.repository.text(TODO) or "")
