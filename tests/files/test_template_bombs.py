"""Templates of hostile files: what they may make on their way, and how deep they may be."""

from __future__ import annotations

import subprocess
import sys

import pytest

from simtrain.files.templates import Text, TooMuch, Value
from simtrain.values.errors import InputError

LONG = "b" * 9000
GROWING = {
    "a chain of replace": "{{ x" + f"|replace('a', '{'a' * 100}')" * 20 + "|length }}",
    "join": f"{{{{ many|join('{LONG}')|length }}}}",
    "replace in a map": f"{{{{ texts|map('replace', 'a', '{LONG}')|join|length }}}}",
    "replace of nothing": f"{{{{ (x ~ x ~ x)|replace('', '{LONG}')|length }}}}",
    "tilde": "{{ (x" + " ~ long" * 900 + ")|length }}",
    "plus": "{{ (x" + " + x" * 90 + " + long" * 30 + ")|length }}",
    "tojson": "{{ quotes" + "|tojson" * 40 + "|length }}",
    "lists": "{{ (many" + " + many" * 200 + ")|length }}",
    "sum of lists": "{{ (lists + lists + lists)|sum(start=[])|length }}",
}
VALUES = (
    "{'x': 'a' * 1000, 'long': 'a' * 190000, 'many': list(range(20000)), 'texts': ['a' * 50] * 2000, "
    "'quotes': '\"' * 100, 'lists': [[1] * 1000] * 1000}"
)
DEEP = {
    "parentheses": "{{ " + "(" * 300 + "1" + ")" * 300 + " }}",
    "ifs": "{% if 1 %}" * 300 + "x" + "{% endif %}" * 300,
    "loops": "{% for i in x %}" * 300 + "x" + "{% endfor %}" * 300,
    "filters": "{{ x" + "|lower" * 2500 + " }}",
    "factors": "{{ " + "*".join(["(10**16)"] * 300) + " }}",
    "a number": "{{ " + "9" * 5000 + " }}",
    "nots": "{{ " + "not " * 4000 + "1 }}",
}


@pytest.mark.parametrize("name", GROWING)
def test_a_template_that_grows_is_cut_off_before_it_has_grown(name: str) -> None:
    code = (
        "import resource, sys\n"
        "from simtrain.files.templates import Text\n"
        "from simtrain.values.errors import InputError\n"
        f"values = {VALUES}\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try: print(Text(sys.argv[1]).render(values))\n"
        "except InputError as error: print('refused:', error)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    said = subprocess.run([sys.executable, "-c", code, GROWING[name]], capture_output=True, text=True, timeout=60)
    assert said.stdout.startswith("refused:"), said.stdout[:200] + said.stderr[-2000:]
    assert int(said.stdout.splitlines()[-1]) < 100_000


@pytest.mark.parametrize("name", DEEP)
def test_a_template_that_is_nested_too_deeply_is_refused_in_one_line(name: str) -> None:
    for make in (Text, Value):
        with pytest.raises(InputError, match=r"does not parse|cannot be rendered") as refused:
            value = make(DEEP[name])
            value.render({"x": [1]}) if isinstance(value, Text) else value.evaluate({"x": [1]})
        assert len(str(refused.value)) < 300


def test_filters_still_do_what_they_are_for() -> None:
    values = {"a": "z", "rows": [{"n": 1}, {"n": 2}]}
    for source, said in {
        "{{ a ~ '-' ~ 1 }}": "z-1",
        "{{ rows|map(attribute='n')|join('; ') }}": "1; 2",
        "{{ rows|join(',', attribute='n') }}": "1,2",
        "{{ rows|sum(attribute='n') }}": "3",
        "{{ [[1], [2, 3]]|sum(start=[]) }}": "[1, 2, 3]",
        "{{ [{'of': [1]}, {'of': [2]}]|sum('of', start=[0]) }}": "[0, 1, 2]",
        "{{ 'abcb'|replace('b', 'x', 1) }}": "axcb",
        "{{ 1 + 2 }}": "3",
        "{{ ([1] + [2])|length }}": "2",
    }.items():
        assert Text(source).render(values) == said


def test_a_template_within_the_limits_is_rendered() -> None:
    assert len(Text("{{ text|replace('a', 'bb') }}").render({"text": "a" * 90_000})) == 180_000
    with pytest.raises(TooMuch):
        Text("{{ text|replace('a', 'bb') }}").render({"text": "a" * 190_000})
