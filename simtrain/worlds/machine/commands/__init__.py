"""The commands of ours, one file each: what the shell's engine lacks or gets wrong. Adding one is one file and one line in COMMANDS."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module

from simtrain.worlds.machine.invocation import Command

ABSENT = frozenset(
    {
        "assert",
        "busybox",
        "csv",
        "dotenv",
        "glob",
        "http",
        "json",
        "log",
        "retry",
        "semver",
        "template",
        "tomlq",
        "verify",
    }
)
"""What bashkit adds to bash and the usual programs, and no machine has. Its `busybox` prints nothing."""

COMMANDS: dict[str, str] = {
    **dict.fromkeys(sorted(ABSENT), "simtrain.worlds.machine.commands.absent:absent"),
    "sleep": "simtrain.worlds.machine.commands.sleep:sleep",
    "timeout": "simtrain.worlds.machine.commands.timeout:timeout",
    "touch": "simtrain.worlds.machine.commands.touch:touch",
    "whoami": "simtrain.worlds.machine.commands.identity:whoami",
    "id": "simtrain.worlds.machine.commands.identity:identity",
    "groups": "simtrain.worlds.machine.commands.identity:groups",
    "getent": "simtrain.worlds.machine.commands.getent:getent",
    "hostname": "simtrain.worlds.machine.commands.hostname:hostname",
    "chown": "simtrain.worlds.machine.commands.chown:chown",
    "chgrp": "simtrain.worlds.machine.commands.chown:chgrp",
    "sudo": "simtrain.worlds.machine.commands.sudo:sudo",
    "ls": "simtrain.worlds.machine.commands.ls:ls",
    "diff": "simtrain.worlds.machine.commands.diff:diff",
    "sdiff": "simtrain.worlds.machine.commands.diff:sdiff",
    "patch": "simtrain.worlds.machine.commands.patch:patch",
    "timedatectl": "simtrain.worlds.machine.commands.setting_clocks:timedatectl",
    "hwclock": "simtrain.worlds.machine.commands.setting_clocks:hwclock",
    "date": "simtrain.worlds.machine.commands.date:date",
    "stat": "simtrain.worlds.machine.commands.stat:stat",
    "chmod": "simtrain.worlds.machine.commands.chmod:chmod",
    "umask": "simtrain.worlds.machine.commands.chmod:umask",
    "cp": "simtrain.worlds.machine.commands.copying:cp",
    "mv": "simtrain.worlds.machine.commands.copying:mv",
    "install": "simtrain.worlds.machine.commands.copying:install",
    "rm": "simtrain.worlds.machine.commands.removing:rm",
    "rmdir": "simtrain.worlds.machine.commands.removing:rmdir",
    "mkdir": "simtrain.worlds.machine.commands.mkdir:mkdir",
    "tee": "simtrain.worlds.machine.commands.tee:tee",
    "realpath": "simtrain.worlds.machine.commands.realpath:realpath",
    "readlink": "simtrain.worlds.machine.commands.realpath:readlink",
    "du": "simtrain.worlds.machine.commands.du:du",
    "gzip": "simtrain.worlds.machine.commands.compressing:compress",
    "gunzip": "simtrain.worlds.machine.commands.compressing:compress",
    "zcat": "simtrain.worlds.machine.commands.compressing:compress",
    "bzip2": "simtrain.worlds.machine.commands.compressing:compress",
    "bunzip2": "simtrain.worlds.machine.commands.compressing:compress",
    "bzcat": "simtrain.worlds.machine.commands.compressing:compress",
    "xz": "simtrain.worlds.machine.commands.compressing:compress",
    "unxz": "simtrain.worlds.machine.commands.compressing:compress",
    "xzcat": "simtrain.worlds.machine.commands.compressing:compress",
    "zgrep": "simtrain.worlds.machine.commands.compressing:zgrep",
    "git": "simtrain.worlds.machine.commands.git:git",
    "sqlite3": "simtrain.worlds.machine.commands.sqlite:sqlite",
    "tar": "simtrain.worlds.machine.commands.tar:tar",
    "zip": "simtrain.worlds.machine.commands.zip:zip_files",
    "unzip": "simtrain.worlds.machine.commands.zip:unzip",
    "find": "simtrain.worlds.machine.commands.find:find",
    "which": "simtrain.worlds.machine.commands.which:which",
    "df": "simtrain.worlds.machine.commands.df:df",
    "mount": "simtrain.worlds.machine.commands.mount:mount",
    "umount": "simtrain.worlds.machine.commands.mount:umount",
    "mktemp": "simtrain.worlds.machine.commands.chance:mktemp",
    "shuf": "simtrain.worlds.machine.commands.chance:shuf",
    "uuidgen": "simtrain.worlds.machine.commands.chance:uuidgen",
    "uname": "simtrain.worlds.machine.commands.about:uname",
    "uptime": "simtrain.worlds.machine.commands.about:uptime",
    "nproc": "simtrain.worlds.machine.commands.about:nproc",
    "arch": "simtrain.worlds.machine.commands.about:arch",
    "free": "simtrain.worlds.machine.commands.about:free",
    "man": "simtrain.worlds.machine.commands.manuals:man",
    "help": "simtrain.worlds.machine.commands.manuals:help_topic",
    "watch": "simtrain.worlds.machine.commands.manuals:watch",
    "ps": "simtrain.worlds.machine.commands.ps:ps",
    "kill": "simtrain.worlds.machine.commands.kill:kill",
    "pgrep": "simtrain.worlds.machine.commands.kill:pgrep",
    "pkill": "simtrain.worlds.machine.commands.kill:pgrep",
    "killall": "simtrain.worlds.machine.commands.kill:killall",
    "ss": "simtrain.worlds.machine.commands.ports:ss",
    "netstat": "simtrain.worlds.machine.commands.ports:netstat",
    "lsof": "simtrain.worlds.machine.commands.ports:lsof",
    "fuser": "simtrain.worlds.machine.commands.ports:fuser",
    "top": "simtrain.worlds.machine.commands.top:top",
    "systemctl": "simtrain.worlds.machine.commands.systemctl:systemctl",
    "service": "simtrain.worlds.machine.commands.systemctl:service",
    "journalctl": "simtrain.worlds.machine.commands.journal:journalctl",
    "crontab": "simtrain.worlds.machine.commands.crontab:crontab",
    "ssh": "simtrain.worlds.machine.commands.ssh:ssh",
    "scp": "simtrain.worlds.machine.commands.ssh:scp",
    "curl": "simtrain.worlds.machine.commands.curl:curl",
    "wget": "simtrain.worlds.machine.commands.wget:wget",
    "pip": "simtrain.worlds.machine.commands.pip:pip",
    "pip3": "simtrain.worlds.machine.commands.pip:pip",
    "apt": "simtrain.worlds.machine.commands.apt:apt",
    "apt-get": "simtrain.worlds.machine.commands.apt:apt",
    "dpkg": "simtrain.worlds.machine.commands.apt:dpkg",
    "jobs": "simtrain.worlds.machine.commands.jobs:jobs",
    "disown": "simtrain.worlds.machine.commands.jobs:disown",
    "_job_begin": "simtrain.worlds.machine.commands.jobs:job_begin",
    "_job_end": "simtrain.worlds.machine.commands.jobs:job_end",
    "_job_name": "simtrain.worlds.machine.commands.jobs:job_name",
    "_job_wait": "simtrain.worlds.machine.commands.jobs:job_wait",
    "_about": "simtrain.worlds.machine.commands.releases:about",
    "_bash_forks": "simtrain.worlds.machine.forking_scripts:bash_forks",
    "_bash_forking": "simtrain.worlds.machine.forking_scripts:bash_forking",
    "_tail_start": "simtrain.worlds.machine.commands.following:tail_start",
    "_tail_sizes": "simtrain.worlds.machine.commands.following:tail_sizes",
    "_tail_more": "simtrain.worlds.machine.commands.following:tail_more",
    "_printf_with_times": "simtrain.worlds.machine.commands.time_words:printf_with_times",
    "_bash_with_times": "simtrain.worlds.machine.commands.time_words:bash_with_times",
    "_awk_with_times": "simtrain.worlds.machine.commands.time_words:awk_with_times",
    "_jq_with_times": "simtrain.worlds.machine.commands.time_words:jq_with_times",
}
"""Name -> `module:function`; the function is a Command (see `invocation.py`)."""

PYTHON_COMMANDS: dict[str, str] = {
    "python3": "simtrain.worlds.machine.commands.python:python",
    "python3.14": "simtrain.worlds.machine.commands.python:python",
    "pytest": "simtrain.worlds.machine.commands.python:pytest",
    "pytest-3": "simtrain.worlds.machine.commands.python:pytest",
}
"""The same for machines of worlds that have Python."""


@cache
def commands(*, python: bool = False) -> Mapping[str, Command]:
    """Return all commands by name; with `python` those as well that only worlds with Python have."""
    found: dict[str, Command] = {}
    for name, address in (COMMANDS | (PYTHON_COMMANDS if python else {})).items():
        module, _, attribute = address.partition(":")
        found[name] = getattr(import_module(module), attribute)
    return found
