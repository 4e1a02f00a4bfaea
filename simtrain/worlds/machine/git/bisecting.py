"""bisect: finds the commit that broke something, by halves.

Its state lies in the files that git keeps: BISECT_START, BISECT_LOG, BISECT_TERMS, BISECT_NAMES, and refs below refs/bisect. The words
are those of git's builtin/bisect--helper.c and bisect.c.
"""

from collections.abc import Callable, Sequence

from simtrain.worlds.handlers.git.history import reachable
from simtrain.worlds.machine.git.bisect_state import Bisection, quoted_words
from simtrain.worlds.machine.git.bisection import choose, steps_left
from simtrain.worlds.machine.git.checkouts import go
from simtrain.worlds.machine.git.history import show
from simtrain.worlds.machine.git.session import GitSession, GitStop
from simtrain.worlds.machine.git.walking import Range, commits, merge_bases, touching

_USAGE = "usage: git bisect [help|start|bad|good|new|old|terms|skip|next|reset|visualize|view|replay|log|run]"
_MISTAKEN = (
    "Some {good} revs are not ancestors of the {bad} rev.\ngit bisect cannot work properly in this case.\n"
    "Maybe you mistook {good} and {bad} revs?"
)


class _Found(Exception):
    """The first bad commit is known."""


class _MergeBase(Exception):
    """A merge base has to be tested first."""


class _OnlySkipped(Exception):
    """None but skipped commits are left."""


def bisect(session: GitSession) -> None:
    """Find the commit that broke something."""
    if not session.words:
        raise GitStop(_USAGE, 1)
    action, *rest = session.words
    state = Bisection(session.repository)
    actions: dict[str, Callable[[GitSession, Bisection, list[str]], None]] = {
        "start": _start, "skip": _skip, "next": _next_asked, "reset": _reset, "log": _log, "run": _run, "terms": _terms,
    }  # fmt: skip
    if action in ("bad", "good", "new", "old", *state.terms):
        _ending(session, lambda: _mark(session, state, action, rest))
    elif action in actions:
        _ending(session, lambda: actions[action](session, state, rest))
    else:
        raise GitStop(f"error: unknown subcommand: `{action}'\n{_USAGE}", 129)


def _ending(session: GitSession, work: Callable[[], None]) -> None:
    """Do a step; what ends it early without being an error gives its exit code."""
    try:
        work()
    except (_Found, _MergeBase):
        session.code = 0
    except _OnlySkipped:
        session.code = 2


# Starting and ending.


def _start(session: GitSession, state: Bisection, words: list[str]) -> None:
    paths: list[str] = []
    revisions: list[str] = []
    dashed = "--" in words
    for place, word in enumerate(words):
        if word == "--":
            paths = words[place + 1 :]
            break
        if word.startswith("-"):
            raise GitStop(f"error: unrecognized option: '{word}'", 1)
        if session.maybe(word) is not None:
            revisions.append(session.commit_id(word))
        elif dashed:
            raise GitStop(f"fatal: '{word}' does not appear to be a valid revision")
        else:
            paths = words[place:]
            break
    if state.begun:
        go(session, state.origin)
    origin = session.branch or session.head
    if session.head is None or origin is None:
        raise GitStop("error: bad HEAD - I need a HEAD", 1)
    state.clear()
    state.begin(origin, session.paths(paths), [] if not paths else (words[words.index("--") :] if dashed else paths))
    # The first revision is the bad one; others, if they differ, are good.
    for place, sha in enumerate(revisions):
        state.mark("good" if place else "bad", sha)
    state.log(f"git bisect start{quoted_words(words)}")
    try:
        _go_on(session, state)
    except GitStop:
        state.clear()
        raise


def _reset(session: GitSession, state: Bisection, words: list[str]) -> None:
    if not words and not state.begun:
        session.say("We are not bisecting.")
        return
    target = words[0] if words else state.origin
    if words and session.maybe(words[0]) is None:
        raise GitStop(f"error: '{words[0]}' is not a valid commit", 1)
    try:
        go(session, target)
    except GitStop as stop:
        why = f"error: could not check out original HEAD '{target}'. Try 'git bisect reset <commit>'."
        raise GitStop(f"{stop.text}\n{why}", 1) from None
    state.clear()


def _log(session: GitSession, state: Bisection, words: list[str]) -> None:
    text = session.repository.text("BISECT_LOG")
    if text is None:
        raise GitStop("error: We are not bisecting.", 1)
    session.output.append(text)


