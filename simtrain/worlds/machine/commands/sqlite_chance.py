"""Time and chance in SQL of the command sqlite3: those of the machine, in the place of the host's."""

import sqlite3
from functools import partial
from hashlib import shake_256

from simtrain.values.clock import stamp
from simtrain.worlds.machine.invocation import Invocation
from simtrain.worlds.service.functions import install_time

LONGEST_BLOB = 1_000_000


def install(call: Invocation, database: sqlite3.Connection) -> None:
    """Register the functions with a database; its time stands still for as long as the command runs."""
    machine, now = call.machine, stamp(call.now)
    install_time(database, lambda: now, local=True)
    for name, text in (("timestamp", f"{now[:10]} {now[11:19]}"), ("date", now[:10]), ("time", now[11:19])):
        database.create_function(f"current_{name}", 0, partial(str, text))

    def blob(size: object) -> bytes:
        length = min(max(size, 1), LONGEST_BLOB) if isinstance(size, int) else 1
        return shake_256(str(machine.draw("sqlite3")).encode()).digest(length)

    database.create_function("random", 0, lambda: machine.draw("sqlite3") - 2**63)
    database.create_function("randomblob", 1, blob)
