"""lscpu, lsblk, hostnamectl and dmesg: the virtual machine that all machines of a world are.

The layouts are those of util-linux 2.38 and systemd 252.
"""

from hashlib import sha256

from simtrain.values.clock import instant
from simtrain.worlds.machine.commands.about import BUILD, CORES, KERNEL, booted
from simtrain.worlds.machine.commands.options import parsed
from simtrain.worlds.machine.commands.sizes import human
from simtrain.worlds.machine.invocation import Invocation, Result

MODEL = "QEMU Virtual CPU version 2.5+"
_FIELDS = (
    ("Architecture", "x86_64"),
    ("CPU op-mode(s)", "32-bit, 64-bit"),
    ("Address sizes", "40 bits physical, 48 bits virtual"),
    ("Byte Order", "Little Endian"),
    ("CPU(s)", str(CORES)),
    ("On-line CPU(s) list", ",".join(map(str, range(CORES)))),
    ("Vendor ID", "GenuineIntel"),
    ("Model name", MODEL),
    ("CPU family", "15"),
    ("Model", "107"),
    ("Thread(s) per core", "1"),
    ("Core(s) per socket", str(CORES)),
    ("Socket(s)", "1"),
    ("Stepping", "1"),
    ("BogoMIPS", "4999.99"),
    ("Hypervisor vendor", "KVM"),
    ("Virtualization type", "full"),
    ("NUMA node(s)", "1"),
)
_COLUMNS = {"NAME", "MAJ:MIN", "RM", "SIZE", "RO", "TYPE", "MOUNTPOINTS", "MOUNTPOINT", "FSTYPE"}


def lscpu(call: Invocation) -> Result:
    """Print what processors the machine has."""
    options = parsed(call, "abcCeJpxyBs:", {"json": "J", "parse": "p", "extended": "e"})
    if isinstance(options, Result):
        return options
    return Result("".join(f"{f'{name}:':<25}{value}\n" for name, value in _FIELDS))


def lsblk(call: Invocation) -> Result:
    """Print the disks and what they are mounted on; -f and -o choose columns, -n leaves out the names of them."""
    options = parsed(
        call,
        "abdflmno:prt",
        {"noheadings": "n", "output=": "o", "paths": "p", "list": "l", "fs": "f", "bytes": "b", "nodeps": "d"},
    )
    if isinstance(options, Result):
        return options
    columns = (options.value("o") or "NAME,MAJ:MIN,RM,SIZE,RO,TYPE,MOUNTPOINTS").upper().split(",")
    if options.has("f"):
        columns = ["NAME", "FSTYPE", "MOUNTPOINTS"]
    wrong = next((name for name in columns if name not in _COLUMNS), None)
    if wrong is not None:
        return call.fail(f"unknown column: {wrong.lower()}")
    size = call.files.disk.size
    shown = str(size) if options.has("b") else human(size, 1024)
    mounts = call.read(
        "select path, read_only from mounts where host = :host order by path", {"host": call.machine.name}
    )
    rows: list[dict[str, str]] = []
    for number, path in enumerate([str(row["path"]) for row in mounts] or ["/"]):
        letter, lead = "abcdefgh"[min(number, 7)], "/dev/" if options.has("p") else ""
        # Only the first is as large as `df` says: the others are folders of it that are mounted by themselves.
        common = {"RM": "0", "SIZE": shown, "RO": "0"}
        disk = {"NAME": f"{lead}vd{letter}", "MAJ:MIN": f"254:{16 * number}", "TYPE": "disk", **common}
        branch = "" if options.has("l", "r") else "└─"
        part = {"NAME": f"{branch}{lead}vd{letter}1", "MAJ:MIN": f"254:{16 * number + 1}", "TYPE": "part", **common}
        part |= {"MOUNTPOINTS": path, "MOUNTPOINT": path, "FSTYPE": "ext4"}
        rows += [disk] if options.has("d") else [disk, part]
    table = [[row.get(name, "") for name in columns] for row in rows]
    if not options.has("n"):
        table.insert(0, columns)
    widths = [max(len(row[place]) for row in table) for place in range(len(columns))]
    lines: list[str] = []
    for row in table:
        cells = [
            cell.rjust(max(width, 5 if name == "SIZE" else 0)) if name in ("RM", "SIZE", "RO") else cell.ljust(width)
            for name, cell, width in zip(columns, row, widths, strict=True)
        ]
        # The last column is not filled up.
        lines.append(" ".join([*cells[:-1], cells[-1] if columns[-1] in ("RM", "SIZE", "RO") else row[-1]]))
    return Result("".join(f"{line}\n" for line in lines))


def hostnamectl(call: Invocation) -> Result:
    """Print the name of the machine and what it is."""
    words = [word for word in call.arguments if not word.startswith("-")]
    if words[:1] in (["hostname"], ["set-hostname"]) and len(words) > 1:
        return Result(stderr="Could not set static hostname: Interactive authentication required.\n", exit_code=1)
    if words and words[0] not in ("status", "hostname"):
        return Result(stderr=f"Unknown command verb {words[0]}.\n", exit_code=1)
    name = call.machine.name
    if words[:1] == ["hostname"]:
        return Result(f"{name}\n")
    fields = (
        ("Static hostname", name),
        ("Icon name", "computer-vm"),
        ("Chassis", "vm"),
        ("Machine ID", _number(name, "machine")),
        ("Boot ID", _number(name, str(booted(call)))),
        ("Virtualization", "kvm"),
        ("Operating System", "Debian GNU/Linux 12 (bookworm)"),
        ("Kernel", f"Linux {KERNEL}"),
        ("Architecture", "x86-64"),
        ("Hardware Vendor", "QEMU"),
        ("Hardware Model", "Standard PC _i440FX + PIIX, 1996_"),
    )
    return Result("".join(f"{title:>16}: {text}\n" for title, text in fields))


def _number(*parts: str) -> str:
    return sha256("/".join(parts).encode()).hexdigest()[:32]


def dmesg(call: Invocation) -> Result:
    """Print what the kernel has said: that it was started, and what the journal has of it. Only root may."""
    options = parsed(
        call,
        "CcDdEeHhkLl:Prs:TtuwWx",
        {"ctime": "T", "level=": "l", "notime": "t", "human": "H", "follow": "w", "color=?": "L", "nopager": "P"},
    )
    if isinstance(options, Result):
        return options
    if call.user.uid != 0:
        return call.fail("read kernel buffer failed: Operation not permitted")
    began = booted(call)
    lines = [
        (0.0, f"Linux version {KERNEL} (debian-kernel@lists.debian.org) {BUILD}"),
        (0.0, f"Command line: BOOT_IMAGE=/boot/vmlinuz-{KERNEL} root=/dev/vda1 ro quiet"),
        (0.0, "Hypervisor detected: KVM"),
        (0.412, f"smp: Brought up 1 node, {CORES} CPUs"),
        (1.127, "virtio_blk virtio1: [vda] 4/0/0 default/read/poll queues"),
        (2.308, "EXT4-fs (vda1): mounted filesystem with ordered data mode. Quota mode: none."),
    ]
    sql = "select moment, message from journal where host = :host and unit = 'kernel' order by moment, rowid"
    lines += [
        (instant(row["moment"]) - began, str(row["message"])) for row in call.read(sql, {"host": call.machine.name})
    ]
    return Result("".join(f"{'' if options.has('t') else f'[{max(0.0, at):12.6f}] '}{text}\n" for at, text in lines))
