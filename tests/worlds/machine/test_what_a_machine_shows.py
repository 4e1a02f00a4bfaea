"""Commands and files that say what a machine is: who is logged in, hardware, network, /proc. They agree with one another and, in their
layout, with the programs of the machine that tests, where it has them."""

import re
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest

from simtrain.contracts.request import Request
from simtrain.files.yaml_files import parse_document
from simtrain.worlds.machine.source import MachineSource
from simtrain.worlds.machine.world import MachineState
from tests.support.machines import bash, run, state_of

WORLD = """
kind: machine
name: desk
hostname: desk
user: ann
clock: {start: 2031-03-10T08:30:00Z, per_step: 1s}
users: {ann: {sudo: true}, web: {}}
services:
  site:
    description: A site
    command: /usr/sbin/sited
    user: web
    port: 80
    answers: [{path: /hello, template: "hi"}]
processes:
  - {command: /opt/worker --slow, user: ann, cpu: 40, memory: 60M, pid: 900}
  - {command: /opt/worker --slow, user: ann, cpu: 40, memory: 60M, pid: 907}
machines:
  shelf: {users: {ann: {}}}
"""
linux = pytest.mark.skipif(sys.platform != "linux", reason="compares with the programs of Linux")


@pytest.fixture
def state() -> MachineState:
    return state_of(WORLD)


def lines(state: MachineState, command: str) -> list[str]:
    return bash(state, command).splitlines()


def real(*words: str) -> list[str]:
    """What a program of this machine prints; the test is skipped where it is not there."""
    program = which(words[0], path="/usr/sbin:/usr/bin:/sbin:/bin")
    if program is None:
        pytest.skip(f"there is no {words[0]}")
    done = subprocess.run([program, *words[1:]], capture_output=True, text=True, timeout=20, env={"LC_ALL": "C.UTF-8"})
    return done.stdout.splitlines()


def shape(line: str) -> str:
    """A line without what differs from machine to machine."""
    line = re.sub(r"\b[0-9a-f]{2}(:[0-9a-f]{2}){5}\b", "MAC", line)
    line = re.sub(r"\d+(\.\d+)+(/\d+)?", "ADDRESS", line)
    return re.sub(r"\d+", "N", line).rstrip()


def test_who_is_logged_in_is_told_alike_by_all(state: MachineState) -> None:
    assert lines(state, "who") == ["ann      pts/0        2031-03-10 08:30 (10.0.0.1)"]
    assert lines(state, "users; who -q | tail -n 1; sudo who | cut -d' ' -f1") == ["ann", "# users=1", "ann"]
    head, columns, row = lines(state, "w")
    assert head[9:] == lines(state, "uptime")[0][9:]
    assert row.split()[:4] == ["ann", "pts/0", "10.0.0.1", "08:30"] and row.endswith(" w")
    assert columns.split() == ["USER", "TTY", "FROM", "LOGIN@", "IDLE", "JCPU", "PCPU", "WHAT"]
    assert [line.split()[0] for line in lines(state, "last") if line] == ["ann", "reboot", "wtmp"]
    assert len(lines(state, "last -1")) == 3
    assert " up " in lines(state, "w -s")[0] and lines(state, "w -s")[2].endswith(" w -s")


@linux
def test_titles_are_those_of_the_real_programs(state: MachineState) -> None:
    assert lines(state, "w")[1] == real("w")[1]
    assert lines(state, "lsblk")[0].split() == real("lsblk")[0].split()


@linux
def test_labels_of_the_processor_stand_as_lscpu_has_them(state: MachineState) -> None:
    theirs = {line.partition(":")[0].strip() for line in real("lscpu")}
    ours = [line.partition(":")[0].strip() for line in lines(state, "lscpu")]
    assert len(ours) > 12
    # Not each processor has all of them.
    assert len([label for label in ours if label not in theirs]) <= 4


@linux
def test_addresses_are_laid_out_as_ip_has_them(state: MachineState) -> None:
    theirs = {shape(line) for line in real("ip", "addr", "show", "lo")}
    ours = [shape(line) for line in lines(state, "ip addr show lo")]
    assert len(ours) == 4 and [line for line in ours if line not in theirs] == []


