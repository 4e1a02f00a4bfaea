"""What programs say of themselves: never that they are the engine's, and what those of a real machine say."""

import re
import subprocess
import sys
from shutil import which

import pytest

from simtrain.worlds.machine.commands import COMMANDS
from simtrain.worlds.machine.commands.releases import RELEASES
from simtrain.worlds.machine.commands.usages import USAGES
from simtrain.worlds.machine.programs import names_of_commands
from tests.support.machines import machine_of, run, shell_on

NAMES = sorted(name for name in names_of_commands() if name[0].isalpha())
ENGINE = re.compile(r"bashkit|virtual|sandbox", re.IGNORECASE)
# A virtual machine says that it is one.
HARDWARE = {"hostnamectl", "lscpu"}
# They answer otherwise on a real machine, or say more before the release.
OTHERS = {
    "sqlite3",
    "git",
    "curl",
    "sh",
    "vi",
    "nano",
    "yq",
    "zip",
    "unzip",
    "tree",
    "sed",
    "jq",
    "rg",
    "parallel",
    "mount",
    "umount",
}
OTHERS |= {
    "awk",
    "gawk",
    "mawk",
    "nawk",
    "echo",
    "shasum",
    "bzip2",
    "bunzip2",
    "bzcat",
    "fuser",
    "killall",
    "pstree",
    "sudo",
}


def test_no_program_names_the_engine_when_it_is_asked_what_it_is() -> None:
    shell = shell_on(machine_of())
    for name in NAMES:
        if name in HARDWARE:
            continue
        for option in ("--version", "--help", "-V", "-v", "-h", "--nonsense"):
            for line in (
                f"{name} {option} < /dev/null",
                f"/usr/bin/{name} {option} | cat",
                f"echo {option} | xargs {name} | head",
            ):
                told = shell.run(line)
                assert not ENGINE.search(told.stdout + told.stderr + told.screen), (line, told)


@pytest.mark.parametrize("name", sorted(RELEASES))
def test_each_program_tells_its_release_also_behind_other_programs(name: str) -> None:
    expected = f"{RELEASES[name]}\n"
    assert run(f"{name} --version").stdout == expected
    assert run(f'x=$({name} --version); echo "$x"; exit 3').stdout == expected
    assert run(f"if {name} --version | grep -q -e '{expected[:6].strip()}'; then echo yes; fi").stdout == "yes\n"


@pytest.mark.skipif(sys.platform != "linux" or which("dpkg") is None, reason="compares with the programs of Debian")
def test_releases_are_worded_as_those_of_this_machine() -> None:
    compared = 0
    for name in sorted(RELEASES.keys() - OTHERS):
        program = which(name)
        if program is None:
            continue
        done = subprocess.run(
            [program, "--version"], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=20
        )
        # Numbers differ from release to release, and one may be of another package.
        theirs, ours = (
            re.sub(r"[\d.]+\S*|\(.*", "#", text.partition("\n")[0]) for text in (done.stdout, RELEASES[name])
        )
        assert theirs.startswith(ours.split("#")[0]), name
        compared += 1
    assert compared > 60


def test_every_program_of_ours_with_a_hint_at_its_help_has_one() -> None:
    for name in sorted(COMMANDS):
        hint = run(f"{name} --nonsense").stderr
        if f"{name} --help'" in hint:
            told = run(f"{name} --help")
            assert told.exit_code == 0 and told.stdout.startswith(f"Usage: {name} ") and name in USAGES, name


def test_a_help_lists_the_options_that_are_taken() -> None:
    told = run("tee --help").stdout
    assert told.splitlines()[3:] == [
        "  -a, --append",
        "  -i, --ignore-interrupts",
        "  -p, --output-error[=VALUE]",
        "      --help",
        "      --version",
    ]
    assert "  -s, --symbolic" in run("ln --help").stdout and "--max-depth=VALUE" in run("du --help").stdout
    assert "\n   commit\n" in run("git --help").stdout
    assert run("git help log").stderr == "No manual entry for git-log\n"
    assert "-json\n" in run("sqlite3 -help").stdout


def test_history_and_files_hold_what_was_typed() -> None:
    shell = shell_on(machine_of())
    typed = "echo 'sed --version' > check; /usr/bin/sed --version | grep -c sed; f() { grep -V | head -n 1; }; f"
    assert shell.run(typed).stdout == "1\ngrep (GNU grep) 3.8\n"
    assert shell.run("cat check").stdout == "sed --version\n"
    assert typed in shell.run("history").stdout and "_about" not in shell.run("history; declare -f f").screen
    assert shell.run("bash check; type sed").stdout == f"{RELEASES['sed']}\nsed is a shell builtin\n"
    assert shell.run('echo "it is: $(sed --version)"; cat <<E\n$(sed --version)\nsed --version\nE').stdout == (
        f"it is: {RELEASES['sed']}\n{RELEASES['sed']}\nsed --version\n"
    )
    assert (
        shell.run("echo '; sed --version'; echo \\; sed --version # ; sed -V").stdout
        == "; sed --version\n; sed --version\n"
    )


def test_getent_finds_users_groups_and_hosts() -> None:
    files = {
        "/etc/passwd": "root:x:0:0::/root:/bin/bash\nann:x:1000:1000::/home/ann:/bin/bash\n",
        "/etc/hosts": "10.0.0.7 egret db # x\n",
    }
    shell = shell_on(machine_of(files))
    assert shell.run("getent passwd ann").stdout == "ann:x:1000:1000::/home/ann:/bin/bash\n"
    assert shell.run("getent passwd 0 | cut -d: -f1").stdout == "root\n"
    assert shell.run("getent hosts db").stdout == "10.0.0.7        egret db\n"
    missing = shell.run("getent passwd nobody root")
    assert (missing.stdout, missing.exit_code) == ("root:x:0:0::/root:/bin/bash\n", 2)
    assert shell.run("getent nothing x").stderr.startswith("Unknown database: nothing\n")
    assert shell.run("getent group ann").stderr == "getent: /etc/group: No such file or directory\n"
