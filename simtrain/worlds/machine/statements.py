"""The SQL of commands and of what services answer, tried on the tables of a world before anybody calls it."""

import re
import sqlite3
from collections.abc import Iterator

from simtrain.files.yaml_files import Document, Place
from simtrain.worlds.machine.hosts import placed_hosts
from simtrain.worlds.machine.spec import MachineSpec
from simtrain.worlds.service.database import Database, Mode, explain


def check_statements(database: Database, spec: MachineSpec, document: Document) -> None:
    """Raise InputError, with its place in the file, for a statement that SQLite cannot carry out over these tables."""
    for place, sql, mode in _statements(spec):
        try:
            database.run(f"explain {sql}", dict.fromkeys(re.findall(r":(\w+)", sql)), mode=mode)
        except sqlite3.Error as error:
            raise document.error(place, f"the SQL fails: {explain(error)}") from None


def _statements(spec: MachineSpec) -> Iterator[tuple[Place, str, Mode]]:
    for name, command in spec.commands.items():
        if command.sql is not None:
            yield ("commands", name, "sql"), command.sql, Mode.READ
    for _, host, above in placed_hosts(spec):
        for name, service in host.services.items():
            for number, answer in enumerate(service.answers):
                place = (*above, "services", name, "answers", number)
                for step, sql in enumerate(answer.do):
                    yield (*place, "do", step), sql, Mode.WRITE
                if answer.rows is not None:
                    yield (*place, "rows"), answer.rows, Mode.READ
