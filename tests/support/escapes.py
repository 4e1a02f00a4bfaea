"""Attempts to get out of a sandbox: small programs, each with a way to the host or to the next run.

A program may fail in any way. What counts is checked outside: the canary's secret does not show, nothing on the host changed, no
connection came in, no process stayed, and the next run finds what the first one found. Marks are written in two pieces, since a
traceback shows the line of the program.
"""

from __future__ import annotations

READ = "print(open({path!r}, 'rb').read()[:4000])"

HOST_FILES = {
    "the canary by its path": "print(open(CANARY).read())",
    "the canary as bytes": "print(open(CANARY.encode(), 'rb').read())",
    "the canary by os.open": "import os; print(os.read(os.open(CANARY, os.O_RDONLY), 4000))",
    "the canary by pathlib": "import pathlib; print(pathlib.Path(CANARY).read_text())",
    "up from the working folder": "print(open('../' * 40 + CANARY.lstrip('/')).read())",
    "up from the root": "print(open('/../../../../..' + CANARY).read())",
    "up from the library": "print(open('/usr/lib/python3.14/../../../../../..' + CANARY).read())",
    "up from the packages": "print(open('/usr/lib/python3/dist-packages/../../../../../../../..' + CANARY).read())",
    "dots with slashes": "print(open('/.//..//./..//' + CANARY).read())",
    "a link to the canary": "import os; os.symlink(CANARY, 'l'); print(open('l').read())",
    "a relative link": "import os; os.symlink('../' * 40 + CANARY[1:], 'l'); print(open('l').read())",
    "a link to the root": "import os; os.symlink('/', 'r'); print(open('r' + CANARY).read())",
    "a link to the parent": "import os; os.symlink('../../..', 'p'); print(os.listdir('p/..'), open('p' + CANARY).read())",
    "a chain of links": "import os; os.symlink('..', 'a'); os.symlink('a/..', 'b'); os.symlink('b/..', 'c'); print(open('c' + CANARY).read())",
    "a link out of tmp": "import os; os.symlink('/tmp/../..', '/tmp/x'); print(open('/tmp/x' + CANARY).read())",
    "a hard link": "import os; os.link(CANARY, 'h'); print(open('h').read())",
    "a link moved over a folder": (
        "import os; os.mkdir('d'); fd = os.open('d', os.O_RDONLY); os.rename('d', 'e'); os.symlink('/', 'd'); print(open('d' + CANARY).read())"
    ),
    "a descriptor and dots": "import os; fd = os.open('/', os.O_RDONLY); print(os.open('../..' + CANARY, os.O_RDONLY, dir_fd=fd))",
    "chdir upwards": "import os; [os.chdir('..') for _ in range(60)]; print(open(CANARY[1:]).read())",
    "chroot": "import os; os.chroot('..'); print(open(CANARY).read())",
    "the environment's home": "print(open(HOST_HOME + '/.bashrc').read(), open(HOST_HOME + '/.profile').read())",
    "shadow": "print('SEC' + 'RET' if ':' in open('/etc/shadow').read() else '')",
    "the kernel's log": "print('SEC' + 'RET' + open('/dev/kmsg').readline())",
    "the disk": "import os; print('SEC' + 'RET', os.read(os.open('/dev/vda', os.O_RDONLY), 16))",
    "memory": "import os; print('SEC' + 'RET', os.pread(os.open('/dev/mem', os.O_RDONLY), 16, 0))",
    "inherited descriptors": (
        "import os\nfor fd in range(3, 200):\n    try:\n        print(fd, os.read(fd, 4000), os.lseek(fd, 0, 0), os.read(fd, 4000))\n    except OSError:\n        pass"
    ),
    "a walk over everything": (
        "import os\nfor folder, _, files in os.walk('/'):\n    if folder.startswith(('/proc', '/sys', '/usr')):\n        continue\n"
        "    for name in files:\n        try:\n            print(open(os.path.join(folder, name), 'rb').read(3000)) if os.path.isfile(os.path.join(folder, name)) else 0\n        except OSError:\n            pass"
    ),
    "a glob": "import glob; print([open(one).read() for one in glob.glob(CANARY[:-3] + '*')])",
    "a file URL": "import urllib.request; print(urllib.request.urlopen('file://' + CANARY).read())",
    "shutil": "import shutil; shutil.copy(CANARY, 'c'); print(open('c').read())",
    "a zip of the host": "import zipfile; zipfile.ZipFile('z', 'w').write(CANARY); print(zipfile.ZipFile('z').read(CANARY[1:]))",
    "a tar that climbs": (
        "import io, tarfile\nt = tarfile.open('t', 'w'); i = tarfile.TarInfo('../' * 30 + CANARY[1:]); i.size = 3; t.addfile(i, io.BytesIO(b'bad')); t.close()\n"
        "tarfile.open('t').extractall('/w', filter='fully_trusted')"
    ),
    "an archive with a link": (
        "import tarfile\nt = tarfile.open('t', 'w'); i = tarfile.TarInfo('x'); i.type = tarfile.SYMTYPE; i.linkname = CANARY; t.addfile(i); t.close()\n"
        "tarfile.open('t').extractall('/w', filter='fully_trusted'); print(open('/w/x').read())"
    ),
    "importing the canary": "import importlib.util as u; s = u.spec_from_file_location('c', CANARY); m = u.module_from_spec(s); s.loader.exec_module(m)",
    "linecache": "import linecache; print(linecache.getlines(CANARY))",
    "sqlite": "import sqlite3; print(sqlite3.connect(CANARY).execute('select 1 from sqlite_master').fetchall())",
    "attached by sqlite": "import sqlite3; c = sqlite3.connect(':memory:'); c.execute('attach ? as x', (CANARY + '.db',)); c.execute('create table x.t (a)'); c.commit()",
}

