"""rev-parse, cat-file, ls-files and other commands close to git's storage."""

import re
from collections.abc import Mapping
from posixpath import normpath

from simtrain.worlds.handlers.git.branches import shortened
from simtrain.worlds.handlers.git.history import reachable
from simtrain.worlds.handlers.git.objects import FOLDER, NOTHING, TreeEntry, blob_id
from simtrain.worlds.handlers.git.paths import Ignored, quoted
from simtrain.worlds.handlers.git.repository import HEADS, TAGS
from simtrain.worlds.handlers.git.revisions import full_name
from simtrain.worlds.handlers.git.states import worktree_entries
from simtrain.worlds.machine.git.session import GitSession, GitStop, matching
from simtrain.worlds.machine.git.walking import Range, commits, merge_bases

_PLACES = {
    "--show-toplevel", "--git-dir", "--is-inside-work-tree", "--show-prefix", "--absolute-git-dir", "--is-bare-repository",
    "--show-cdup", "--git-common-dir", "--is-inside-git-dir",
}  # fmt: skip


def rev_parse(session: GitSession) -> None:
    """Print what revisions, and questions about the repository, lead to."""
    short = abbreviated = verify = quiet = False
    for word in session.words:
        if word.startswith("--short"):
            short = True
        elif word.startswith("--abbrev-ref"):
            abbreviated = True
        elif word in ("--verify", "-q", "--quiet"):
            verify, quiet = verify or word == "--verify", quiet or word != "--verify"
        elif word in _PLACES:
            repository = session.repository
            bare = repository.folder == repository.path
            depth = session.prefix.count("/")
            session.say({
                "--show-toplevel": repository.path, "--git-dir": repository.folder if session.prefix else ".git",
                "--git-common-dir": repository.folder if session.prefix else ".git", "--is-inside-git-dir": "false",
                "--is-inside-work-tree": "false" if bare else "true", "--show-prefix": session.prefix,
                "--absolute-git-dir": repository.folder, "--is-bare-repository": "true" if bare else "false",
                "--show-cdup": "../" * depth,
            }[word])  # fmt: skip
        elif word in ("--all", "--branches", "--tags"):
            prefix = {"--all": "refs/", "--branches": HEADS, "--tags": TAGS}[word]
            session.output += [
                f"{session.repository.ref(ref)}\n" for ref in session.repository.refs() if ref.startswith(prefix)
            ]
        elif word.startswith("-") and word != "-":
            session.say(word)
        elif abbreviated:
            _say_short_ref(session, word)
        else:
            _say_id(session, word, short=short, verify=verify, quiet=quiet)


def _say_short_ref(session: GitSession, word: str) -> None:
    repository = session.repository
    if word in ("HEAD", "@"):
        session.say(session.branch or "HEAD")
        return
    if word.endswith(("@{u}", "@{upstream}")):
        name = word.partition("@")[0]
        upstream = repository.upstream(HEADS + name if name else repository.head)
        if upstream is None:
            raise GitStop(f"fatal: no upstream configured for branch '{name or session.branch}'")
        session.say(shortened(upstream))
        return
    ref = full_name(repository, word)
    session.object(word)
    session.say(shortened(ref) if ref else "")


def _say_id(session: GitSession, word: str, *, short: bool, verify: bool, quiet: bool) -> None:
    repository = session.repository
    if ".." in word:
        asked = Range()
        if asked.take(session, word):
            session.output += [f"{sha}\n" for sha in asked.wanted] + [f"^{sha}\n" for sha in asked.unwanted]
            return
    ref = full_name(repository, word)
    found = session.maybe(word)
    if found is None:
        if quiet:
            raise GitStop("", 1)
        if verify:
            raise GitStop("fatal: Needed a single revision")
        session.say(word)
        session.object(word)
        return
    # A tag stands for itself here, not for its commit.
    sha = repository.ref(ref) if ref and not set("^~:{") & set(word) else found.sha
    session.say(repository.abbreviated(sha or found.sha) if short else sha or found.sha)


def rev_list(session: GitSession) -> None:
    """List commits by their ids."""
    asked, count, most, behind = Range(), False, None, list[str]()
    for place, word in enumerate(session.words):
        if word == "--":
            behind = session.words[place + 1 :]
            break
        if word == "--count":
            count = True
        elif word in ("--all", "--branches", "--tags"):
            asked.take_refs(session, word)
        elif re.fullmatch(r"-n?\d+|--max-count=\d+", word):
            most = int(re.sub(r"\D", "", word))
        elif word.startswith("-"):
            continue
        elif not asked.take(session, word):
            session.object(word)
    if not asked.wanted:
        raise GitStop("usage: git rev-list [<options>] <commit>... [--] [<path>...]", 129)
    found = commits(session, asked)
    if behind:
        from simtrain.worlds.machine.git.walking import touching

        found = touching(session, found, session.paths(behind))
    if "--no-merges" in session.words:
        found = [sha for sha in found if len(session.repository.commit(sha).parents) < 2]
    found = found[:most] if most is not None else found
    if count and "--left-right" in session.words and asked.sides is not None:
        right = sum(sha in reachable(session.repository, asked.sides[1]) for sha in found)
        session.say(f"{len(found) - right}\t{right}")
        return
    if "--reverse" in session.words:
        found.reverse()
    session.output += [f"{len(found)}\n"] if count else [f"{sha}\n" for sha in found]


