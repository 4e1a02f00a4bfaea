"""Processes, services, cron, packages and other machines: commands over the tables of a world."""

from simtrain.worlds.machine.accounts import ROOT, User
from simtrain.worlds.machine.engine import Finished
from simtrain.worlds.machine.machine import Machine
from tests.support.machines import ANN, machine_of, shell_on

_ROWS = """
insert into processes (host, pid, parent, user, command, started, port, service) values
  ('web1', 1, 0, 'root', '/sbin/init', '2031-03-01T08:00:00Z', null, null),
  ('web1', 421, 1, 'root', 'sshd: /usr/sbin/sshd -D', '2031-03-01T08:00:00Z', 22, 'sshd'),
  ('db1', 421, 1, 'root', 'sshd: /usr/sbin/sshd -D', '2031-03-01T08:00:00Z', 22, 'sshd');
insert into processes (host, pid, user, command, cpu, memory, started) values
  ('web1', 903, 'ann', 'python3 leak.py --all', 61.5, 900000, '2031-03-03T08:30:00Z'),
  ('web1', 950, 'bob', '/opt/poll 5', 1.0, 3000, '2031-03-03T08:00:00Z');
insert into services (host, name, description, state, enabled, command, port, requires, changed) values
  ('web1', 'db', 'The database', 'inactive', 1, '/usr/bin/db', 5432, null, null),
  ('web1', 'shop', 'The shop', 'failed', 0, '/usr/bin/shop --port 80', 80, 'db', '2031-03-03T08:00:00Z');
insert into packages values ('web1', 'pip', 'flask', '3.0.0'), ('web1', 'apt', 'curl', '7.88.1');
insert into package_index (manager, name, version, summary, requires) values
  ('pip', 'requests', '2.30.0', 'HTTP', 'urllib3>=2'), ('pip', 'requests', '2.31.0', 'HTTP', 'urllib3>=2'),
  ('pip', 'urllib3', '2.10.0', 'Sockets', ''), ('pip', 'urllib3', '2.9.0', 'Sockets', ''),
  ('apt', 'jq', '1.6-2', 'JSON', 'libjq1'), ('apt', 'libjq1', '1.6-2', 'JSON library', '');
"""


def _world() -> Machine:
    machine = machine_of()
    for statement in _ROWS.split(";\n"):
        if statement.strip():
            machine.records.write(statement)
    return machine


def _run(script: str, machine: Machine | None = None, *, user: User = ROOT) -> Finished:
    return shell_on(machine or _world(), user=user, directory="/").run(script)


def test_ps_and_top_show_the_processes_of_the_machine() -> None:
    found = _run(
        "ps aux | awk '$3 > 50 {print $1, $2, $11}'; ps -o pid=,comm= -p 903; ps -ef | wc -l; top -b -n 1 | "
        "sed -n 8p | awk '{print $1, $NF}'"
    )
    assert found.stdout == "ann 903 python3\n    903 python3\n7\n903 python3\n"


def test_a_signal_ends_a_process_of_ones_own_and_no_others() -> None:
    machine = _world()
    found = _run("kill 903; kill 950; kill 1; kill 77; pgrep -f leak || echo gone", machine, user=ANN)
    assert found.stdout == "gone\n"
    assert found.stderr.splitlines() == [
        "bash: line 1: kill: (950) - Operation not permitted",
        "bash: line 1: kill: (1) - Operation not permitted",
        "bash: line 1: kill: (77) - No such process",
    ]


def test_a_service_starts_after_what_it_requires_and_has_a_process() -> None:
    found = _run(
        "systemctl is-active shop; systemctl start shop; systemctl is-active shop db; pgrep -a shop; systemctl status shop | sed -n 3p"
    )
    assert found.stdout.splitlines()[:3] == ["failed", "active", "active"]
    assert (
        "/usr/bin/shop --port 80" in found.stdout
        and "active (running) since Mon 2031-03-03 09:00:00 UTC" in found.stdout
    )


def test_a_service_fails_where_its_port_is_taken_and_says_so_in_the_journal() -> None:
    machine = _world()
    machine.records.write("update processes set port = 80 where pid = 950")
    found = _run(
        "systemctl start shop; echo $?; systemctl is-failed shop; journalctl -u shop | grep -c 'Address "
        "already in use'; pkill poll; systemctl restart shop && echo up",
        machine,
    )
    assert found.stdout == "1\nfailed\n1\nup\n"
    assert found.stderr.startswith("Job for shop.service failed because the control process exited with error code.")


def test_only_root_changes_services() -> None:
    found = _run("systemctl stop shop; echo $?; systemctl nosuch; systemctl status nosuch; echo $?", user=ANN)
    assert found.stdout == "4\n4\n"
    assert "Unknown command verb nosuch." in found.stderr and "Unit nosuch.service could not be found." in found.stderr


def test_a_crontab_is_checked_before_it_is_installed() -> None:
    found = _run(
        "crontab -l; echo '61 * * * * date' | crontab -; echo '*/5 * * * * /usr/bin/poll' | crontab - && "
        "crontab -l; crontab -r; crontab -l",
        user=ANN,
    )
    assert found.stdout == "*/5 * * * * /usr/bin/poll\n"
    assert found.stderr.splitlines() == [
        "no crontab for ann", '"-":0: bad minute', "errors in crontab file, can't install.", "no crontab for ann",
    ]  # fmt: skip


def test_pip_installs_from_the_index_with_what_is_required() -> None:
    found = _run("pip install 'requests<2.31' flask | tail -n 1; pip freeze; pip install nosuch")
    assert found.stdout.splitlines() == [
        "Successfully installed requests-2.30.0 urllib3-2.10.0", "flask==3.0.0", "requests==2.30.0", "urllib3==2.10.0",
    ]  # fmt: skip
    assert "ERROR: No matching distribution found for nosuch" in found.stderr


def test_apt_needs_root_and_knows_only_its_index() -> None:
    assert "are you root?" in _run("apt-get install -y jq", user=ANN).stderr
    found = _run(
        "apt-get install -y jq | tail -n 1; dpkg -l jq | tail -n 1 | cut -c1-6; apt-get install -y nosuch; echo $?"
    )
    assert found.stdout.splitlines()[:2] == ["Setting up jq (1.6-2) ...", "ii  jq"]
    assert found.stdout.endswith("\n100\n") and "E: Unable to locate package nosuch" in found.stderr


def test_ssh_runs_on_another_machine_of_the_world() -> None:
    machine, other = _world(), machine_of({"/home/ann/there.txt": "there\n"}, name="db1")
    machine.peers = other.peers = {"web1": machine, "db1": other}
    found = _run(
        "ssh db1 'hostname; cat there.txt'; ssh nosuch ls; echo $?; scp db1:there.txt /tmp/here.txt && cat /tmp/here.txt",
        machine,
        user=ANN,
    )
    assert found.stdout == "db1\nthere\n255\nthere\n"
    assert found.stderr == "ssh: Could not resolve hostname nosuch: Name or service not known\n"