@linux
def test_processes_hang_as_pstree_hangs_them() -> None:
    """A process with children of one name and of two: the same tree from both programs."""
    script = "sleep 61 & sleep 61 & bash -c 'sleep 62; :' & "
    child = subprocess.Popen(["bash", "-c", f"{script} wait; :"])
    try:
        subprocess.run(["sleep", "0.3"], check=True)
        theirs = real("pstree", "-U", str(child.pid))
    finally:
        subprocess.run(["pkill", "-P", str(child.pid)], check=False)
        child.kill()
        child.wait()
    world = WORLD.replace(
        "/opt/worker --slow, user: ann, cpu: 40, memory: 60M, pid: 900", "bash -c x, user: ann, pid: 900"
    )
    state = state_of(world.replace("/opt/worker --slow", "sleep 61"))
    insert = (
        "insert into processes (host, pid, parent, user, command, started) "
        "values ('desk', {}, {}, 'ann', '{}', '2031-03-10T08:30:00Z')"
    )
    state.execute("update processes set parent = 900 where pid = 907")
    for number, parent, command in ((908, 900, "sleep 61"), (909, 900, "bash -c y"), (910, 909, "sleep 62")):
        state.execute(insert.format(number, parent, command))
    assert lines(state, "pstree 900") == theirs


def test_machines_of_the_world_answer_a_ping_and_nobody_else(state: MachineState) -> None:
    near = bash(state, "ping -c 2 shelf")
    assert "64 bytes from shelf (10.0.0.11): icmp_seq=2 ttl=64 time=0." in near
    assert "2 packets transmitted, 2 received, 0% packet loss" in near and "exit code" not in near
    gone = bash(state, "ping -c 2 10.0.0.99")
    assert "2 packets transmitted, 0 received, +2 errors, 100% packet loss" in gone and "[exit code 1]" in gone
    assert "100% packet loss" in bash(state, "ping -qc 1 192.0.2.7")
    assert bash(state, "ping -c 1 nowhere").startswith("ping: nowhere: Name or service not known")


def test_a_ping_takes_time_and_one_without_end_is_stopped(state: MachineState) -> None:
    before = state.clock.moment
    bash(state, "ping -c 5 shelf > /dev/null")
    assert 4 <= state.clock.moment - before <= 6
    assert "124" in bash(state, "timeout 7 ping shelf > log; echo $?; tail -n 1 log")


def test_each_packet_comes_in_its_time_at_a_terminal() -> None:
    found = MachineSource.load(parse_document(WORLD, Path("desk.yaml")))
    state = found.configured(parse_document(WORLD, Path("desk.yaml")), {"actions": "keystrokes"}, ()).build().open()
    assert isinstance(state, MachineState)

    def press(keys: str, duration: float) -> str:
        commands = [{"keystrokes": keys, "duration": duration}]
        return state.answer(Request(state.world.tools[0], {"commands": commands}, 0, 0)).text

    # A call takes a second more than its keys.
    assert press("ping shelf\n", 2.5).count("bytes from") == 4
    assert press("", 2.0).count("bytes from") >= 5
    stopped = press("C-c", 0.1)
    assert "statistics" not in stopped and "^C" in stopped
    shown = press("tty; stty size; ps -o comm=\n", 1.0)
    assert "/dev/pts/0\n40 160\nbash\nps\n" in shown
    press("sleep 100\n", 1.0)
    press("C-z", 0.1)
    assert "bash\nsleep\nps\n" in press("clear; ps -o comm=\n", 1.0)


def test_ports_are_open_where_something_listens(state: MachineState) -> None:
    assert lines(state, "nc -zv localhost 80") == ["Connection to localhost (127.0.0.1) 80 port [tcp/http] succeeded!"]
    refused = bash(state, "nc -zv desk 79-81")
    assert refused.count("failed: Connection refused") == 2 and refused.count("succeeded!") == 1
    assert "[exit code 1]" in bash(state, "nc -z shelf 80")
    assert bash(state, "nc -zvw 3 192.0.2.7 22").startswith("nc: connect to 192.0.2.7 port 22 (tcp) timed out")
    asked = r"printf 'GET /hello HTTP/1.1\r\nHost: desk\r\n\r\n' | nc desk 80"
    assert "HTTP/1.1 200 OK" in bash(state, asked) and bash(state, asked).rstrip().endswith("hi")


def test_proc_says_what_ps_free_and_uptime_say(state: MachineState) -> None:
    total = bash(state, "free | awk '/^Mem/ {print $2}'")
    assert bash(state, "awk '/^MemTotal/ {print $2}' /proc/meminfo") == total
    assert lines(state, "grep -c ^processor /proc/cpuinfo") == lines(state, "nproc")
    assert lines(state, "cut -d. -f1 /proc/uptime")[0][:4] == "2592"
    assert lines(state, "cut -d' ' -f1 /proc/loadavg") == ["0.80"]
    shown = set(lines(state, "ls /proc | grep '^[0-9]'"))
    assert (
        shown == {word for word in lines(state, "ps -eo pid= | tr -d ' '") if word in shown}
        and {"1", "900", "907"} <= shown
    )
    assert lines(state, "tr '\\0' ' ' < /proc/900/cmdline") == ["/opt/worker --slow "]
    assert lines(state, "awk '/^VmRSS/ {print $2}' /proc/900/status") == lines(state, "ps -o rss= -p 900 | tr -d ' '")
    assert lines(state, "readlink /proc/900/exe; cat /proc/900/comm") == ["/opt/worker", "worker"]