def _terms(session: GitSession, state: Bisection, words: list[str]) -> None:
    if not state.begun:
        raise GitStop("error: no terms defined", 1)
    session.say(f"Your current terms are {state.terms[1]} for the old state\nand {state.terms[0]} for the new state.")


# Marking.


def _require_begun(state: Bisection) -> None:
    if not state.begun:
        raise GitStop('You need to start by "git bisect start"\n', 1)


def _mark(session: GitSession, state: Bisection, word: str, names: Sequence[str]) -> None:
    _require_begun(state)
    if not state.accepts(word):
        bad, good = state.terms
        raise GitStop(f"error: Invalid command: you're currently in a {bad}/{good} bisect", 1)
    kind = "bad" if word in ("bad", "new") else "good"
    if kind == "bad" and len(names) > 1:
        raise GitStop(f"error: 'git bisect {word}' can take only one argument.", 1)
    marked: list[str] = []
    for name in names or ["HEAD"]:
        if session.maybe(name) is None:
            raise GitStop(f"error: Bad rev input: {name}", 1)
        marked.append(session.commit_id(name))
    state.take_terms(word)
    for sha in marked:
        state.mark(kind, sha)
        state.log(f"git bisect {word} {sha}")
        state.unexpected(sha)
    _go_on(session, state)


def _skip(session: GitSession, state: Bisection, words: list[str]) -> None:
    _require_begun(state)
    for name in words or ["HEAD"]:
        asked = Range()
        if session.maybe(name) is None and (".." not in name or not asked.take(session, name)):
            raise GitStop(f"error: Bad rev input: {name}", 1)
        for sha in commits(session, asked) if asked.wanted else [session.commit_id(name)]:
            state.mark("skip", sha)
            state.log(f"git bisect skip {sha}")
            state.unexpected(sha)
    _go_on(session, state)


# The next commit.


def _next_asked(session: GitSession, state: Bisection, words: list[str]) -> None:
    _require_begun(state)
    if state.bad is None or not state.good:
        raise GitStop(
            f"You need to give me at least one {state.terms[1]} and {state.terms[0]} revision.\n"
            f'You can use "git bisect {state.terms[0]}" and "git bisect {state.terms[1]}" for that.',
            1,
        )
    _next(session, state)


def _go_on(session: GitSession, state: Bisection) -> None:
    """Say what is missing, or check out the next commit."""
    waiting = state.waiting()
    if waiting is None:
        _next(session, state)
        return
    session.say(waiting)
    state.log(f"# {waiting}")


def _next(session: GitSession, state: Bisection) -> None:
    """Check out the next commit to test. Raises _Found for the first bad one, _OnlySkipped, _MergeBase."""
    bad = state.bad or ""
    _check_ancestors(session, state)
    listed = touching(session, commits(session, Range([bad], [*state.good])), state.paths)
    kept = {*listed}
    choice = choose(listed, {sha: _nearest(session, sha, kept) for sha in listed}, state.skipped, bad)
    if not choice.commits:
        if choice.skipped:
            _stop_skipped(session, state, choice.skipped, None)
        if state.paths and bad not in state.good:
            raise GitStop("No testable commit found.\nMaybe you started with bad path arguments?", 4)
        session.say(f"{bad} was both {state.terms[1]} and {state.terms[0]}")
        raise GitStop("", 1)
    found = choice.commits[0]
    if found == bad:
        if choice.skipped:
            _stop_skipped(session, state, choice.skipped, bad)
        session.say(f"{bad} is the first {state.terms[0]} commit")
        session.words = ["--stat", "--summary", "--pretty=medium", bad]
        show(session)
        state.log(f"# first {state.terms[0]} commit: {state.named(bad)}")
        raise _Found
    left, steps = choice.total - choice.reaches - 1, steps_left(choice.total)
    session.say(
        f"Bisecting: {left} revision{'s' if left != 1 else ''} left to test after this "
        f"(roughly {steps} step{'s' if steps != 1 else ''})"
    )
    _test(session, state, found)


def _nearest(session: GitSession, sha: str, kept: set[str]) -> tuple[str, ...]:
    """Return the nearest ancestors that are in the list."""
    found: dict[str, None] = {}
    waiting, seen = [*session.repository.commit(sha).parents], {sha}
    while waiting:
        parent = waiting.pop(0)
        if parent in seen:
            continue
        seen.add(parent)
        if parent in kept:
            found[parent] = None
        else:
            waiting += session.repository.commit(parent).parents
    return tuple(found)