WRITES = {
    "over the canary": "open(CANARY, 'w').write('bad')",
    "beside the canary": "open(CANARY + '.new', 'w').write('bad')",
    "removing the canary": "import os; os.remove(CANARY)",
    "moving the canary": "import os; os.rename(CANARY, CANARY + '.moved')",
    "cutting the canary": "import os; os.truncate(CANARY, 0)",
    "touching the canary": "import os; os.utime(CANARY, (1, 1))",
    "its mode": "import os; os.chmod(CANARY, 0o777)",
    "a folder on the host": "import os; os.makedirs(CANARY + '.d/x')",
    "over it by a link": "import os; os.symlink(CANARY, 'l'); open('l', 'w').write('bad')",
    "a tree beside it": "import shutil; shutil.copytree('/w', CANARY + '.tree')",
    "the library": "open('/usr/lib/python3.14/json/__init__.py', 'a').write('\\nraise SystemExit(77)\\n')",
    "a new module in the library": "open('/usr/lib/python3.14/sitecustomize.py', 'w').write('print(77)')",
    "byte code in the library": (
        "import os; os.makedirs('/usr/lib/python3.14/__pycache__', exist_ok=True); open('/usr/lib/python3.14/__pycache__/json.cpython-314.pyc', 'wb').write(b'x')"
    ),
    "the packages": "open('/usr/lib/python3/dist-packages/pytest/__init__.py', 'a').write('\\nraise SystemExit(77)\\n')",
    "a plug-in of pytest": "open('/usr/lib/python3/dist-packages/pytest_bad.py', 'w').write('raise SystemExit(77)')",
    "removing the library": "import shutil; shutil.rmtree('/usr/lib/python3.14')",
    "moving the library": "import os; os.rename('/usr/lib/python3.14', '/tmp/gone')",
    "everything": "import shutil; shutil.rmtree('/', ignore_errors=True)",
    "/dev/null": "import os; os.remove('/dev/null'); os.mkdir('/dev/null')",
}