def test_a_process_that_has_ended_is_gone_from_proc_and_one_of_others_is_closed(state: MachineState) -> None:
    site = lines(state, "pgrep sited")[0]
    assert "Permission denied" in bash(state, f"ls /proc/{site}/fd")
    assert "socket:[" in bash(state, f"sudo ls -l /proc/{site}/fd")
    assert "Permission denied" in bash(state, f"cat /proc/{site}/environ")
    assert "No such file or directory" in bash(state, "kill 900; ls /proc/900")
    assert "No such file or directory" in bash(state, "cat /proc/900/status")


def test_nobody_makes_or_removes_a_file_of_proc(state: MachineState) -> None:
    for command in (
        "echo x > /proc/new",
        "sudo mkdir /proc/new",
        "sudo rm /proc/uptime",
        "sudo rm -r /proc/900",
        "mv /proc/uptime ~",
    ):
        assert "enied" in bash(state, command), command
    assert "new" not in bash(state, "ls /proc")


def test_nothing_of_proc_is_in_the_tables_or_a_change(state: MachineState) -> None:
    fork = state.fork()
    bash(fork, "cat /proc/meminfo /proc/900/status > /dev/null; ls -R /proc > /dev/null; find / -name nothing")
    assert fork.changes() == {}
    assert fork.query("select path from files where path like '/proc/%'") == []


def test_a_fork_shows_its_own_processes(state: MachineState) -> None:
    fork = state.fork()
    bash(fork, "kill 900")
    assert "900" not in lines(fork, "ls /proc")
    assert "900" in lines(state, "ls /proc")


def test_a_job_in_the_background_reads_it_as_well(state: MachineState) -> None:
    bash(state, "(sleep 2; cat /proc/version; ls /proc/900/comm) > found &")
    bash(state, "sleep 5")
    assert bash(state, "cat found").startswith("Linux version 6.1")


def test_the_shell_has_the_number_that_ps_shows_and_keeps_it(state: MachineState) -> None:
    number = lines(state, "echo $$")[0]
    assert lines(state, "ps -p $$ -o comm=; cat /proc/$$/comm; cat /proc/self/comm") == ["bash"] * 3
    bash(state, "sudo systemctl restart site")
    assert lines(state, 'echo ${$} "$$"; sleep 1 & echo $$') == [f"{number} {number}", number]
    assert lines(state, "pgrep sited")[0] > number
    assert lines(state, "echo $PPID ${PPID}; pgrep -f sshd: | head -n 1") == ["421 421", "421"]
    assert lines(state, "kill -0 $$; echo $?; kill $$; echo $?") == ["0", "0"]


def test_other_dollars_stay_as_they_are(state: MachineState) -> None:
    assert lines(state, "echo '$$' \\$\\$ 'a'\"'b'\"; echo 'it'\"'s $HOME\"") == ["$$ $$ a'b'", "it's /home/ann"]
    assert lines(state, "cat << 'END'\n$$ $PPID\nEND") == ["$$ $PPID"]


def test_hostname_tells_its_address(state: MachineState) -> None:
    assert lines(state, "hostname -I | tr -d ' '; ip -br a show eth0 | awk '{print $3}'") == [
        "10.0.0.10",
        "10.0.0.10/24",
    ]
    assert lines(state, "ssh shelf hostname -i") == ["10.0.0.11"]


def test_settings_of_a_debian_are_there() -> None:
    state = state_of(WORLD)
    for path in ("fstab", "issue", "nsswitch.conf", "resolv.conf", "shells", "timezone"):
        assert bash(state, f"cat /etc/{path}") != "", path
    assert "Permission denied" in bash(state, "cat /etc/shadow")
    assert "ann:" in bash(state, "sudo cat /etc/shadow")


def test_wrong_words_are_refused_as_the_programs_do() -> None:
    assert run("ip foo").stderr == 'Object "foo" is unknown, try "ip help".\n'
    assert run("ip addr show eth9").stderr == 'Device "eth9" does not exist.\n'
    assert run("ifconfig eth9").stderr == "eth9: error fetching interface information: Device not found\n"
    assert run("lsblk -o FOO").stderr == "lsblk: unknown column: foo\n"
    assert run("nc localhost x").stderr == "nc: port number invalid: x\n"
    assert run("dmesg").stderr == "dmesg: read kernel buffer failed: Operation not permitted\n"
    assert run("pstree nobodyhere").stderr == "No such user name: nobodyhere\n"
    assert run("ping").stderr == "ping: usage error: Destination address required\n"
