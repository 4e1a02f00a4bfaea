"""What programs say of themselves with `--version`: those of Debian 12. The engine's own would name the engine.

A program of the engine cannot be replaced, so a script that asks one is given a command of ours in its place (`with_answers`).
"""

import re

from simtrain.worlds.machine.commands import COMMANDS
from simtrain.worlds.machine.commands.instead import QUOTED, as_called
from simtrain.worlds.machine.commands.usages import help_text
from simtrain.worlds.machine.invocation import Invocation, Result

ABOUT = "_about"

_FAMILIES = {
    "{name} (GNU coreutils) 9.1": (
        "arch b2sum base32 base64 basename basenc cat chgrp chmod chown cksum comm cp csplit cut date df dirname du env expand expr "
        "factor fmt fold groups head hostid id install join link ln logname ls md5sum mkdir mkfifo mktemp mv nice nl nohup nproc "
        "numfmt od paste pr printenv readlink realpath rm rmdir seq sha1sum sha224sum sha256sum sha384sum sha512sum shuf sleep sort "
        "split stat sum sync tac tail tee timeout touch tr truncate tsort tty uname unexpand uniq unlink users wc who whoami yes"
    ),
    "dd (coreutils) 9.1": "dd",
    "GNU bash, version 5.2.15(1)-release (x86_64-pc-linux-gnu)": "bash sh",
    "GNU Awk 5.2.1, API 3.2": "awk gawk mawk nawk",
    "grep (GNU grep) 3.8": "grep egrep fgrep",
    "sed (GNU sed) 4.9": "sed",
    "{name} (GNU findutils) 4.9.0": "find xargs",
    "{name} (GNU diffutils) 3.8": "cmp diff sdiff",
    "tar (GNU tar) 1.34": "tar",
    "GNU patch 2.7.6": "patch",
    "gzip 1.12": "gzip",
    "{name} (gzip) 1.12": "gunzip zcat zgrep",
    "xz (XZ Utils) 5.4.1\nliblzma 5.4.1": "xz unxz xzcat",
    "{name} from util-linux 2.38.1": "column dmesg flock hexdump hwclock last lsblk lscpu more mount rev umount",
    "{name} from procps-ng 4.0.2": "free kill pgrep pkill ps top uptime w watch",
    "systemd 252 (252.38-1~deb12u1)": "hostnamectl journalctl systemctl timedatectl",
    "{name} (Debian GLIBC 2.36-9+deb12u14) 2.36": "getconf getent iconv locale",
    "envsubst (GNU gettext-runtime) 0.21": "envsubst",
    "GNU strings (GNU Binutils for Debian) 2.40": "strings",
    "less 590 (GNU regular expressions)": "less",
    "file-5.44\nmagic file from /etc/magic:/usr/share/misc/magic": "file",
    "bc 1.07.1": "bc",
    "Zip 3.0 (July 5th 2008), by Info-ZIP.": "zip",
    "UnZip 6.00 of 20 April 2009, by Debian. Original by Info-ZIP.": "unzip",
    "--version": "echo",
    "bzip2, a block-sorting file compressor.  Version 1.0.8, 13-Jul-2019.": "bzip2 bunzip2 bzcat",
    "{name} (PSmisc) 23.6": "fuser killall pstree",
    "VIM - Vi IMproved 9.0 (2022 Jun 28)": "vi",
    " GNU nano, version 7.2": "nano",
    "tree v2.1.0": "tree",
    "ss utility, iproute2-6.1.0": "ss",
    "net-tools 2.10": "ifconfig netstat",
    "hostname 3.23": "hostname",
    "GNU Wget 1.21.3 built on linux-gnu.": "wget",
    "apt 2.6.1 (amd64)": "apt apt-get",
    "Debian 'dpkg' package management program version 1.21.22 (amd64).": "dpkg",
    "Sudo version 1.9.13p3": "sudo",
    "GNU parallel 20221122": "parallel",
    "ripgrep 13.0.0": "rg",
    "yq 3.1.0": "yq",
    "6.02": "shasum",
    "GNU Make 4.3\nBuilt for x86_64-pc-linux-gnu": "make",
}
RELEASES = {name: text.format(name=name) for text, names in _FAMILIES.items() for name in names.split()}
"""Name of a program -> what `--version` prints first; the lines about copyright are left out."""
_ALSO = {
    **dict.fromkeys(
        ("awk", "gawk", "egrep", "fgrep", "grep", "less", "gzip", "gunzip", "xz", "unxz", "sudo", "wget", "ss", "free"),
        "-V",
    ),
    **dict.fromkeys(
        (
            "netstat",
            "hostname",
            "pgrep",
            "pkill",
            "ps",
            "uptime",
            "column",
            "hexdump",
            "mount",
            "umount",
            "rev",
            "w",
            "pstree",
        ),
        "-V",
    ),
    **dict.fromkeys(("file", "make", "diff", "patch", "sdiff", "cmp"), "-v"),
}
"""Name of a program -> a short option that asks the same."""
HELPS = {
    **dict.fromkeys(
        ("bash", "sh"),
        "GNU bash, version 5.2.15(1)-release-(x86_64-pc-linux-gnu)\n"
        "Usage:\tbash [GNU long option] [option] ...\n\tbash [GNU long option] [option] script-file ...\n"
        "Shell options:\n\t-c command, -s, -i or -O shopt_option\t(invocation only)\n\t-enuvx or -o option\n",
    ),
    "echo": "--help\n",
    "less": "Usage: less [FILE]...\nShow files a screen at a time. SPACE goes on, b goes back, / searches, q ends.\n",
    "more": "Usage: more [FILE]...\nShow files a screen at a time.\n",
}
"""What programs of the engine print with `--help` whose own words tell of the engine."""
_WITHOUT_TABLE = frozenset(
    {"getent", "ps", "sleep", "sudo", "chgrp", "chown", "curl", "dpkg", "find", "killall", "timeout", "touch"}
)
"""Programs of ours that read their options by themselves."""
_ASKED = re.compile(
    QUOTED + r"""(?P<lead>(?:^|[;&|({!\n]|\b(?:if|then|do|else|elif|while|until)\b)[ \t]*)"""
    r"""(?P<path>(?:/usr/bin/|/bin/)?)(?P<name>\w+)[ \t]+(?P<option>--version|--help|-[Vv])(?=[ \t]*(?:$|[;&|)<>\n]|\d>))""",
    re.DOTALL,
)
# What else of the engine may come to light.
_RELEASE = re.compile(
    r"\bGNU Awk [\d.]+ \(bashkit\)|\b(\w+) \(bashkit\) [\d.]+|\bBashkit [\d.]+ \(virtual (?:ba)?sh interpreter\)"
)
_OWN_LINES = re.compile(
    r"^\s*Bashkit (?:commands|loop iterations|work units): \d+\n|^This is the bashkit sandboxed subset;[^\n]*\n|"
    r"^Virtual shell interpreter \(not GNU bash\)\n|^Inside a bashkit::terminal::Terminal session,[^\n]*\n",
    re.MULTILINE,
)

