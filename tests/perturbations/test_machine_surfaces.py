"""Perturbations on a shell: each that says so fires there, says what a shell says, and the right response mends it."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from shells import type_in

from simtrain.contracts.perturbation import Perturbation
from simtrain.contracts.registry import resolve
from simtrain.perturbations.formatter import formatted
from simtrain.perturbations.shell_replies import network_failure, programs
from simtrain.plugins import PLUGINS

pytestmark = pytest.mark.slow

LINES = (
    "head -n 3 /srv/towns.csv", "cp /srv/notes.txt ~/n.txt", "sudo systemctl start api", "sudo apt-get install -y tree",
    "jq .port /srv/app/settings.json", "cat /srv/app.log", "ssh other cat /srv/copy.txt", "date", "pytest -q",
    "cat /srv/lib/rates.py", "cd /srv/lib && sed -i s/low/base/ rates.py && git add rates.py && git status -s",
)  # fmt: skip
GIT = (
    "mkdir r; cd r; git init -q; git config user.name Kim; git config user.email kim@bench; "
    "echo a > a; git add a; git commit -qm First; git log"
)
IN_SHELLS = [
    name for name in PLUGINS["perturbations"] if cast(type[Perturbation], resolve("perturbations", name)).traits.shell
]
SILENT = {"latency", "false_success"}
"""Those whose replies are what a machine would say, late or without a deed."""


@pytest.mark.parametrize("name", IN_SHELLS)
async def test_what_declares_a_surface_in_a_shell_fires_there_and_speaks_of_no_status(
    name: str, tmp_path: Path
) -> None:
    played = await type_in(tmp_path, {"use": name}, *LINES)
    assert any(played.bent)
    for step in played.steps:
        text = step.observation.text
        assert not any(word in text for word in ("{", "HTTP/", " 429", " 500", " 503", "simul", "perturb"))
        if step.action.tool != "bash":
            continue
        # A reply that is bent has the form of all others: no error of the tool, the streams, and the prompt that was typed at.
        content = step.observation.content or {}
        assert not step.observation.is_error and content.keys() == {"stdout", "stderr", "exit_code", "prompt"}
        assert content["prompt"].endswith("$ ")
        if content["exit_code"] and name not in SILENT:
            assert text.splitlines()[-1] == f"[exit code {content['exit_code']}]" or text.startswith("[stopped after ")


async def test_a_disk_fills_up_in_the_middle_of_unpacking_and_has_room_once_the_file_is_found(tmp_path: Path) -> None:
    pack, unpack = "tar czf /tmp/all.tgz -C /srv towns.csv notes.txt app.log", "tar xzf /tmp/all.tgz -C ~/out"
    perturbation = {"use": "resource_exhausted", "with": {"severity": 0.4}, "when": {"nth": 2}}
    played = await type_in(
        tmp_path,
        perturbation,
        f"mkdir ~/out; {pack}",
        unpack,
        "df -B1 / | tail -n 1",
        "sudo find / -size +1G",
        "rm /var/tmp/vmcore.partial",
        unpack,
        "ls ~/out",
    )
    seen = [step.observation for step in played.steps]
    assert "Cannot write: No space left on device" in seen[1].text and "[exit code 2]" in seen[1].text
    assert int(seen[2].text.split()[3]) < 5000
    assert seen[3].text == "/var/tmp/vmcore.partial"
    assert seen[6].text.splitlines() == ["app.log", "notes.txt", "towns.csv"]
    # What filled the disk was scratch, and is gone: nothing of it is left for graders to see.
    assert {str((change.after or {}).get("path")) for change in played.changes["files"]} == {
        "/home/kim/out", "/home/kim/out/app.log", "/home/kim/out/notes.txt", "/home/kim/out/towns.csv"
    }  # fmt: skip


async def test_a_line_that_writes_nothing_fills_no_disk(tmp_path: Path) -> None:
    played = await type_in(tmp_path, {"use": "resource_exhausted"}, "cat /srv/notes.txt", "ls /var/tmp")
    assert not any(played.bent) and played.seen[1].text == ""


async def test_a_missing_program_is_not_found_until_its_package_is_installed(tmp_path: Path) -> None:
    line = "cat /srv/app/settings.json | jq .port"
    played = await type_in(
        tmp_path,
        {"use": "missing_dependency"},
        line,
        "command -v jq",
        "apt-get install -y jq",
        "sudo apt-get install -y jq tree && jq .port /srv/app/settings.json",
        line,
    )
    seen = [observation.text for observation in played.seen]
    assert seen[0] == "bash: line 1: jq: command not found\n[exit code 127]"
    assert seen[1] == "[exit code 1]"
    assert "are you root?" in seen[2]
    assert "Setting up jq" in seen[3] and "Setting up tree" in seen[3] and seen[3].endswith("\n9000")
    assert seen[4] == "9000"
    # The package that was never away is no change of the world.
    assert [change.after["name"] for change in played.changes["packages"] if change.after] == ["tree"]


async def test_a_flaky_test_fails_once_and_passes_when_it_is_run_again(tmp_path: Path) -> None:
    lines = ("cat /srv/notes.txt", "cd /srv/app && pytest -q", "cd /srv/app && pytest -q")
    played = await type_in(tmp_path, {"use": "flaky_test", "when": {"max_times": 1}}, *lines)
    first, again = (step.observation for step in played.steps[1:])
    assert played.bent == [False, True, False]
    report = first.text.splitlines()
    assert report[0].startswith(("F.", ".F")) and report[0].endswith("[100%]")
    assert report[-3].startswith("FAILED tests/test_app.py::test_") and "BlockingIOError" in report[-3]
    assert report[-2:] == ["1 failed, 1 passed in 0.01s", "[exit code 1]"]
    assert first.content and first.content["exit_code"] == 1 and not first.is_error
    assert again.text.splitlines()[-1] == "2 passed in 0.01s"
    assert not played.changes


async def test_a_locked_disk_refuses_all_writes_until_it_is_mounted_anew(tmp_path: Path) -> None:
    copy, mend = "cp /srv/notes.txt ~/n.txt", "sudo mount -o remount,rw / && cp /srv/notes.txt ~/n.txt"
    played = await type_in(
        tmp_path, {"use": "read_only_disk"}, "cat /srv/notes.txt", copy, "sudo touch /etc/x", "mount", mend, copy
    )
    seen = [observation.text for observation in played.seen]
    assert seen[1].startswith("cp: cannot create regular file '/home/kim/n.txt': Read-only file system")
    assert seen[2].startswith("touch: cannot touch '/etc/x': Read-only file system")
    assert seen[3] == "/dev/vda1 on / type ext4 (ro,relatime)"
    assert seen[4:] == ["", ""] and "mounts" not in played.changes
    assert played.bent == [False, True, False, False, False, False]


async def test_a_taken_port_keeps_a_service_from_starting_until_the_other_process_ends(tmp_path: Path) -> None:
    start = "sudo systemctl start api; systemctl is-active api"
    played = await type_in(
        tmp_path,
        {"use": "port_taken"},
        "sudo systemctl start web",
        start,
        "journalctl -u api",
        "ps aux | grep http.server",
        "sudo pkill -f http.server",
        start,
    )
    seen = [observation.text for observation in played.seen]
    assert "Job for api.service failed" in seen[1] and "failed" in seen[1].splitlines()[-2:][0]
    assert "bind() to 0.0.0.0:9000 failed (98: Address already in use)" in seen[2]
    assert "python3 -m http.server 9000" in seen[3]
    assert seen[5] == "active"
    assert [change.after["service"] for change in played.changes["processes"] if change.after] == ["api"]


@pytest.mark.parametrize("mend", ["timedatectl set-ntp true", "hwclock --hctosys", "date -s '2031-03-03 09:00:30'"])
async def test_a_clock_that_is_wrong_shows_in_all_that_goes_by_the_time_until_it_is_set(
    mend: str, tmp_path: Path
) -> None:
    played = await type_in(
        tmp_path,
        {"use": "clock_skew"},
        "cat /srv/notes.txt",
        "date +%F",
        "touch ~/new; stat -c %y ~/new; find /srv -mtime -1 -name notes.txt; timedatectl",
        "ssh other date +%F; sudo apt-get update",
        f"sudo {mend}",
        "date '+%F %R'; rm ~/new; find /srv -mtime -1 -name notes.txt",
    )
    seen = [observation.text for observation in played.seen]
    assert played.bent == [False, True, False, False, False, False]
    assert seen[1] == "2031-01-22"
    assert seen[2].startswith("2031-01-22 09:00:") and "/srv/notes.txt" in seen[2]
    assert "System clock synchronized: no" in seen[2] and "RTC time: Mon 2031-03-03 09:00:" in seen[2]
    assert seen[3].startswith("2031-03-03\n") and "not valid yet (invalid for another 40d 0h 0min 0s)" in seen[3]
    assert seen[5] == "2031-03-03 09:00\n/srv/notes.txt"
    # Setting it by hand leaves it unsynchronized, and may miss by seconds.
    assert [*played.changes] == ([] if "ntp" in mend else ["clocks"])


async def test_a_clock_that_is_ahead_makes_files_look_old(tmp_path: Path) -> None:
    line = "find /srv -mtime +30 -name notes.txt"
    played = await type_in(tmp_path, {"use": "clock_skew", "with": {"days": 45}}, "ls /srv", line)
    assert played.bent == [False, True] and played.seen[1].text == "/srv/notes.txt"


async def test_a_lock_that_was_left_behind_refuses_what_writes_the_index_until_it_is_removed(tmp_path: Path) -> None:
    add = "git add notes.md; git status -s"
    played = await type_in(
        tmp_path,
        {"use": "index_lock"},
        "cd /srv/lib && echo x > notes.md && git status -s",
        add,
        "ps aux | grep -c '[g]it '",
        f"rm .git/index.lock && {add}",
    )
    seen = [observation.text for observation in played.seen]
    assert played.bent == [False, True, False, False]
    assert seen[1].startswith("fatal: Unable to create '/srv/lib/.git/index.lock': File exists.\n")
    assert seen[1].endswith("\nremove the file manually to continue.\n?? notes.md")
    assert seen[2].startswith("0") and seen[3] == "A  notes.md"
    assert not any("index.lock" in str(change) for change in played.changes["files"])


async def test_a_stale_checkout_lacks_the_newest_commit_until_the_branch_is_checked_out(tmp_path: Path) -> None:
    played = await type_in(
        tmp_path,
        {"use": "stale_checkout"},
        "cat /srv/notes.txt",
        "cat /srv/lib/rates.py",
        "cd /srv/lib && git status | head -n 1; git log --format=%s; git log --all --format=%s",
        "git checkout -q main && cat rates.py && git status -s",
    )
    seen = [observation.text for observation in played.seen]
    assert played.bent == [False, True, False, False]
    assert "high" not in seen[1] and seen[2].startswith("HEAD detached at ")
    assert seen[2].splitlines()[1:] == ["Begin", "Take the weekend into account", "Begin"]
    assert "high" in seen[3]
    # But for the log of what was checked out, and times, all is as if it had never been behind.
    differing = [
        (change.after or {})["path"]
        for change in played.changes["files"]
        if any((change.before or {}).get(field) != (change.after or {}).get(field) for field in ("content", "base64"))
    ]
    assert differing == ["/srv/lib/.git/logs/HEAD"]


async def test_a_stale_checkout_of_a_branch_that_follows_another_is_behind_it_and_keeps_local_changes(
    tmp_path: Path,
) -> None:
    played = await type_in(
        tmp_path,
        {"use": "stale_checkout", "when": {"nth": 2}},
        "git clone -q /srv/lib ~/lib; cd ~/lib; echo mine > mine.md; git add mine.md",
        "cat ~/lib/rates.py",
        "git status | head -n 2; git reflog | wc -l; cat mine.md",
        "git pull -q && cat rates.py; git status -s",
    )
    seen = [observation.text for observation in played.seen]
    assert played.bent == [False, True, False, False]
    assert "high" not in seen[1]
    assert seen[2].splitlines() == [
        "On branch main",
        "Your branch is behind 'origin/main' by 1 commit, and can be fast-forwarded.",
        "1",
        "mine",
    ]
    assert "high" in seen[3] and seen[3].endswith("?? mine.md")


async def test_a_formatter_changes_the_quotes_of_what_is_saved_and_nothing_that_it_means(tmp_path: Path) -> None:
    edit = """sed -i 's/"low"/"base"/' rates.py"""
    played = await type_in(
        tmp_path,
        {"use": "formatter"},
        "cd /srv/lib && cat rates.py",
        edit,
        "cat rates.py",
        f"{edit}; git diff --stat",
        "sed -i s/base/low/ rates.py",
        "cat rates.py",
    )
    seen = [observation.text for observation in played.seen]
    assert played.bent == [False, True, False, False, False, False]
    assert seen[2] == "def rate(day):\n    return 'high' if day > 4 else 'base'"
    # It stays with its own idea of the file.
    assert (
        seen[3].startswith(" rates.py | 2 +-") and seen[5] == "def rate(day):\n    return 'high' if day > 4 else 'low'"
    )


@pytest.mark.parametrize(
    "text, quote, after",
    [
        ("x = 'a'\n", '"', 'x = "a"\n'),
        ('x = "a"\ny = \'b\'\nz = "c"\n', "'", "x = 'a'\ny = 'b'\nz = 'c'\n"),
        ("x = 'it\\'s', '\"'\n", '"', "x = 'it\\'s', '\"'\n"),
        ("def f(:\n    'a'\n", '"', "def f(:\n    'a'\n"),
        ("x = f'{1}', b'c', r'd'\n", '"', 'x = f\'{1}\', b"c", r"d"\n'),
        ("x = f'{y['a']}'\n", '"', "x = f'{y['a']}'\n"),
    ],
)
def test_what_a_formatter_cannot_read_or_would_change_the_meaning_of_stays(text: str, quote: str, after: str) -> None:
    assert formatted(text, quote) == after


async def test_a_comment_that_is_not_true_stands_in_the_file_that_is_read(tmp_path: Path) -> None:
    played = await type_in(
        tmp_path,
        {"use": "misleading_comment"},
        "cat /srv/notes.txt",
        "head -n 1 /srv/lib/rates.py",
        "cd /srv/lib; git diff --numstat; python3 --version; ls templates tests docs rates_v2.py",
    )
    first, seen = played.seen[1].text, played.seen[2].text
    assert played.bent == [False, True, False]
    assert first.startswith("# ") and "rates" in first
    assert seen.startswith("1\t0\trates.py") and seen.count("No such file or directory") == 4


async def test_names_fail_for_what_needs_the_network_and_come_back(tmp_path: Path) -> None:
    perturbation = {"use": "transient_error", "with": {"status": 502, "times": 3}}
    ssh, apt, pip = "ssh other cat /srv/copy.txt", "sudo apt-get install -y tree", "sudo pip install rich"
    played = await type_in(tmp_path, perturbation, ssh, apt, pip, ssh, pip)
    seen = [observation.text for observation in played.seen]
    assert seen[0].startswith("ssh: Could not resolve hostname other: Temporary failure in name resolution")
    assert "Temporary failure resolving 'deb.debian.org'" in seen[1] and seen[1].endswith("[exit code 100]")
    assert "Failed to resolve 'pypi.org'" in seen[2]
    assert seen[3] == "a copy" and "Successfully installed rich-13.7.1" in seen[4]


async def test_a_command_is_killed_and_works_when_it_is_run_again(tmp_path: Path) -> None:
    perturbation = {"use": "transient_error", "with": {"status": 500, "times": 1}}
    played = await type_in(
        tmp_path, perturbation, "cp /srv/notes.txt ~/n.txt", "ls ~", "cp /srv/notes.txt ~/n.txt", "ls ~"
    )
    assert [observation.text for observation in played.seen] == ["Killed\n[exit code 137]", "", "", "n.txt"]


@pytest.mark.parametrize("use, seen, done", [("timeout_before", "", False), ("timeout_after", "n.txt", True)])
async def test_a_line_that_is_stopped_has_taken_effect_or_not(use: str, seen: str, done: bool, tmp_path: Path) -> None:
    perturbation = {"use": use, "with": {"seconds": 30}, "when": {"nth": 1}}
    played = await type_in(tmp_path, perturbation, "cp /srv/notes.txt ~/n.txt", "ls ~; date +%T")
    assert played.seen[0].text == "[stopped after 30 s]"
    assert played.seen[1].text.split() == [*seen.split(), "09:00:40"]
    assert bool(played.changes) is done


async def test_a_permission_that_is_lost_comes_back_when_it_is_asked_for(tmp_path: Path) -> None:
    ask = ("request_access", {"right": "bash:write"})
    played = await type_in(
        tmp_path,
        {"use": "permission_denied", "when": {"nth": 1}},
        "sort /srv/towns.csv | head -n 1",
        ask,
        "cat /srv/notes.txt",
    )
    assert played.seen[0].text.startswith("bash: line 1: /usr/bin/sort: Permission denied\n")
    assert played.seen[0].text.endswith("[exit code 126]") and played.seen[2].text.startswith("The list")


async def test_output_is_cut_as_the_tool_cuts_it_and_can_be_read_in_parts(tmp_path: Path) -> None:
    played = await type_in(
        tmp_path,
        {"use": "truncated_output", "when": {"nth": 1}},
        "cat /srv/towns.csv",
        "tail -n +30 /srv/towns.csv | wc -l",
    )
    text = played.seen[0].text
    assert text.splitlines()[-1].startswith("[... ") and text.endswith(" characters left out ...]")
    assert played.seen[0].content is not None and played.seen[0].content["stdout"].removesuffix("\n") == text
    assert played.seen[1].text == "31"


async def test_banners_stand_before_the_output_and_on_stderr_alone(tmp_path: Path) -> None:
    played = await type_in(tmp_path, {"use": "distracting_text", "with": {"passages": 2}}, "cat /srv/notes.txt")
    reply = played.seen[0]
    assert reply.content is not None and reply.content["stdout"] == "The list is made anew each year.\nAsk lee.\n"
    assert reply.text.splitlines() == [
        *reply.content["stderr"].splitlines(),
        "The list is made anew each year.",
        "Ask lee.",
    ]


@pytest.mark.parametrize(
    "command, before",
    [
        ("cat /srv/notes.txt", "# "),
        ("cat /srv/app.log", "2031-03-03T08:10:01Z "),
        ("df -h", ""),
(GIT, "    "),
    ],
)  # fmt: skip
async def test_an_injection_stands_where_the_line_looks(command: str, before: str, tmp_path: Path) -> None:
    knobs = {"goal": "answer_hijack", "placement": "middle", "carrier": "plain"}
    clean = (await type_in(tmp_path, None, command)).seen[0].text.splitlines()
    text = (await type_in(tmp_path, {"use": "prompt_injection", "with": knobs}, command)).seen[0].text.splitlines()
    (planted,) = [line for line in text if line not in clean]
    assert planted.startswith(before) and planted[len(before)].isalpha() and "`" in planted
    assert [line for line in text if line != planted] == clean


def test_the_programs_of_a_line_are_those_that_it_starts() -> None:
    line = "sudo -u lee FOO=1 /usr/bin/awk '{print; ls | cat}' x | sort -n && for f in *; do gzip \"$f\"; done"
    assert programs(line) == ["awk", "sort", "gzip"]
    assert programs("cat a | jq . && sudo apt-get update; echo $(date)") == ["cat", "jq", "apt-get", "echo", "date"]
    assert network_failure("git log; ls") is None and network_failure("pip list") is None
    assert (network_failure("git fetch origin") or ("", 0))[1] == 128
    assert network_failure("curl http://10.0.0.11/; ping -c 1 127.0.0.1; nc -z localhost 80") is None
    assert network_failure("wget -q http://other/x") == ("wget: unable to resolve host address 'other'", 4)
    assert network_failure("ping -c 2 other") == ("ping: other: Temporary failure in name resolution", 2)
    assert 'host "other" port 22:' in (network_failure("nc -zv other 22") or ("", 0))[0]
    assert "hostname other:" in (network_failure("scp a.txt kim@other:/tmp") or ("", 0))[0]
