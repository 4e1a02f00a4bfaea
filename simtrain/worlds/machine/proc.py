"""What `/proc` shows: the processor, memory, time and processes of a machine, made when somebody looks.

The layouts are those of Linux 6.1 (Documentation/filesystems/proc.rst). Nothing of it is in the tables, or a change of the machine.
"""

from collections.abc import Callable
from weakref import ref

from simtrain.worlds.machine.accounts import ROOT
from simtrain.worlds.machine.commands.about import BUILD, CORES, KERNEL, MEMORY, boot_of, memory_of
from simtrain.worlds.machine.commands.hardware import MODEL
from simtrain.worlds.machine.commands.mount import device_of
from simtrain.worlds.machine.commands.process_table import Process, login_shell, processes_of
from simtrain.worlds.machine.jobs import TooEarly
from simtrain.worlds.machine.machine import Machine
from simtrain.worlds.machine.nodes import ComputedNode, TreeNode

_FLAGS = (
    "fpu de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush mmx fxsr sse sse2 syscall nx lm rep_good nopl pni cx16 "
    "hypervisor lahf_lm"
)
_FOLDERS = (
    "/proc",
    "/proc/sys",
    "/proc/sys/kernel",
    "/proc/sys/net",
    "/proc/sys/net/ipv4",
    "/proc/sys/vm",
    "/proc/net",
)
_OF_A_PROCESS = ("cgroup", "cmdline", "comm", "cwd", "environ", "exe", "fd", "root", "stat", "status")


class ProcFiles:
    """The files below `/proc` of a machine."""

    __slots__ = ("_machine",)

    def __init__(self, machine: Machine) -> None:
        self._machine = ref(machine)

    def node(self, path: str) -> TreeNode | None:
        """Return what is at a path below `/proc`; None if there is nothing."""
        machine = self._machine()
        if machine is None:
            return None
        if path in _FOLDERS:
            return _node(machine, "directory", 0o555)
        if path in _FILES:
            return _node(machine, "file", 0o444, content=_FILES[path](machine).encode())
        if path in ("/proc/self", "/proc/mounts"):
            return _node(machine, "link", 0o777, target=str(machine.shell) if path == "/proc/self" else "self/mounts")
        if path == f"/proc/{machine.shell}/mounts":
            return _node(machine, "file", 0o444, content=_mounts(machine).encode())
        number, _, rest = path.removeprefix("/proc/").partition("/")
        found = next((one for one in _processes(machine) if str(one.pid) == number), None)
        return None if found is None else _of_process(machine, found, rest)

    def names(self, path: str) -> frozenset[str]:
        """Return the names in a directory below `/proc`, or in it."""
        machine = self._machine()
        if machine is None:
            return frozenset()
        lead = f"{path}/"
        found = {name.removeprefix(lead) for name in (*_FILES, *_FOLDERS) if name.startswith(lead)}
        if path == "/proc":
            found |= {"self", "mounts", *(str(one.pid) for one in _processes(machine))}
        number, _, rest = path.removeprefix("/proc/").partition("/")
        for one in _processes(machine) if number.isdigit() else ():
            if str(one.pid) == number:
                found |= set(_OF_A_PROCESS if not rest else _descriptors(one) if rest == "fd" else ())
                found |= {"mounts"} if not rest and one.pid == machine.shell else set()
        return frozenset(name for name in found if "/" not in name)


def _processes(machine: Machine) -> list[Process]:
    user = next((user.name for user in machine.users.values() if user.uid >= 1000), "root")
    try:
        found = processes_of(machine)
    except TooEarly:
        # A job whose time for the tables has not come.
        return []
    return [*found, login_shell(machine, user)]


def _node(
    machine: Machine, kind: str, mode: int, *, owner: str = "root", content: bytes = b"", target: str = ""
) -> TreeNode:
    assert kind in ("file", "directory", "link")
    return ComputedNode(kind, mode, owner, owner, machine.moment, content, target)