_ASKS = re.compile(r"--version|--help|\s-[Vv]\b")
_TYPED = re.compile(rf"\b{ABOUT} ([\w/]+ --?\w+)")

# The last part of `BASH_VERSINFO`.
_MACHINE = re.compile(r'(\b1"? (?:\[4\]=")?release"? (?:\[5\]=")?)virtual\b')


def answer(name: str, option: str) -> str | None:
    """Return what a program prints for one option that asks what it is; None for another option, or program."""
    if option == "--help":
        return HELPS.get(name) or (help_text(name) if name in _WITHOUT_TABLE else None)
    if name in RELEASES and (option == "--version" or option == _ALSO.get(name)):
        return f"{RELEASES[name]}\n"
    return None


def with_answers(script: str) -> str:
    """Return a script in which a command of ours stands for each program of the engine that it asks what it is.

    What is quoted is left as it is, and so is a script with a heredoc: `without_engine` finds what they print.
    """
    if "<<" in script or not _ASKS.search(script):
        return script

    def put(found: re.Match[str]) -> str:
        name, option = found["name"], found["option"]
        if name is None or name in COMMANDS or answer(name, option) is None:
            return found[0]
        return f"{found['lead']}{ABOUT} {found['path']}{name} {option}"

    return _ASKED.sub(put, script)


def as_typed(text: str) -> str:
    """Return output, such as that of `history`, in which scripts are as they were typed."""
    return as_called(_TYPED.sub(r"\1", text) if ABOUT in text else text)


def about(call: Invocation) -> Result:
    """Print what a program says of itself."""
    path, option = call.arguments
    return Result(answer(path.rpartition("/")[2], option) or "")


def without_engine(text: str) -> str:
    """Return output in which a program of the engine that was asked otherwise, by `xargs` or in a file, names the engine no more."""
    if "virtual" in text:
        text = _MACHINE.sub(r"\1x86_64-pc-linux-gnu", text)
    if "ashkit" not in text and "Virtual shell" not in text:
        return text

    def put(found: re.Match[str]) -> str:
        name = found[1] or ("gawk" if "Awk" in found[0] else "bash")
        return RELEASES.get(name, name)

    text = _OWN_LINES.sub("", _RELEASE.sub(put, text))
    return text.replace("with Bashkit's jq-compatible expression engine", "with the expressions of jq")