PROCESSES = {
    "os.system": "import os; os.system('cat ' + CANARY + '; touch ' + CANARY + '.new')",
    "subprocess": "import subprocess; print(subprocess.run(['cat', CANARY], capture_output=True))",
    "a shell": "import subprocess; print(subprocess.getoutput('cat ' + CANARY))",
    "popen": "import os; print(os.popen('cat ' + CANARY).read())",
    "exec": "import os; os.execv('/bin/cat', ['cat', CANARY])",
    "spawn": "import os; os.spawnv(os.P_WAIT, '/bin/cat', ['cat', CANARY])",
    "posix_spawn": "import os; os.posix_spawn('/bin/cat', ['cat', CANARY], {})",
    "fork": "import os, time\nif os.fork() == 0:\n    time.sleep(3600)",
    "a daemon": "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(3600)",
    "forks without end": "import os\nwhile True:\n    os.fork()",
    "multiprocessing": "import multiprocessing as m; p = m.Process(target=print, args=('x',)); p.start(); p.join()",
    "a thread": "import threading; t = threading.Thread(target=lambda: print(open(CANARY).read())); t.start(); t.join()",
    "threads without end": "import threading, time\nwhile True:\n    threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()",
    "killing the parent": "import os, signal; os.kill(os.getppid(), signal.SIGKILL)",
    "killing the warm process": "import os, signal; os.kill(WARM, signal.SIGKILL)",
    "killing everything": "import os, signal; os.kill(-1, signal.SIGKILL)",
    "killing its group": "import os, signal; os.killpg(0, signal.SIGKILL)",
    "ignoring signals": "import signal\nfor one in range(1, 64):\n    try:\n        signal.signal(one, signal.SIG_IGN)\n    except Exception:\n        pass\nwhile True:\n    pass",
    "tracing the warm process": "import ctypes; print(ctypes.CDLL(None).ptrace(16, WARM, 0, 0))",
    "the memory of the warm process": "print('SEC' + 'RET', open(f'/proc/{WARM}/mem', 'rb').read(10))",
}

KERNEL = {
    "the environment of init": "print(open('/proc/1/environ').read())",
    "the environment of the warm process": "print('SEC' + 'RET' if open(f'/proc/{WARM}/environ').read() else '')",
    "its own environment": "import os; print(dict(os.environ), open('/proc/self/environ').read())",
    "its root by /proc": "print(open('/proc/self/root' + CANARY).read())",
    "another root by /proc": "print(open(f'/proc/{WARM}/root' + CANARY).read())",
    "its folder by /proc": "print(open('/proc/self/cwd/../../../../..' + CANARY).read())",
    "mounts": "import os; m = open('/proc/self/mountinfo').read(); print([open(w + CANARY).read() for w in set(m.split()) if w.startswith('/')])",
    "kernel settings": "open('/proc/sys/kernel/core_pattern', 'w').write('|/bin/true')",
    "sysrq": "open('/proc/sysrq-trigger', 'w').write('h')",
    "control groups": "import os; os.mkdir('/sys/fs/cgroup/simtrain'); print('SEC' + 'RET' if os.path.exists('/sys/fs/cgroup/cgroup.procs') else '')",
    "ctypes": "import ctypes; print(ctypes.CDLL(None).system(b'touch ' + CANARY.encode() + b'.new'))",
    "a foreign library": "import sys; sys.path.insert(0, '/w'); open('/w/x.so', 'wb').write(b'\\x7fELF'); import x",
    "a forged code object": "f = lambda: 0; f.__code__ = f.__code__.replace(co_code=bytes([100, 255] * 40), co_stacksize=1000); f()",
    "wasi by name": "import componentize_py_runtime as r; print(dir(r)); r.call_import(0, None, 0, [], 0)",
}

NETWORK = {
    "TCP": "import socket; socket.create_connection(('127.0.0.1', PORT), 3).sendall(b'hello')",
    "TCP by name": "import socket; socket.create_connection(('localhost', PORT), 3).sendall(b'hello')",
    "TCP over v6": "import socket; socket.create_connection(('::1', PORT), 3).sendall(b'hello')",
    "UDP": "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'hello', ('127.0.0.1', PORT))",
    "listening": "import socket; s = socket.socket(); s.bind(('127.0.0.1', PORT + 1)); s.listen(); print('LIST' + 'ENING')",
    "HTTP": "import urllib.request; print(urllib.request.urlopen(f'http://127.0.0.1:{PORT}/', timeout=3).read())",
    "names": "import socket; print(socket.getaddrinfo('localhost', 80)); socket.gethostbyname('example.com')",
    "a socket in the file system": "import socket; s = socket.socket(socket.AF_UNIX); s.connect('/run/docker.sock')",
    "the control socket": "import socket\nfor fd in range(3, 100):\n    try:\n        socket.socket(fileno=fd).sendall(b'r')\n    except OSError:\n        pass",
    "asyncio": "import asyncio; asyncio.run(asyncio.open_connection('127.0.0.1', PORT))",
    "mail": "import smtplib; smtplib.SMTP('127.0.0.1', PORT, timeout=3)",
}

