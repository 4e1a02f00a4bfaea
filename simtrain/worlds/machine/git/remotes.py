"""clone, fetch, pull and remote: repositories elsewhere on the machine, or on another machine of the world."""

from posixpath import basename, normpath

from simtrain.worlds.handlers.git.history import reachable
from simtrain.worlds.handlers.git.objects import NOTHING
from simtrain.worlds.handlers.git.repository import HEADS, REMOTES, SYMBOLIC, TAGS
from simtrain.worlds.machine.git.config import parsed_config, without_section
from simtrain.worlds.machine.git.folder import FolderRepository
from simtrain.worlds.machine.git.merging import merge_commit
from simtrain.worlds.machine.git.rebasing import rebase
from simtrain.worlds.machine.git.session import GitSession, GitStop

_UNREACHABLE = (
    "fatal: Could not read from remote repository.\n\n"
    "Please make sure you have the correct access rights\nand the repository exists."
)


def opened(session: GitSession, url: str, *, base: str | None = None) -> FolderRepository:
    """Return the repository at a path, `file://` address, or `user@machine:path`. Raises GitStop where there is none.

    A path begins at `base`, or else at the root of the repository that the call works on, wherever within it that is.
    """
    call = session.call
    files = call.files
    path = url.removeprefix("file://")
    if "://" in path:
        host = path.partition("://")[2].partition("/")[0].rpartition("@")[2].partition(":")[0]
        raise GitStop(f"fatal: unable to access '{url}': Could not resolve host: {host}")
    if ":" in path and "/" not in path.partition(":")[0]:
        where, _, path = path.partition(":")
        user_name, at, host = where.rpartition("@")
        machine = call.machine.peers.get(host)
        if machine is None:
            raise GitStop(f"ssh: Could not resolve hostname {host}: Name or service not known\n{_UNREACHABLE}")
        user = machine.users.get(user_name if at else call.user.name)
        if user is None:
            raise GitStop(f"{user_name}@{host}: Permission denied (publickey).\n{_UNREACHABLE}")
        files = machine.files(user)
        path = path if path.startswith("/") else f"{user.home}/{path}"
    full = normpath(f"{base or _base(session)}/{path}" if not path.startswith("/") else path)
    for place in (full, f"{full}.git"):
        if files.exists(f"{place}/.git/HEAD"):
            return FolderRepository(files, place)
        if files.exists(f"{place}/HEAD") and files.exists(f"{place}/objects"):
            return FolderRepository(files, place, folder=place)
    raise GitStop(f"fatal: '{url}' does not appear to be a git repository\n{_UNREACHABLE}")


def _base(session: GitSession) -> str:
    try:
        return session.repository.path
    except GitStop:
        return session.directory


def copy_objects(source: FolderRepository, target: FolderRepository) -> None:
    """Copy the objects that a repository lacks from another one."""
    top = f"{source.folder}/objects"
    for path in source.disk.walk(top):
        if source.disk.is_directory(path) or "/pack/" in path or "/info/" in path:
            continue
        place = target.folder + path[len(source.folder) :]
        if not target.disk.exists(place):
            target.disk.make_directory(place.rpartition("/")[0], parents=True)
            target.disk.write(place, source.disk.read(path), mode=0o444)


