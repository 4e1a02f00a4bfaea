"""Scripts that are called by their path, and functions that are exported: as in the real bash, to the letter of the errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.machines import bash, state_of
from tests.worlds.machine.differential import our_bash, real_bash
from tests.worlds.machine.differential.entries import Entry, tree

FILES = tree()

CALLED = {
    "lines of errors": r"""printf '#!/bin/bash\na=1\n\nnosuch\ncd /nope\nif true; then\n  nosuch2\nfi\ncat < /nope\n' > s
chmod +x s; ./s""",
    "LINENO": r"""printf '#!/bin/bash\necho $LINENO\nf() {\n  echo $LINENO\n}\n\nf\n' > s.sh; chmod +x s.sh; ./s.sh; ~/s.sh""",
    "an unset variable": r"""printf '#!/bin/bash\nset -u\n\necho $zzz\n' > s.sh; chmod +x s.sh; ./s.sh; echo $?""",
    "no argument": r"""printf '#!/bin/bash\n\nb=${2:?need}\n' > s.sh; chmod +x s.sh; ./s.sh x; echo $?""",
    "options": r"""printf '#!/bin/bash -e\nfalse\necho no\n' > e; printf '#!/bin/bash -x\necho yes\n' > x
chmod +x e x; ./e; echo $?; ./x""",
    "env and options": r"""printf '#!/usr/bin/env -S bash -e\nfalse\necho no\n' > e; chmod +x e; ./e; echo $?""",
    "other programs": r"""printf '#!/bin/cat\nhello\n' > c; printf '#!/usr/bin/awk -f\nBEGIN{print 1+1}\n' > w; chmod +x c w; ./c; ./w""",
    "no such program": r"""printf '#!/nope/x\n' > m; chmod +x m; ./m; echo $?""",
    "ends of lines of DOS": r"""printf '#!/bin/bash\r\necho hi\r\n' > w; chmod +x w; ./w; echo $?; sed -i 's/\r$//' w; ./w""",
    "what may not be called": r"""printf '#!/bin/bash\necho a\n' > n; ./n; echo $?; chmod +x n; ./n; chmod 644 n; ./n; ./docs; ./nope""",
    "input and output": r"""printf '#!/bin/sh\necho "$0 $# $*"; read x; echo "got $x"; echo err >&2; exit 3\n' > s; chmod +x s
echo hi | ./s a "b c"; ./s < notes.txt 2> /dev/null; ls s | xargs ./s; ./s 2>&1 > /dev/null <<< in
x=$(./s < notes.txt); echo "$x"; (./s < /dev/null)""",
    "variables": r"""printf '#!/bin/bash\necho "$x $y"\nx=9\n' > s
chmod +x s; x=1; export y=2; ./s; echo $x; x=5 ./s; if x=6 ./s; then ./s; fi""",
    "what is left": r"""printf '#!/bin/bash\nexit 4\n' > s; chmod +x s; ./s; echo $?; ./s || echo no; ! ./s; rm s; ./s""",
    "traps": r"""printf '#!/bin/bash\ntrap "echo bye" EXIT\necho hi\nexit 3\n' > s; chmod +x s; trap 'echo outer' EXIT; ./s; echo $?""",
    "itself": r"""printf '#!/bin/bash\n[ "$1" -gt 0 ] || exit 0\necho $1\n"$0" $(( $1 - 1 ))\n' > r; chmod +x r; ./r 5""",
    "a library": r"""mkdir -p bin; printf '#!/bin/bash\n. "$(dirname "${BASH_SOURCE[0]}")/lib"\nhello "$@"\n' > bin/run; chmod +x bin/run
echo 'hello() { echo "hello ${1:-you}"; }' > bin/lib; bin/run ann; cd bin; ./run; cd ..; ~/bin/run x""",
}
EXPORTED = {
    "xargs": r"""f() { echo "F $1"; }; export -f f; seq 2 | xargs -I{} bash -c 'f {}'""",
    "find": r"""f() { local p=$1; echo "$(basename "$p") $(wc -l < "$p")"; }; export -f f
find . -maxdepth 1 -name 'n*.txt' -exec bash -c 'f "$1"' _ {} \; | sort""",
    "two": r"""f() { g "$1"; }; g() { echo "<$1>"; }; export -f f g; bash -c 'f 1; g 2'; timeout 5 bash -c 'f 3'
env bash -c 'f 4'; (bash -c 'f 5')""",
    "declare": r"""f() { echo hi; }; declare -fx f; bash -c f; x=$(bash -c f); echo "$x"; bash -c f | tr a-z A-Z""",
    "none": r"""export -f nope; echo $?; echo "export -f f"; bash -c nope; echo $?""",
    "not exported": r"""f() { echo hi; }; bash -c f; echo $?""",
}


@pytest.mark.parametrize("entry", [*CALLED, *EXPORTED])
def test_it_is_as_in_the_real_bash(entry: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    line = Entry("called", (CALLED | EXPORTED)[entry])
    real, ours = (one.run(line, FILES, home) for one in (real_bash, our_bash))
    assert (ours.output, ours.code) == (real.output, real.code)
    assert ours.errors == real.errors


def test_nothing_is_left_of_a_call() -> None:
    state = state_of("kind: machine\nname: desk\nhostname: desk\nuser: kim\nusers: {kim: {}}\n")
    bash(state, "printf '#!/bin/bash\\nexit 4\\n' > s; chmod +x s; ./s")
    assert bash(state, "echo $?; declare -F; echo end").split() == ["4", "end"]