def _descriptors(process: Process) -> dict[str, str]:
    """Return the open files of a process by number."""
    end = "/dev/pts/0" if process.terminal == "pts/0" else "/dev/null"
    found = {"0": end, "1": end, "2": end}
    return found if process.port is None else {**found, "3": f"socket:[{18_000 + process.pid}]"}


def _of_process(machine: Machine, process: Process, name: str) -> TreeNode | None:
    owner = process.user
    if name in ("", "fd"):
        return _node(machine, "directory", 0o555 if not name else 0o500, owner=owner)
    folder, _, number = name.partition("/")
    if folder == "fd":
        target = _descriptors(process).get(number)
        return None if target is None else _node(machine, "link", 0o700, owner=owner, target=target)
    words = process.command.split(" ")
    program = "bash" if words[0] == "-bash" else process.name
    links = {
        "cwd": machine.users.get(owner, ROOT).home if process.pid == machine.shell else "/",
        "exe": next((word for word in words if word.startswith("/")), f"/usr/bin/{program}"),
        "root": "/",
    }
    if name in links:
        return _node(machine, "link", 0o777, owner=owner, target=links[name])
    session = "user.slice/user-1000.slice/session-1.scope" if process.terminal != "?" else "init.scope"
    if process.service:
        session = f"system.slice/{process.service}.service"
    texts = {
        "cgroup": lambda: f"0::/{session}\n",
        "cmdline": lambda: "".join(f"{word}\0" for word in words),
        "comm": lambda: f"{'systemd' if process.pid == 1 else program}\n",
        "environ": lambda: "",
        "stat": lambda: _stat(machine, process, program),
        "status": lambda: _status(machine, process, program),
    }
    if name not in texts:
        return None
    return _node(machine, "file", 0o400 if name == "environ" else 0o444, owner=owner, content=texts[name]().encode())