def clone(session: GitSession) -> None:
    """Copy a repository."""
    words, names, branch = list(session.words), list[str](), None
    flags: set[str] = set()
    origin = "origin"
    while words:
        word = words.pop(0)
        if word in ("-b", "--branch", "--depth", "-o", "--origin", "-c", "--config") and words:
            value = words.pop(0)
            branch = value if word in ("-b", "--branch") else branch
            origin = value if word in ("-o", "--origin") else origin
        elif word.startswith("--branch="):
            branch = word.partition("=")[2]
        elif word.startswith("-"):
            flags.add(word)
        else:
            names.append(word)
    if not names:
        raise GitStop("fatal: You must specify a repository to clone.", 129)
    url = names[0]
    bare = bool(flags & {"--bare", "--mirror"})
    plain = basename(url.rstrip("/").removesuffix("/.git")).rpartition(":")[2].removesuffix(".git")
    name = names[1] if len(names) > 1 else plain + (".git" if bare else "")
    path = normpath(f"{session.directory}/{name}") if not name.startswith("/") else name
    files = session.call.files
    if files.exists(path) and (not files.is_directory(path) or files.names(path)):
        raise GitStop(f"fatal: destination path '{name}' already exists and is not an empty directory.")
    try:
        source = opened(session, url, base=session.directory)
    except GitStop as stop:
        missing = "does not appear" in stop.text and ":" not in url
        raise GitStop(f"fatal: repository '{url}' does not exist" if missing else stop.text) from None
    if not flags & {"-q", "--quiet"}:
        session.warn(f"Cloning into {'bare repository ' if bare else ''}'{name}'...")
    target = FolderRepository(files, path, folder=path if bare else None)
    target.begin(head=source.head if source.head.startswith("refs/") else f"{HEADS}main", name="", mail="")
    copy_objects(source, target)
    if bare:
        target.configure("core.bare", "true")
        for ref, sha in source.refs().items():
            if ref.startswith((HEADS, TAGS)):
                target.set_ref(ref, sha)
        return
    shown = source.path if not ("@" in url or url.startswith("file://")) else url
    target.configure(f"remote.{origin}.url", shown)
    target.configure(f"remote.{origin}.fetch", f"+refs/heads/*:refs/remotes/{origin}/*")
    for ref, sha in source.refs().items():
        if ref.startswith(HEADS):
            target.set_ref(f"{REMOTES}{origin}/{ref.removeprefix(HEADS)}", sha)
        elif ref.startswith(TAGS):
            target.set_ref(ref, sha)
    chosen = branch or (source.head.removeprefix(HEADS) if source.head.startswith("refs/") else None)
    if source.head.startswith("refs/") and source.ref("HEAD"):
        target.put_text(f"{REMOTES}{origin}/HEAD", f"{SYMBOLIC}{REMOTES}{origin}/{source.head.removeprefix(HEADS)}\n")
    sha = source.ref(HEADS + chosen) if chosen else source.ref("HEAD")
    if branch and sha is None:
        raise GitStop(
            f"warning: Could not find remote branch {branch} to clone.\nfatal: Remote branch {branch} not found in upstream {origin}"
        )
    if sha is None:
        session.warn("warning: You appear to have cloned an empty repository.")
        return
    session.open(target)
    target.set_head(HEADS + chosen if chosen else sha)
    if chosen:
        target.set_ref(HEADS + chosen, sha)
        target.set_upstream(HEADS + chosen, f"{REMOTES}{origin}/{chosen}")
        target.note(HEADS + chosen, old=NOTHING, new=sha, message=f"clone: from {shown}", at=session.reflog_time)
    target.note("HEAD", old=NOTHING, new=sha, message=f"clone: from {shown}", at=session.reflog_time)
    entries = target.files(target.commit(sha).tree)
    target.stage(dict(entries))
    target.put_files(dict(entries))
    if not flags & {"-q", "--quiet"}:
        session.warn("done.")


def remotes(repository: FolderRepository) -> dict[str, str]:
    """Return the remotes of a repository with their addresses."""
    found: dict[str, str] = {}
    for key, value in parsed_config(repository.text("config") or ""):
        if key.startswith("remote.") and key.endswith(".url"):
            found[key[len("remote.") : -len(".url")]] = value
    return found