FLOODS = {
    "memory in one piece": "x = bytearray(8 << 30); print('SEC' + 'RET', len(x))",
    "memory bit by bit": "x = []\nwhile True:\n    x.append(bytearray(1 << 20))",
    "a big number": "x = 9 ** 9 ** 9",
    "recursion": "def f(): return f()\nf()",
    "deep recursion": "import sys; sys.setrecursionlimit(10 ** 9)\ndef f(): return f()\nf()",
    "a nested expression": "eval('(' * 100000 + ')' * 100000)",
    "an endless loop": "while True: pass",
    "a loop that catches everything": "while True:\n    try:\n        while True: pass\n    except BaseException:\n        pass",
    "a regular expression": "import re; re.match('(a+)+$', 'a' * 64 + 'b')",
    "sleep": "import time; time.sleep(10 ** 6)",
    "a real sleep": "import select; select.select([], [], [], 10 ** 4)",
    "a lock that never opens": "import threading; l = threading.Lock(); l.acquire(); l.acquire()",
    "stdout": "import sys\nwhile True: sys.stdout.write('x' * 100000)",
    "stderr": "import sys\nwhile True: sys.stderr.write('x' * 100000)",
    "output by descriptor": "import os\nwhile True: os.write(1, b'x' * 100000)",
    "output that ignores errors": "import os\nwhile True:\n    try:\n        os.write(1, b'x' * 100000)\n    except BaseException:\n        pass",
    "one big file": "f = open('big', 'wb')\nwhile True: f.write(b'x' * (1 << 20))",
    "a sparse file": "import os; f = os.open('sparse', os.O_CREAT | os.O_WRONLY); os.ftruncate(f, 1 << 40); os.pwrite(f, b'x', (1 << 40) - 1)",
    "many files": "n = 0\nwhile True:\n    open(f'f{n}', 'w').write('x' * 5000); n += 1",
    "many empty files": "n = 0\nwhile True:\n    open(f'f{n}', 'w').close(); n += 1",
    "many folders": "import os\nn = 0\nwhile True:\n    os.makedirs(f'd{n}/a/b/c'); n += 1",
    "a deep folder": "import os\nwhile True:\n    os.mkdir('d'); os.chdir('d')",
    "many descriptors": "x = []\nwhile True: x.append(open('/w/a.txt'))",
    "files that are gone": "import os\nx = []\nfor n in range(200):\n    f = open('g', 'wb'); os.remove('g'); f.write(b'x' * (8 << 20)); x.append(f)",
    "a zip bomb": "import zlib; d = zlib.compress(b'0' * (64 << 20)); [zlib.decompress(d) for _ in range(10 ** 6)]",
    "exit functions": "import atexit\ndef again():\n    atexit.register(again)\nagain()",
}

POISON = {
    "builtins": "import builtins; builtins.print = lambda *a: None; builtins.open = None",
    "a module": "import json; json.loads = lambda x: 'poisoned'",
    "sys.modules": "import sys; sys.modules['json'] = None",
    "the clock": "import time, posix; time.time = lambda: 0; posix.stat = None",
    "random": "import random; random.seed(1); random.random = lambda: 0.5",
    "the exit": "import os; os._exit(0)",
    "a crash": "import os; os.abort()",
    "left files": "open('/tmp/left', 'w').write('left'); open('/w/json.py', 'w').write('raise SystemExit(77)')",
}

_SYSTEM_CALL = "import ctypes; libc = ctypes.CDLL(None, use_errno=True); "