def cat_file(session: GitSession) -> None:
    """Show an object: its type (-t), size (-s), content (-p), or whether it is there (-e)."""
    if session.words[:1] in (["--batch"], ["--batch-check"]) and len(session.words) == 1:
        _say_batch(session, contents=session.words == ["--batch"])
        return
    if len(session.words) != 2:
        raise GitStop("usage: git cat-file <type> <object>", 129)
    flag, name = session.words
    repository = session.repository
    ref = full_name(repository, name)
    found = session.maybe(name)
    if found is None:
        raise GitStop(f"fatal: Not a valid object name {name}")
    sha = (repository.ref(ref) if ref and not set("^~:") & set(name) else None) or found.sha
    kind = repository.kind(sha) or "blob"
    if flag == "-t":
        session.say(kind)
    elif flag == "-s":
        session.say(str(len(repository.content(sha))))
    elif flag == "-p" and kind == "tree":
        _say_tree(session, repository.tree(sha))
    elif flag != "-e":
        session.output.append(repository.content(sha).decode("utf-8", "surrogateescape"))


def _say_batch(session: GitSession, *, contents: bool) -> None:
    """Tell of each object that standard input names what it is, and with `contents` also what it holds."""
    repository = session.repository
    for name in (session.call.stdin or "").splitlines():
        ref, found = full_name(repository, name), session.maybe(name)
        sha = (repository.ref(ref) if ref else None) or (found.sha if found else None)
        if sha is None:
            session.say(f"{name} missing")
            continue
        content = repository.content(sha)
        session.say(f"{sha} {repository.kind(sha)} {len(content)}")
        if contents:
            session.say(content.decode("utf-8", "surrogateescape"))


def _say_tree(
    session: GitSession,
    entries: Mapping[str, TreeEntry],
    prefix: str = "",
    *,
    names_only: bool = False,
    sizes: bool = False,
) -> None:
    for name, entry in entries.items():
        kind = "tree" if entry.mode == FOLDER else "commit" if entry.mode == "160000" else "blob"
        shown = quoted(prefix + name)
        size = f" {str(len(session.repository.blob(entry.sha))) if kind == 'blob' else '-':>7}" if sizes else ""
        session.say(shown if names_only else f"{entry.mode.rjust(6, '0')} {kind} {entry.sha}{size}\t{shown}")


def ls_tree(session: GitSession) -> None:
    """List a tree of a commit."""
    flags = {word for word in session.words if word.startswith("-")}
    names = [word for word in session.words if not word.startswith("-")]
    if not names:
        raise GitStop("usage: git ls-tree [<options>] <tree-ish> [<path>...]", 129)
    repository = session.repository
    found = session.maybe(names[0])
    if found is None:
        raise GitStop(f"fatal: Not a valid object name {names[0]}")
    tree = repository.commit(found.sha).tree if found.kind == "commit" else found.sha
    only, long = bool(flags & {"--name-only", "--name-status"}), bool(flags & {"-l", "--long"})
    if "-r" in flags:
        files = repository.files(tree)
        _say_tree(
            session,
            {path: files[path] for path in matching(list(files), session.paths(names[1:]))},
            names_only=only,
            sizes=long,
        )
        return
    if len(names) == 1:
        _say_tree(session, repository.tree(tree), names_only=only, sizes=long)
        return
    for name in names[1:]:
        inner = session.maybe(f"{names[0]}:{name.rstrip('/')}")
        if inner is None:
            continue
        if name.endswith("/") and inner.kind == "tree":
            _say_tree(session, repository.tree(inner.sha), name, names_only=only, sizes=long)
        else:
            above = session.maybe(f"{names[0]}:{name.rstrip('/').rpartition('/')[0]}")
            last = name.rstrip("/").rpartition("/")[2]
            if above is not None:
                _say_tree(session, {name.rstrip("/"): repository.tree(above.sha)[last]}, names_only=only, sizes=long)