def remote(session: GitSession) -> None:
    """List, add, rename and remove remotes."""
    repository = session.repository
    known = remotes(repository)
    verbose = bool({"-v", "--verbose"} & set(session.words))
    words = [word for word in session.words if not word.startswith("-")]
    if not words or words == ["show"]:
        for name in sorted(known):
            session.output += (
                [f"{name}\t{known[name]} (fetch)\n", f"{name}\t{known[name]} (push)\n"] if verbose else [f"{name}\n"]
            )
        return
    action, *rest = words
    if action == "add" and len(rest) == 2:
        if rest[0] in known:
            raise GitStop(f"error: remote {rest[0]} already exists.", 3)
        repository.configure(f"remote.{rest[0]}.url", rest[1])
        repository.configure(f"remote.{rest[0]}.fetch", f"+refs/heads/*:refs/remotes/{rest[0]}/*")
        return
    if action not in ("remove", "rm", "rename", "get-url", "set-url", "prune", "update", "show") or not rest:
        raise GitStop(f"error: Unknown subcommand: {action}\nusage: git remote [-v | --verbose]", 129)
    if rest[0] not in known:
        raise GitStop(f"error: No such remote{': ' if action in ('remove', 'rm', 'rename') else ' '}'{rest[0]}'", 2)
    if action == "get-url":
        session.say(known[rest[0]])
    elif action == "set-url" and len(rest) > 1:
        repository.configure(f"remote.{rest[0]}.url", rest[1])
    elif action in ("remove", "rm", "rename"):
        for ref, sha in repository.refs().items():
            if ref.startswith(f"{REMOTES}{rest[0]}/"):
                repository.remove_ref(ref)
                if action == "rename":
                    old, new = f"{REMOTES}{rest[0]}/", f"{REMOTES}{rest[1]}/"
                    repository.set_ref(new + ref.removeprefix(old), sha.replace(f"{SYMBOLIC}{old}", f"{SYMBOLIC}{new}"))
        text = without_section(repository.text("config") or "", f"remote.{rest[0]}")
        repository.put_text("config", text)
        if action == "rename":
            repository.configure(f"remote.{rest[1]}.url", known[rest[0]])
            repository.configure(f"remote.{rest[1]}.fetch", f"+refs/heads/*:refs/remotes/{rest[1]}/*")


def address_of(session: GitSession, name: str) -> str:
    """Return the address of a remote; a name that is no remote is an address itself."""
    known = remotes(session.repository)
    return known.get(name, name)


def fetch(session: GitSession) -> None:
    """Bring the branches of a remote."""
    names = [word for word in session.words if not word.startswith("-")]
    own = session.repository.setting(f"branch.{session.branch}.remote")
    name = names[0] if names else own or "origin"
    if name not in remotes(session.repository) and not names:
        if not remotes(session.repository):
            return
        raise GitStop(f"fatal: '{name}' does not appear to be a git repository\n{_UNREACHABLE}")
    _fetch(session, name, prune=bool({"-p", "--prune"} & set(session.words)))


def _fetch(session: GitSession, name: str, *, prune: bool = False) -> None:
    repository = session.repository
    url = address_of(session, name)
    source = opened(session, url)
    copy_objects(source, repository)
    lines: list[str] = []
    changed: list[tuple[str, str, str]] = []
    wide = max([10, *(len(ref.removeprefix(HEADS)) for ref in source.refs() if ref.startswith(HEADS))])
    for ref, sha in source.refs().items():
        if ref.startswith(HEADS):
            short = ref.removeprefix(HEADS)
            tracking = f"{REMOTES}{name}/{short}"
            old = repository.ref(tracking)
            if old == sha:
                continue
            repository.set_ref(tracking, sha)
            if old is None:
                lines.append(f" * [new branch]      {short.ljust(wide)} -> {name}/{short}")
            else:
                forced = old not in reachable(repository, sha)
                span = f"{repository.abbreviated(old)}{'...' if forced else '..'}{repository.abbreviated(sha)}"
                lines.append(
                    f" {'+' if forced else ' '} {span.ljust(17)} {short.ljust(wide)} -> "
                    f"{name}/{short}{'  (forced update)' if forced else ''}"
                )
            changed.append((short, old or NOTHING, sha))
        elif ref.startswith(TAGS) and repository.ref(ref) is None:
            repository.set_ref(ref, sha)
            lines.append(f" * [new tag]         {ref.removeprefix(TAGS).ljust(wide)} -> {ref.removeprefix(TAGS)}")
    if prune:
        theirs = {ref.removeprefix(HEADS) for ref in source.refs() if ref.startswith(HEADS)}
        for ref in list(repository.refs()):
            short = ref.removeprefix(f"{REMOTES}{name}/")
            if ref.startswith(f"{REMOTES}{name}/") and short not in theirs and short != "HEAD":
                repository.remove_ref(ref)
                lines.append(f" - [deleted]         (none)     -> {name}/{short}")
    branch = session.branch
    if branch and source.ref(HEADS + branch):
        repository.put_text("FETCH_HEAD", f"{source.ref(HEADS + branch)}\t\tbranch '{branch}' of {url}\n")
    if lines and not {"-q", "--quiet"} & set(session.words):
        session.warn(f"From {url.removesuffix('/.git')}")
        for line in lines:
            session.warn(line)


