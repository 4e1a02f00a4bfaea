"""Templates of pages beside Jinja's own reading of them: where lines end, and what loops sort, cut and count."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from types import SimpleNamespace

import pytest
from jinja2 import Environment
from small_universe import UNIVERSE

from simtrain.files.yaml_files import parse_document
from simtrain.values.errors import InputError
from simtrain.worlds.search.file import open_file
from simtrain.worlds.search.source import SearchSource


def written(template: str, folder: Path) -> tuple[list[str], list[str]]:
    """The pages of ports as the builder writes them, and as Jinja does with all line ends kept; blank lines are left out."""
    begin = UNIVERSE.index('          - - "{{ port }} was founded')
    end = UNIVERSE.index("      - list: ship")
    block = "\n".join(f"            {line}" for line in template.split("\n"))
    source = SearchSource.load(
        parse_document(f"{UNIVERSE[:begin]}          - |\n{block}\n{UNIVERSE[end:]}", Path("small_universe.yaml"))
    )
    connection = open_file(source.build_file(path=folder / "world.sqlite"))
    connection.row_factory = sqlite3.Row
    jinja = Environment(autoescape=False).from_string(template)
    own, due = [], []
    for port in connection.execute("select * from port order by id"):
        ships = [
            SimpleNamespace(**dict(row))
            for row in connection.execute("select * from ship where home = ? order by id", (port["id"],))
        ]
        (body,) = connection.execute(
            "select body from _pages where type = 'port' and entity = ?", (port["id"],)
        ).fetchone()
        own.append(_lines(body))
        due.append(_lines(jinja.render(port={**dict(port), "ships_by_home": ships})))
    connection.close()
    return own, due


def _lines(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.split("\n") if line.strip())


LOOP = "{% for ship in port.ships_by_home %}"
SORTED = "port.ships_by_home|sort(attribute='launched')"
TEMPLATES = {
    "rows in an order": f"{{% for ship in {SORTED} %}}\n- {{{{ ship.plate }}}}\n{{% endfor %}}",
    "the last rows of an order": (
        "{% for ship in (port.ships_by_home|sort(attribute='launched', reverse=true))[:3] %}\n- {{ ship.plate }}\n{% endfor %}"
    ),
    "rows that are counted": (
        f"{{% if port.ships_by_home|length > 4 %}}Among them:{{% else %}}Ships:{{% endif %}}\n"
        f"{LOOP[:-3]}[:4] %}}\n- {{{{ ship.plate }}}}\n{{% endfor %}}"
    ),
    "a condition at the end of an item": (
        f"Ships:\n{LOOP}\n- {{{{ ship.plate }}}}{{% if ship.armed %}}, armed{{% endif %}}\n{{% endfor %}}\nSo it is."
    ),
    "a condition with another side at the end of an item": (
        f"{LOOP}\n- {{{{ ship.plate }}}}, {{% if ship.armed %}}armed{{% else %}}not{{% endif %}}\n{{% endfor %}}"
    ),
    "a loop on one line within a paragraph": f"Here: {LOOP}{{{{ ship.plate }}}} {{% endfor %}}\nand nowhere else.",
    "conditions on lines of their own": (
        f"{LOOP}\n{{% if ship.armed %}}\n- {{{{ ship.plate }}}}\n{{% endif %}}\n{{% endfor %}}\nThe end."
    ),
    "tags of two lines": (
        f"{LOOP}\n- {{{{ ship.plate }}}}{{% if ship.armed\n and ship.crew > 1 %}}, armed{{% endif\n %}}\n{{% endfor %}}"
    ),
    "two tags on a line of their own": f"{LOOP}{{% if ship.armed %}}\n- {{{{ ship.plate }}}}\n{{% endif %}}{{% endfor %}}\nThe end.",
    "line ends that the author takes away": (
        f"{LOOP}\n- {{{{ ship.plate }}}}{{% if ship.armed %}}, armed{{% endif -%}}\n;\n{{% endfor %}}"
    ),
}


@pytest.mark.parametrize("what", TEMPLATES)
def test_lines_of_a_page_end_where_jinja_ends_them(what: str, tmp_path: Path) -> None:
    own, due = written(TEMPLATES[what], tmp_path)
    assert own == due and sum("\n" in page for page in own) >= 3


REFUSED = {
    "|sort(attribute='refitted')": "refitted may be missing",
    "|sort('launched')": "rows are sorted by a fact",
    "|sort(attribute='crew', case_sensitive=true)": "rows are sorted by a fact",
    "|sort(attribute='keel')": "ship has no fact 'keel'",
    "|sort(attribute='crew.name')": "crew is not a ref",
    "[:5]|sort(attribute='crew')": "sorted once, then limited",
    "|reverse": "sorted or limited, not 'reverse'",
}


@pytest.mark.parametrize("rows", REFUSED)
def test_an_order_that_rows_cannot_have_is_refused(rows: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=REFUSED[rows]):
        written(f"{{% for ship in port.ships_by_home{rows} %}}\n- {{{{ ship.plate }}}}\n{{% endfor %}}", tmp_path)