def ls_files(session: GitSession) -> None:
    """List files of the index, or (-o) those that are in none."""
    flags = {word for word in session.words if word.startswith("-")}
    names = [word for word in session.words if not word.startswith("-")]
    repository = session.repository
    index, tree = repository.index(), repository.worktree()
    specs = session.paths(names) if names else [session.prefix.rstrip("/")] if session.prefix else []
    found: list[str] = []
    if flags & {"-o", "--others"}:
        ignored = Ignored(tree)
        hides = bool(flags & {"--exclude-standard"})
        found += [path for path in tree if path not in index and not (hides and ignored.cause(path))]
    elif flags & {"-m", "--modified"}:
        now = worktree_entries(repository)
        found += [path for path, entry in index.items() if now.get(path) != entry]
    elif flags & {"-d", "--deleted"}:
        found += [path for path in index if path not in tree]
    elif flags & {"-u", "--unmerged"} or flags & {"-s", "--stage"}:
        chosen = set(matching([path for path, _ in repository.stages()], specs))
        for (path, stage), entry in sorted(repository.stages().items()):
            if path in chosen and (stage or not flags & {"-u", "--unmerged"}):
                session.say(f"{entry.mode} {entry.sha} {stage}\t{quoted(session.relative(path))}")
        return
    else:
        found += [path for path, _ in sorted(repository.stages())]
    chosen = matching(found, specs)
    if "--error-unmatch" in flags and names and not chosen:
        raise GitStop(
            f"error: pathspec '{names[0]}' did not match any file(s) known to git\nDid you forget to 'git add'?", 1
        )
    end = "\0" if "-z" in flags else "\n"
    session.output += [f"{quoted(session.relative(path)) if end != chr(0) else path}{end}" for path in chosen]


def merge_base(session: GitSession) -> None:
    """Print the best common ancestor of two commits."""
    flags = {word for word in session.words if word.startswith("-")}
    names = [word for word in session.words if not word.startswith("-")]
    if len(names) < 2:
        raise GitStop("usage: git merge-base [-a | --all] <commit> <commit>...", 129)
    for name in names:
        if session.maybe(name) is None:
            raise GitStop(f"fatal: Not a valid object name {name}")
    one, other = session.commit_id(names[0]), session.commit_id(names[1])
    found = merge_bases(session.repository, one, other)
    if "--is-ancestor" in flags:
        session.code = 0 if found == [one] else 1
        return
    if not found:
        raise GitStop("", 1)
    session.output += [f"{sha}\n" for sha in (found if flags & {"-a", "--all"} else found[:1])]


def show_ref(session: GitSession) -> None:
    """List refs with what they point at."""
    flags = set(session.words)
    kinds = [prefix for flag, prefix in (("--heads", HEADS), ("--tags", TAGS)) if flag in flags]
    names = [word for word in session.words if not word.startswith("-")]
    found = False
    for ref in session.repository.refs():
        fits = not names or any(ref == name or ref.endswith(f"/{name}") for name in names)
        if fits and (not kinds or ref.startswith(tuple(kinds))):
            found = True
            if "-q" not in flags:
                only = bool(flags & {"-s", "--hash"})
                session.say(f"{session.repository.ref(ref)}{'' if only else f' {ref}'}")
    session.code = 0 if found else 1


def symbolic_ref(session: GitSession) -> None:
    """Print or set the branch that HEAD stands for."""
    names = [word for word in session.words if not word.startswith("-")]
    if len(names) > 1:
        session.repository.set_head(names[1])
        return
    head = session.repository.head
    if not head.startswith("refs/"):
        raise GitStop(f"fatal: ref {names[0] if names else 'HEAD'} is not a symbolic ref")
    session.say(shortened(head) if "--short" in session.words else head)


def hash_object(session: GitSession) -> None:
    """Print the id that a file's content has as an object, and with -w store it."""
    names = [word for word in session.words if not word.startswith("-")]
    contents = [session.call.files.read(normpath(f"{session.directory}/{name}")) for name in names]
    if "--stdin" in session.words:
        contents.insert(0, (session.call.stdin or "").encode("utf-8", "surrogateescape"))
    for content in contents:
        session.say(session.repository.keep_blob(content) if "-w" in session.words else blob_id(content))


def check_ignore(session: GitSession) -> None:
    """Print those of some paths that .gitignore excludes."""
    names = [word for word in session.words if not word.startswith("-")]
    ignored = Ignored(session.repository.worktree())
    found = [name for name, path in zip(names, session.paths(names), strict=True) if ignored.cause(path)]
    session.output += [] if "-q" in session.words else [f"{name}\n" for name in found]
    session.code = 0 if found else 1


def worktree(session: GitSession) -> None:
    """List the working tree of the repository; there is only one."""
    if session.words[:1] != ["list"]:
        raise GitStop("usage: git worktree list [-v | --porcelain [-z]]", 129)
    sha = session.head or NOTHING
    session.say(
        f"{session.repository.path}  {sha[:7]} {f'[{session.branch}]' if session.branch else '(detached HEAD)'}"
    )
