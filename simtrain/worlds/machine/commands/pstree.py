"""pstree: the processes as a tree, with the characters and the grouping of psmisc 23.6."""

from simtrain.worlds.machine.commands.options import parsed
from simtrain.worlds.machine.commands.process_table import Process, with_own
from simtrain.worlds.machine.invocation import Invocation, Result

_LONG = {
    "arguments": "a",
    "show-pids": "p",
    "compact-not": "c",
    "uid-changes": "u",
    "long": "l",
    "ascii": "A",
    "unicode": "U",
}


def pstree(call: Invocation) -> Result:
    """Print the tree below the first process, or below a number or the processes of a user."""
    options = parsed(call, "acAUGhlnpsTtuZ", _LONG, hint="")
    if isinstance(options, Result):
        return options
    found = with_own(call)
    below: dict[int, list[Process]] = {}
    for one in found:
        below.setdefault(one.parent, []).append(one)
    known = {one.pid for one in found}
    asked = options.operands[0] if options.operands else "1"
    if asked.isdigit():
        tops = [one for one in found if one.pid == int(asked)]
    else:
        tops = [
            one
            for one in found
            if one.user == asked and not any(other.pid == one.parent and other.user == asked for other in found)
        ]
        if not tops and asked not in call.machine.users:
            return Result(stderr=f"No such user name: {asked}\n", exit_code=1)
    if asked == "1":
        # What has lost its parent hangs at the first process.
        below.setdefault(1, []).extend(one for one in found if one.parent not in known and one.pid != 1)
    bars = ("─", "─┬─", " ├─", " └─", " │ ") if not options.has("A") else ("-", "-+-", " |-", " `-", " | ")
    detailed = options.has("a", "p", "c")

    def named(one: Process) -> str:
        name = one.command if options.has("a") else "systemd" if one.pid == 1 else one.name
        return (
            f"{name},{one.pid}"
            if options.has("p") and options.has("a")
            else f"{name}({one.pid})"
            if options.has("p")
            else name
        )

    def drawn(one: Process) -> list[str]:
        name = named(one)
        children = [drawn(child) for child in sorted(below.get(one.pid, []), key=lambda child: (child.name, child.pid))]
        if not detailed:
            children = _grouped(children)
        if not children:
            return [name]
        if options.has("a"):
            lines = [name]
            for place, child in enumerate(children):
                last = place == len(children) - 1
                lines += [
                    ("  └─" if last else "  ├─") + child[0],
                    *(("    " if last else "  │ ") + line for line in child[1:]),
                ]
            return lines
        pad = " " * len(name)
        only, first, middle, end, through = bars
        lines = list[str]()
        for place, child in enumerate(children):
            last = place == len(children) - 1
            lead = only * 3 if len(children) == 1 else first if place == 0 else end if last else middle
            rest = "   " if last else through
            lines += [(name if place == 0 else pad) + lead + child[0], *(pad + rest + line for line in child[1:])]
        return lines

    return Result("".join(f"{line}\n" for top in tops for line in drawn(top)))


def _grouped(trees: list[list[str]]) -> list[list[str]]:
    """Return trees with those that look alike as one, such as `4*[nginx]`."""
    kept: list[tuple[list[str], int]] = []
    for tree in trees:
        if kept and kept[-1][0] == tree:
            kept[-1] = (tree, kept[-1][1] + 1)
        else:
            kept.append((tree, 1))
    return [
        tree if count == 1 else [f"{count}*[{tree[0]}]" if len(tree) == 1 else f"{count}*[{tree[0]}", *tree[1:]]
        for tree, count in kept
    ]
