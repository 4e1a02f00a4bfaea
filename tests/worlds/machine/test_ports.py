"""Which process listens on which port, laid out as iproute2 6.1, net-tools 2.10 and lsof 4.95 lay it out."""

from __future__ import annotations

import pytest

from simtrain.worlds.machine.world import MachineState
from tests.support.machines import bash, state_of

WORLD = """
kind: machine
name: desk
hostname: desk
user: kim
users: {kim: {sudo: true}}
services:
  web: {command: /usr/sbin/nginx -g daemon, port: 80, user: www-data}
  app: {command: python3 app.py, port: 8123, user: kim}
"""


@pytest.fixture
def state() -> MachineState:
    return state_of(WORLD)


def test_ss(state: MachineState) -> None:
    assert bash(state, "sudo ss -tlnp").splitlines() == [
        "State  Recv-Q Send-Q Local Address:Port Peer Address:PortProcess                          ",
        'LISTEN 0      128          0.0.0.0:22        0.0.0.0:*    users:(("sshd",pid=421,fd=3))   ',
        'LISTEN 0      128          0.0.0.0:80        0.0.0.0:*    users:(("nginx",pid=611,fd=3))  ',
        'LISTEN 0      128          0.0.0.0:8123      0.0.0.0:*    users:(("python3",pid=612,fd=3))',
    ]
    assert bash(state, "ss -tlnp 'sport = :http'").splitlines()[1:] == [
        "LISTEN 0      128          0.0.0.0:80        0.0.0.0:*   "
    ]
    assert bash(state, "ss -tulH | head -n 1").rstrip() == "tcp LISTEN 0 128 0.0.0.0:ssh  0.0.0.0:*"
    assert bash(state, "ss -t; ss -ln6").splitlines()[1:] == [
        "Netid State Recv-Q Send-Q Local Address:Port Peer Address:PortProcess"
    ]
    assert "syntax error" in bash(state, "ss -tln whatever")


def test_netstat_shows_programs_of_others_to_root_alone(state: MachineState) -> None:
    assert bash(state, "netstat -tlnp").splitlines() == [
        "Active Internet connections (only servers)",
        "Proto Recv-Q Send-Q Local Address           Foreign Address         State       PID/Program name    ",
        "tcp        0      0 0.0.0.0:22              0.0.0.0:*               LISTEN      -                   ",
        "tcp        0      0 0.0.0.0:80              0.0.0.0:*               LISTEN      -                   ",
        "tcp        0      0 0.0.0.0:8123            0.0.0.0:*               LISTEN      612/python3         ",
        "(Not all processes could be identified, non-owned process info",
        " will not be shown, you would have to be root to see it all.)",
    ]
    shown = bash(state, "sudo netstat -tlnp")
    assert "611/nginx " in shown and "Not all" not in shown


def test_lsof(state: MachineState) -> None:
    assert bash(state, "sudo lsof -i").splitlines() == [
        "COMMAND PID     USER   FD   TYPE DEVICE SIZE/OFF NODE NAME",
        "sshd    421     root    3u  IPv4  18421      0t0  TCP *:ssh (LISTEN)",
        "nginx   611 www-data    3u  IPv4  18611      0t0  TCP *:http (LISTEN)",
        "python3 612      kim    3u  IPv4  18612      0t0  TCP *:8123 (LISTEN)",
    ]
    assert bash(
        state, "lsof -t -i:8123; lsof -nPi tcp:8123 -sTCP:LISTEN | tail -n +2; lsof -i :80; echo $?"
    ).splitlines() == [
        "612",
        "python3 612  kim    3u  IPv4  18612      0t0  TCP *:8123 (LISTEN)",
        "1",
    ]
    assert bash(state, "lsof -i :zz; lsof nothing; lsof").splitlines()[:2] == [
        "lsof: unknown service zz in: -i :zz",
        "lsof: status error on nothing: No such file or directory",
    ]


def test_who_holds_a_port_can_be_ended(state: MachineState) -> None:
    assert bash(state, "fuser 8123/tcp; kill $(lsof -t -i:8123); fuser 8123/tcp; ss -tln | grep -c :8123").split() == [
        "612",
        "0",
        "[exit",
        "code",
        "1]",
    ]
    assert bash(state, "fuser -k 80/tcp; echo $?; sudo fuser -k -TERM 80/tcp; systemctl is-active web").split()[:3] == [
        "1",
        "611",
        "inactive",
    ]