def pull(session: GitSession) -> None:
    """Fetch, and join what came into the branch."""
    repository = session.repository
    flags = {word for word in session.words if word.startswith("-")}
    names = [word for word in session.words if not word.startswith("-")]
    upstream = repository.upstream(repository.head)
    if not names and upstream is None:
        if not remotes(repository):
            raise GitStop(
                "fatal: No remote repository specified.  Please, specify either a URL or a\n"
                "remote name from which new revisions should be fetched.",
                1,
            )
        remote_name = next(iter(remotes(repository)))
        raise GitStop(
            "There is no tracking information for the current branch.\n"
            "Please specify which branch you want to merge with.\nSee git-pull(1) for details.\n\n"
            "    git pull <remote> <branch>\n\n"
            "If you wish to set tracking information for this branch you can do so with:\n\n"
            f"    git branch --set-upstream-to={remote_name}/<branch> {session.branch}\n",
            1,
        )
    name = names[0] if names else (upstream or "").removeprefix(REMOTES).partition("/")[0]
    branch = names[1] if len(names) > 1 else (upstream or "").removeprefix(f"{REMOTES}{name}/") or session.branch or ""
    url = address_of(session, name)
    _fetch(session, name)
    ref = f"{REMOTES}{name}/{branch}"
    theirs = repository.ref(ref)
    if theirs is None:
        raise GitStop(f"fatal: couldn't find remote ref {branch}", 1)
    head = session.head
    if head and theirs not in reachable(repository, head) and head not in reachable(repository, theirs):
        chosen = (
            flags & {"--rebase", "--no-rebase", "--ff-only", "-r", "--no-ff"}
            or session.setting("pull.rebase")
            or session.setting("pull.ff")
        )
        if not chosen:
            raise GitStop(
                "hint: You have divergent branches and need to specify how to reconcile them.\n"
                "hint: You can do so by running one of the following commands sometime before\n"
                "hint: your next pull:\nhint:\nhint:   git config pull.rebase false  # merge\n"
                "hint:   git config pull.rebase true   # rebase\n"
                "hint:   git config pull.ff only       # fast-forward only\nhint:\n"
                'hint: You can replace "git config" with "git config --global" to set a default\n'
                "hint: preference for all repositories. You can also pass --rebase, --no-rebase,\n"
                "hint: or --ff-only on the command line to override the configured default per\nhint: invocation.\n"
                "fatal: Need to specify how to reconcile divergent branches."
            )
        if flags & {"--rebase", "-r"} or session.setting("pull.rebase") == "true":
            session.words = [ref]
            rebase(session)
            return
        if "--ff-only" in flags or session.setting("pull.ff") == "only":
            raise GitStop("fatal: Not possible to fast-forward, aborting.")
    merge_commit(session, f"{name}/{branch}", theirs, None, flags, what=f"branch '{branch}' of {url}")
