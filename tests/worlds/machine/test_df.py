"""df against that of coreutils: the same headings and refusals; the figures are those of the machine."""

from __future__ import annotations

import subprocess
from shutil import which

import pytest

from tests.support.machines import bash, state_of

WORLD = "kind: machine\nname: desk\nhostname: desk\nuser: kim\nusers: {kim: {sudo: true}}\ndisk: {size: 30M}\n"


@pytest.mark.skipif(which("df") is None, reason="compares with df of coreutils")
@pytest.mark.parametrize(
    "options",
    ["", "-h", "-H", "-T", "-i", "-P", "-Ph", "-hT", "-ih", "-m", "-k", "-BM", "-B1M", "-BMB", "-B1G", "-B512", "-B3000", "--output",
     "--output=avail", "--output=pcent,source,file,target", "-h --output=size,used,avail", "--output=ipcent,iavail,itotal,iused",
     "--output=foo", "--output=size,size", "-i --output", "-T --output", "-B x", "-t none", "-Z"],
)  # fmt: skip
def test_headings_and_refusals_are_those_of_the_real_one(options: str) -> None:
    line = f"df {options} / 2>&1 | sed -n '1p;/^df:/p;/^Try/p' | tr -s ' ' | sed 's/^ //'"
    real = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False, env={"LC_ALL": "C"}).stdout
    assert bash(state_of(WORLD), line) == real.rstrip("\n")


def test_the_figures_are_those_of_the_disks_that_are_asked_for() -> None:
    state = state_of(WORLD)
    bash(state, "dd if=/dev/zero of=f bs=1M count=2 status=none")
    size, used, avail, share = bash(state, "df -B1 --output=size,used,avail,pcent / | tail -n 1").split()
    assert int(size) == 30_000_000 and 2_097_152 < int(used) < 3_000_000 and int(used) + int(avail) == int(size)
    assert share == f"{-(-int(used) * 100 // int(size))}%"
    assert (
        bash(state, "df --output=target,file /run /dev /home | tail -n 3 | tr -s ' '")
        == "/run /run\n/dev /dev\n/ /home"
    )
    assert bash(state, "df -x tmpfs --output=source | tail -n +2 | tr -d ' '") == "udev\n/dev/vda1"
    assert bash(state, "df -t tmpfs --total --output=source,size | tail -n 1 | tr -s ' '") == "total 390625"
    assert bash(state, "df /none / | wc -l").startswith("2\n") and "/none" in bash(state, "df /none")


def test_files_are_counted_as_they_come_and_go() -> None:
    state = state_of(WORLD)
    counted = "df --output=iused / | tail -n 1 | tr -d ' '"
    before = int(bash(state, counted))
    # The directory /proc itself is one more.
    assert before == int(bash(state, "sudo find / -path /proc -prune -o -print | wc -l")) + 1
    assert int(bash(state, f"mkdir -p a/b; touch a/b/{{1..7}}; {counted}")) == before + 9
    assert int(bash(state, f"rm a/b/3; mv a/b/4 a/b/5; {counted}")) == before + 7
    assert int(bash(state, f"rm -r a; {counted}")) == before
