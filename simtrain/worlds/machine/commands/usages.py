"""What our programs print with `--help`: how they are called, what they do, and the options that they take."""

from collections.abc import Mapping

USAGES: dict[str, tuple[str, str]] = {
    "apt": ("[OPTION]... COMMAND [PACKAGE]...", "Install, remove and look up packages: update, install, remove, list, search, show."),
    "apt-get": ("[OPTION]... COMMAND [PACKAGE]...", "Install and remove packages: update, install, remove, upgrade."),
    "bc": ("[OPTION]... [FILE]...", "Reckon what each FILE says, then standard input; -l knows s, c, a, l, e and j."),
    "bunzip2": ("[OPTION]... [FILE]...", "Decompress files in the bzip2 format."),
    "bzcat": ("[FILE]...", "Decompress files in the bzip2 format to standard output."),
    "bzip2": ("[OPTION]... [FILE]...", "Compress files in the bzip2 format."),
    "chgrp": ("[OPTION]... GROUP FILE...", "Change the group of each FILE; -R: of all below it."),
    "chmod": ("[OPTION]... MODE[,MODE]... FILE...", "Change the mode of each FILE; MODE is octal, or such as u+x,go-w."),
    "chown": ("[OPTION]... [OWNER][:[GROUP]] FILE...", "Change the owner and group of each FILE; -R: of all below it."),
    "cp": ("[OPTION]... SOURCE DEST\n  or:  cp [OPTION]... SOURCE... DIRECTORY", "Copy SOURCE to DEST, or each SOURCE into DIRECTORY."),
    "crontab": ("[-u USER] [FILE | -l | -r]", "Install, list or remove the table of a user's jobs."),
    "csplit": ("[OPTION]... FILE PATTERN...", "Cut FILE at lines: NUMBER, /REGEXP/[OFFSET], %REGEXP%[OFFSET]; {N} and {*} repeat one."),
    "curl": ("[OPTION]... URL...", "Fetch what is at each URL, or send something there: -o, -O, -s, -f, -i, -L, -X, -H, -d."),
    "date": ("[OPTION]... [+FORMAT]", "Print the time in a FORMAT, or set it with -s."),
    "dd": ("[OPERAND]...", "Copy a file in blocks: if=FILE of=FILE bs=BYTES count=N skip=N seek=N conv=CONVS status=LEVEL."),
    "df": ("[OPTION]... [FILE]...", "Print how much space there is on the disks, or on those of each FILE."),
    "diff": ("[OPTION]... FILES", "Compare FILES line by line."),
    "dmesg": ("[OPTION]...", "Print what the kernel has said."),
    "dpkg": ("[OPTION]... ACTION", "Look packages up: -l lists them, -s shows one, -L lists its files."),
    "du": ("[OPTION]... [FILE]...", "Print the space that each FILE takes, directories with all that is in them."),
    "file": ("[OPTION...] [FILE...]", "Print what kind of file each FILE is: -b without its name, -i as a MIME type, -L behind links."),
    "expr": ("EXPRESSION", "Print the value of EXPRESSION: | & < <= = != >= > + - * / % : match substr index length ( )."),
    "find": ("[-L] [PATH]... [EXPRESSION]", "Search below each PATH for files: -name, -type, -size, -mtime, -exec, -delete and others."),
    "free": ("[OPTION]...", "Print how much memory is used and free."),
    "fuser": ("[OPTION]... NAME...", "Print which processes use a port, such as 80/tcp."),
    "getent": ("DATABASE [KEY]...", "Print entries of passwd, group or hosts."),
    "gunzip": ("[OPTION]... [FILE]...", "Decompress files in the gzip format."),
    "gzip": ("[OPTION]... [FILE]...", "Compress files in the gzip format."),
    "head": ("[OPTION]... [FILE]...", "Print the first 10 lines of each FILE; -n N: N lines, -c N: N bytes, -n -N: all but the last."),
    "hwclock": ("[FUNCTION] [OPTION]...", "Show or set the clock of the hardware."),
    "install": ("[OPTION]... SOURCE DEST\n  or:  install [OPTION]... -d DIRECTORY...", "Copy files and set their modes and owners."),
    "journalctl": ("[OPTION]... [MATCH]...", "Print what services and the kernel have logged."),
    "killall": ("[OPTION]... NAME...", "Send a signal to all processes of a NAME."),
    "last": ("[OPTION]... [NAME]...", "Print the latest logins and starts of the machine."),
    "ls": ("[OPTION]... [FILE]...", "List information about each FILE (by default of the current directory), sorted by name."),
    "lsblk": ("[OPTION]...", "List the disks and what they are mounted on."),
    "lscpu": ("[OPTION]...", "Print what processors the machine has."),
    "lsof": ("[OPTION]... [NAME]...", "List open files: of the network, with -i."),
    "mkdir": ("[OPTION]... DIRECTORY...", "Make each DIRECTORY that is not there yet."),
    "mktemp": ("[OPTION]... [TEMPLATE]", "Make a temporary file or directory, and print its name. TEMPLATE ends in at least three X."),
    "mount": ("[OPTION]... [DEVICE] [DIRECTORY]", "Mount a file system, or list those that are mounted."),
    "mv": ("[OPTION]... SOURCE DEST\n  or:  mv [OPTION]... SOURCE... DIRECTORY", "Rename SOURCE to DEST, or move SOURCE into DIRECTORY."),
    "netstat": ("[OPTION]...", "Print the sockets of the network."),
    "patch": ("[OPTION]... [ORIGFILE [PATCHFILE]]", "Apply a diff to files."),
    "pgrep": ("[OPTION]... PATTERN", "Print the numbers of the processes whose name matches PATTERN."),
    "pkill": ("[OPTION]... PATTERN", "Send a signal to the processes whose name matches PATTERN."),
    "ps": ("[OPTION]...", "Print the processes: by default those of the terminal; with aux or -ef, all."),
    "readlink": ("[OPTION]... FILE...", "Print where a link leads, or the name of a file without links."),
    "realpath": ("[OPTION]... FILE...", "Print the absolute name of each FILE, without links."),
    "rm": ("[OPTION]... [FILE]...", "Remove each FILE; directories with -r."),
    "rmdir": ("[OPTION]... DIRECTORY...", "Remove each DIRECTORY that is empty."),
    "sdiff": ("[OPTION]... FILE1 FILE2", "Print two files side by side."),
    "shuf": ("[OPTION]... [FILE]", "Print the lines of a file in an order of chance."),
    "sleep": ("NUMBER[SUFFIX]...", "Wait for so many seconds; SUFFIX is s, m, h or d."),
    "split": ("[OPTION]... [FILE [PREFIX]]", "Write pieces of FILE, by default of 1000 lines, to PREFIXaa, PREFIXab and so on."),
    "ss": ("[OPTION]...", "Print the sockets of the network."),
    "stat": ("[OPTION]... FILE...", "Print what is known of each FILE: size, mode, owner, times."),
    "sudo": ("[-u USER] [COMMAND [ARGUMENT]...]", "Run a command as another user, by default as root."),
    "systemctl": ("[OPTION]... COMMAND [UNIT]...", "Ask and steer services: status, start, stop, restart, reload, enable, disable, cat."),
    "tar": ("[OPTION]... [FILE]...", "Keep many files in one archive: -c makes it, -t lists it, -x unpacks it; -f names it."),
    "tee": ("[OPTION]... [FILE]...", "Write what is read to each FILE, and to standard output."),
    "timedatectl": ("[COMMAND]", "Show or set the time, the time zone, and whether the time is kept by the network."),
    "timeout": ("[OPTION]... DURATION COMMAND [ARGUMENT]...", "Run a command, and end it if it still runs after DURATION."),
    "top": ("[OPTION]...", "Print the processes that use most; with -b as text."),
    "touch": ("[OPTION]... FILE...", "Set the times of each FILE to now, and make those that are not there: -a, -c, -d, -h, -m, -r, -t."),
    "umount": ("[OPTION]... DIRECTORY...", "Unmount file systems."),
    "uname": ("[OPTION]...", "Print the name of the system, and more of it with -a."),
    "unxz": ("[OPTION]... [FILE]...", "Decompress files in the xz format."),
    "unzip": ("[OPTION]... FILE[.zip] [MEMBER]... [-d DIRECTORY]", "List, test and unpack zip archives."),
    "w": ("[OPTION]... [USER]", "Print who is logged in, and what they do."),
    "wget": ("[OPTION]... [URL]...", "Fetch what is at each URL into a file."),
    "who": ("[OPTION]...", "Print who is logged in."),
    "xz": ("[OPTION]... [FILE]...", "Compress files in the xz format."),
    "xzcat": ("[FILE]...", "Decompress files in the xz format to standard output."),
    "yes": ("[STRING]...", "Print a line with each STRING, or y, again and again."),
    "zcat": ("[FILE]...", "Decompress files in the gzip format to standard output."),
    "zip": ("[OPTION]... ARCHIVE [FILE]...", "Put files into a zip archive."),
}  # fmt: skip
"""Name of a program -> the words that it takes, and what it does."""


def help_text(name: str, short: str = "", long: Mapping[str, str] | None = None) -> str | None:
    """Return what a program prints with `--help`; None for one that is not listed. `short` and `long` are as for `parsed`."""
    if name not in USAGES:
        return None
    words, does = USAGES[name]
    letters = [letter for letter in short if letter != ":"]
    lines: list[tuple[str, str]] = []
    for written, letter in (long or {}).items():
        value = "[=VALUE]" if written.endswith("=?") else "=VALUE" if written.endswith("=") else ""
        first = f"-{letter}, " if letter in letters else "    "
        lines.append((letter, f"  {first}--{written.rstrip('=?')}{value}"))
    named = set((long or {}).values())
    for letter in letters:
        if letter not in named:
            at = short.find(letter)
            lines.append((letter, f"  -{letter}{' VALUE' if short[at + 1 : at + 2] == ':' else ''}"))
    told = "".join(f"{line}\n" for _, line in sorted(lines, key=lambda line: (line[0].lower(), line)))
    return f"Usage: {name} {words}\n{does}\n\n{told}      --help\n      --version\n"
