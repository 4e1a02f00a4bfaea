"""What a bash leaves in a container when its client has ended: `docker exec` passes no signal on, so it is ended from inside.

A second bash, started by the same command, ends it. It does nothing where it is not in the same process namespace.
"""

import asyncio
import contextlib
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Mapping, Sequence
from pathlib import Path

PLACE = "printf '%s %s\\n' $$ \"$(readlink /proc/$$/ns/pid)\""
"""A command line that tells which process a bash is, and in which namespace."""
_PATIENCE = 10.0
_LOOKS = 50
# Fields of /proc/PID/stat behind the name: 4 is the session, 5 the number of the terminal.
_END = """\
[ "$(readlink /proc/$$/ns/pid)" = '{namespace}' ] || exit 0
for again in 1 2 3; do
    for path in /proc/[0-9]*/stat; do
        {{ read -r line < "$path"; }} 2>/dev/null || continue
        set -- ${{line##*) }}
        if [ "$4" = {session} ]; then kill -9 "${{line%% *}}"; fi
    done
done 2>/dev/null
exit 0
"""


async def end_session(
    place: str, command: Sequence[str], *, environment: Mapping[str, str], directory: Path | None
) -> None:
    """End all processes of the session that a bash led which told its `PLACE`, unless it was one of this machine's own."""
    process, _, namespace = place.strip().partition(" ")
    if not process.isdigit() or not namespace or namespace == _own_namespace():
        return
    script = _END.format(namespace=namespace, session=process).encode()
    with contextlib.suppress(OSError, TimeoutError):
        ending = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL, env=environment, cwd=directory, start_new_session=True
        )
        try:
            await asyncio.wait_for(ending.communicate(script), _PATIENCE)
        finally:
            if ending.returncode is None:
                ending.kill()


def terminal_ending(columns: int) -> str:
    """Return a command line that ends all that runs at the terminal of this width, and then its own bash.

    It looks for a while: a client on a busy machine takes its time to pass a size on.
    """
    find = f'[ "$(stty size < "$t" 2>/dev/null | cut -d" " -f2)" = {columns} ]'
    scan = 'for p in /proc/[0-9]*/stat; do { read -r l < "$p"; } 2>/dev/null || continue; set -- ${l##*) }; '
    note = 'if [ "$5" = $((34816 + ${t##*/})) ]; then k="$k ${l%% *}" s=$4; fi; done; kill -9 $k'
    # All at once: when its leader has ended, no process of a session has a terminal. Those begun meanwhile are of the session.
    rest = 'if [ "$4" = "$s" ]; then kill -9 "${l%% *}"; fi; done'
    look = f"for t in /dev/pts/[0-9]*; do if {find}; then {scan}{note}; {scan}{rest}; break 2; fi; done"
    return f"n={_LOOKS}; while [ $n -gt 0 ]; do {look}; n=$((n - 1)); sleep .2; done; kill -9 $$\n"


def _own_namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""