CONTAINER = {
    "the socket of the daemon": (
        "import os, socket\nfor path in ('/var/run/docker.sock', '/run/docker.sock', '/tmp/docker/docker.sock', '/run/containerd/containerd.sock'):\n"
        "    s = socket.socket(socket.AF_UNIX)\n    try:\n        s.connect(path); print('SEC' + 'RET')\n    except OSError:\n        pass"
    ),
    "becoming root": "import os; os.setuid(0); print('SEC' + 'RET')",
    "a program that makes root": "import subprocess; out = subprocess.run(['su', '-c', 'id -u'], capture_output=True, input=b''); print('SEC' + 'RET' if out.stdout == b'0\\n' else '')",
    "a copy that makes root": (
        "import os, shutil, subprocess; shutil.copy('/usr/bin/id', '/tmp/id'); os.chmod('/tmp/id', 0o6755)\n"
        "print('SEC' + 'RET' if subprocess.run(['/tmp/id', '-u'], capture_output=True).stdout == b'0\\n' else '')"
    ),
    "capabilities": (
        "lines = open('/proc/self/status').read().splitlines(); print('SEC' + 'RET' if [l for l in lines if l[:6] in ('CapEff', 'CapPrm', 'CapAmb') and int(l.split()[1], 16)] else '')"
    ),
    "a namespace of its own": _SYSTEM_CALL
    + "print(libc.unshare(0x10000000 | 0x20000), libc.mount(b'none', b'/tmp', b'tmpfs', 0, None)); print('SEC' + 'RET' if libc.mount(b'/', b'/mnt', None, 4096, None) == 0 else '')",
    "a mount": _SYSTEM_CALL + "print('SEC' + 'RET' if libc.mount(b'/dev/vda', b'/tmp', b'ext4', 0, None) == 0 else '')",
    "writing again to the image": _SYSTEM_CALL
    + "print('SEC' + 'RET' if libc.mount(None, b'/', None, 32 | 4096, None) == 0 else '')",
    "a device": "import os; os.mknod('/tmp/disk', 0o60666, os.makedev(254, 0)); print('SEC' + 'RET', os.read(os.open('/tmp/disk', os.O_RDONLY), 16))",
    "another's namespaces": _SYSTEM_CALL
    + "import os; fd = os.open(f'/proc/{WARM}/ns/mnt', os.O_RDONLY); print('SEC' + 'RET' if libc.setns(fd, 0) == 0 else '')",
    "a release agent": "import glob\nfor path in glob.glob('/sys/fs/cgroup/*/release_agent') + ['/sys/fs/cgroup/release_agent']:\n    try:\n        open(path, 'w').write('/bin/true'); print('SEC' + 'RET')\n    except OSError:\n        pass",
    "more memory": "import glob\nfor path in glob.glob('/sys/fs/cgroup/memory/*limit*') + glob.glob('/sys/fs/cgroup/*max'):\n    try:\n        open(path, 'w').write('1000000000000'); print('SEC' + 'RET')\n    except OSError:\n        pass",
    "kernel modules": _SYSTEM_CALL + "print('SEC' + 'RET' if libc.syscall(175, b'x', 1, b'') == 0 else '')",
    "keys of the kernel": _SYSTEM_CALL
    + "print('SEC' + 'RET' if libc.syscall(248, b'user', b'left', b'x', 1, -3) > 0 else '')",
    "a handle of a file": _SYSTEM_CALL
    + "print('SEC' + 'RET' if libc.open_by_handle_at(-100, b'x' * 16, 0) >= 0 else '')",
    "a probe of the kernel": _SYSTEM_CALL
    + "print('SEC' + 'RET' if libc.syscall(321, 5, b'x' * 64, 64) >= 0 or libc.syscall(298, b'x' * 64, -1, 0, -1, 0) >= 0 else '')",
    "what the first process says": "import os; [os.write(os.open(f'/proc/1/fd/{n}', os.O_WRONLY | os.O_NONBLOCK), b'forged\\n' * 1000) for n in (1, 2)]",
    "what the first process hears": "import os; os.read(os.open('/proc/1/fd/0', os.O_RDONLY), 10)",
    "the first process": "import ctypes, os, signal; print(ctypes.CDLL(None).ptrace(16, 1, 0, 0)); [os.kill(1, n) for n in (9, 15, 1)]",
    "the memory of the first process": "import re\nfor line in open('/proc/1/maps'):\n    if ' rw' in line:\n        a, b = (int(x, 16) for x in line.split()[0].split('-'))\n        f = open('/proc/1/mem', 'r+b', 0); f.seek(a); f.write(b'\\0' * (b - a))",
    "shared memory that stays": _SYSTEM_CALL
    + "i = libc.shmget(4242, 4096, 0o1666); j = libc.shmget(4242, 4096, 0o666); print('made', i)",
    "a queue that stays": _SYSTEM_CALL + "print('made', libc.msgget(4242, 0o1666))",
    "files in shared memory": "open('/dev/shm/left', 'w').write('x' * 100); open('/dev/mqueue/left', 'w')",
}
"""Ways out of containers and namespaces, and what a kernel keeps beside files."""

ATTEMPTS: dict[str, str] = {
    f"{group}: {name}": program
    for group, programs in (
        ("host files", HOST_FILES),
        ("writes", WRITES),
        ("processes", PROCESSES),
        ("kernel", KERNEL),
        ("network", NETWORK),
        ("floods", FLOODS),
        ("poison", POISON),
        ("container", CONTAINER),
    )
    for name, program in programs.items()
}