def _stat(machine: Machine, process: Process, program: str) -> str:
    ticks = int(process.seconds(machine.moment) * 100)
    started = max(0, int((process.started - boot_of(machine)) * 100))
    # Numbers 3 to 24 of proc(5): state, parents, terminal, faults, times, priority, threads, start, sizes.
    rest = [
        process.state,
        process.parent,
        process.pid,
        process.pid,
        0,
        -1,
        4194560,
        0,
        0,
        0,
        0,
        ticks,
        0,
        0,
        0,
        20,
        0,
        1,
        0,
        started,
    ]
    return (
        " ".join(map(str, [process.pid, f"({program})", *rest, process.memory * 3 * 1024, process.memory // 4])) + "\n"
    )


def _status(machine: Machine, process: Process, program: str) -> str:
    user = machine.users.get(process.user)
    uid, gid = (user.uid, machine.group_number(user.group)) if user else (65534, 65534)
    states = {"R": "running", "S": "sleeping", "D": "disk sleep", "T": "stopped", "Z": "zombie"}
    letter = process.state[:1]
    fields = (
        ("Name", "systemd" if process.pid == 1 else program),
        ("Umask", "0022"),
        ("State", f"{letter} ({states.get(letter, 'sleeping')})"),
        *((name, str(process.pid)) for name in ("Tgid", "Pid")),
        ("PPid", str(process.parent)),
        ("TracerPid", "0"),
        *((name, "\t".join([str(number)] * 4)) for name, number in (("Uid", uid), ("Gid", gid))),
        ("FDSize", "64"),
        *((name, f"{size:>8} kB") for name, size in (("VmPeak", process.memory * 3), ("VmSize", process.memory * 3))),
        *((name, f"{process.memory:>8} kB") for name in ("VmHWM", "VmRSS")),
        ("VmSwap", f"{0:>8} kB"),
        ("Threads", "1"),
    )
    return "".join(f"{name}:\t{value}\n" for name, value in fields)


def _cpuinfo(machine: Machine) -> str:
    def core(number: int) -> str:
        fields = (
            ("processor", str(number)), ("vendor_id", "GenuineIntel"), ("cpu family", "15"), ("model", "107"), ("model name", MODEL),
            ("stepping", "1"), ("microcode", "0x1"), ("cpu MHz", "2499.998"), ("cache size", "16384 KB"), ("physical id", "0"),
            ("siblings", str(CORES)), ("core id", str(number)), ("cpu cores", str(CORES)), ("apicid", str(number)), ("fpu", "yes"),
            ("wp", "yes"), ("flags", _FLAGS), ("bogomips", "4999.99"), ("clflush size", "64"), ("cache_alignment", "64"),
            ("address sizes", "40 bits physical, 48 bits virtual"), ("power management", ""),
        )  # fmt: skip
        lines = (f"{name}{chr(9) * (1 if len(name) > 7 else 2)}: {value}".rstrip(" ") for name, value in fields)
        return "".join(f"{line}\n" for line in lines) + "\n"

    return "".join(map(core, range(CORES)))


def _meminfo(machine: Machine) -> str:
    used, cached = memory_of(machine)
    fields = {
        "MemTotal": MEMORY, "MemFree": MEMORY - used - cached, "MemAvailable": MEMORY - used - cached // 4, "Buffers": cached // 10,
        "Cached": cached - cached // 10, "SwapCached": 0, "Active": used // 2, "Inactive": cached // 2, "SwapTotal": 0, "SwapFree": 0,
        "Dirty": 0, "Writeback": 0, "Shmem": 1_200, "KernelStack": 2_100,
    }  # fmt: skip
    return "".join(f"{f'{name}:':<16}{amount:>8} kB\n" for name, amount in fields.items())


def _load(found: list[Process]) -> float:
    return sum(one.cpu for one in found) / 100


def _loadavg(machine: Machine) -> str:
    found = _processes(machine)
    load = f"{_load(found):.2f}"
    return f"{load} {load} {load} 1/{len(found) + 80} {max((one.pid for one in found), default=1) + 8}\n"


def _uptime(machine: Machine) -> str:
    up = machine.moment - boot_of(machine)
    return f"{up:.2f} {max(0.0, up * (CORES - min(CORES, _load(_processes(machine))))):.2f}\n"


def _mounts(machine: Machine) -> str:
    sql = "select path, read_only from mounts where host = :host order by path"
    rows = machine.records.read(sql, {"host": machine.name})
    lines = [
        f"{device_of(str(row['path']))} {row['path']} ext4 {'ro' if row['read_only'] else 'rw'},relatime 0 0\n"
        for row in rows
    ]
    return "".join(["proc /proc proc rw,nosuid,nodev,noexec,relatime 0 0\n", *lines])


_FILES: dict[str, Callable[[Machine], str]] = {
    "/proc/cmdline": lambda machine: f"BOOT_IMAGE=/boot/vmlinuz-{KERNEL} root=/dev/vda1 ro quiet\n",
    "/proc/cpuinfo": _cpuinfo,
    "/proc/filesystems": lambda machine: "nodev\tsysfs\nnodev\ttmpfs\nnodev\tproc\n\text4\n",
    "/proc/loadavg": _loadavg,
    "/proc/meminfo": _meminfo,
    "/proc/stat": lambda machine: (
        f"btime {int(boot_of(machine))}\nprocesses {machine.shell + 8}\nprocs_running 1\nprocs_blocked 0\n"
    ),
    "/proc/swaps": lambda machine: "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n",
    "/proc/sys/kernel/hostname": lambda machine: f"{machine.name}\n",
    "/proc/sys/kernel/osrelease": lambda machine: f"{KERNEL}\n",
    "/proc/sys/kernel/ostype": lambda machine: "Linux\n",
    "/proc/sys/kernel/pid_max": lambda machine: "4194304\n",
    "/proc/sys/net/ipv4/ip_forward": lambda machine: "0\n",
    "/proc/sys/vm/overcommit_memory": lambda machine: "0\n",
    "/proc/sys/vm/swappiness": lambda machine: "60\n",
    "/proc/uptime": _uptime,
    "/proc/version": lambda machine: (
        f"Linux version {KERNEL} (debian-kernel@lists.debian.org) (gcc-12 (Debian 12.2.0-14) 12.2.0, "
        f"GNU ld (GNU Binutils for Debian) 2.40) {BUILD}\n"
    ),
}