def _stop_skipped(session: GitSession, state: Bisection, skipped: Sequence[str], bad: str | None) -> None:
    session.say("There are only 'skip'ped commits left to test.")
    session.say(f"The first {state.terms[0]} commit could be any of:")
    for sha in [*skipped, *([bad] if bad else [])]:
        session.say(sha)
    session.say("We cannot bisect more!")
    state.log("# only skipped commits left to test")
    for sha in commits(session, Range([state.bad or ""], [*state.good])):
        state.log(f"# possible first {state.terms[0]} commit: {state.named(sha)}")
    raise _OnlySkipped


def _test(session: GitSession, state: Bisection, sha: str) -> None:
    """Check out a commit and name it."""
    try:
        go(session, sha, quiet=True)
    except GitStop as stop:
        raise GitStop(stop.text, 1) from None
    session.repository.put_text("BISECT_EXPECTED_REV", f"{sha}\n")
    session.say(state.named(sha))


def _check_ancestors(session: GitSession, state: Bisection) -> None:
    """Test merge bases first where a good commit is no ancestor of the bad one, as git does."""
    repository, bad = session.repository, state.bad or ""
    if repository.text("BISECT_ANCESTORS_OK") is not None:
        return
    before = reachable(repository, bad)
    if any(sha not in before for sha in state.good):
        bases = dict.fromkeys(base for sha in state.good for base in merge_bases(repository, bad, sha))
        for base in bases:
            if base == bad:
                _stop_at_base(state, bad)
            if base in state.good:
                continue
            if base in state.skipped:
                session.warn(
                    f"warning: the merge base between {bad} and [{' '.join(state.good)}] must be skipped.\n"
                    f"So we cannot be sure the first {state.terms[0]} commit is between {base} and {bad}.\n"
                    "We continue anyway."
                )
                continue
            session.say("Bisecting: a merge base must be tested")
            _test(session, state, base)
            raise _MergeBase
    repository.put_text("BISECT_ANCESTORS_OK", "")


def _stop_at_base(state: Bisection, bad: str) -> None:
    if not state.expects(bad):
        raise GitStop(_MISTAKEN.format(bad=state.terms[0], good=state.terms[1]), 1)
    fixed = f"between {bad} and [{' '.join(state.good)}]."
    if state.terms == ("bad", "good"):
        raise GitStop(f"The merge base {bad} is bad.\nThis means the bug has been fixed {fixed}", 3)
    raise GitStop(f"The merge base {bad} is new.\nThe property has changed {fixed}", 3)


# Running a script.


def _run(session: GitSession, state: Bisection, words: list[str]) -> None:
    if not state.begun or state.bad is None or not state.good:
        raise GitStop("", 1)
    if not words:
        raise GitStop("error: bisect run failed: no command provided.", 1)
    command = quoted_words(words)
    first = True
    while True:
        code = _tried(session, command)
        if first and code in (126, 127):
            _verify_good(session, state, command, code)
        first = False
        if code >= 128:
            raise GitStop(
                f"error: bisect run failed: exit code {code} from '{command}' is < 0 or >= 128", (256 - code) % 256
            )
        word = "skip" if code == 125 else state.terms[0] if code else state.terms[1]
        try:
            if word == "skip":
                _skip(session, state, [])
            else:
                _mark(session, state, word, [])
        except _Found:
            session.output.append("bisect found first bad commit")
            return
        except _OnlySkipped:
            session.warn("error: bisect run cannot continue any more")
            raise
        except _MergeBase:
            session.say("bisect run success")
            return
        except GitStop as stop:
            why = f"error: bisect run failed: 'git bisect {word}' exited with error code {-stop.code}"
            raise GitStop(f"{stop.text}\n{why}".lstrip("\n"), stop.code) from None


def _tried(session: GitSession, command: str) -> int:
    session.say(f"running {command}")
    done = session.call.run(command, directory=session.repository.path)
    session.output.append(done.stdout)
    session.errors.append(done.stderr)
    return done.exit_code


def _verify_good(session: GitSession, state: Bisection, command: str, code: int) -> None:
    """Raise GitStop where a command that cannot be run fails for a good commit in the same way."""
    here = session.head or ""
    good = next(iter(state.good))
    go(session, good, quiet=True)
    session.say(state.named(good))
    again = _tried(session, command)
    go(session, here, quiet=True)
    session.say(state.named(here))
    if again == code:
        raise GitStop(f"error: bogus exit code {code} for {state.terms[1]} revision", 1)
