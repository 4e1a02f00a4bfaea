"""What stands in hostile inputs: values, SQL, templates and JSON that nobody would write by mistake."""

# ruff: noqa: E501

from __future__ import annotations

DEEP = "[" * 400 + "]" * 400
STEERING = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\u2066\x00\r\u200b"
ENDLESS = "with recursive n (x) as (select 1 union all select x + 1 from n)"
LONG = "printf('%.*c', 240000, 'a')"

VALUES: tuple[object, ...] = (
    None, True, -1, 0, 10**30, -(2**63), 2**63, 1e308, float("inf"), "", " ", "a" * 100_000, STEERING, "\ud800", "{{", "{% for x in", "}}",
    "../../../etc/passwd", "/dev/zero", "/dev/null", ".", "\x00", "%s%n{0}{x}", "' or 1=1 --", "9" * 5000, [], {}, [[]], {"": ""},
    [None] * 5000, {str(number): number for number in range(2000)}, "*", "?" * 500, "(a+)+$", "://", "http://a:b@[::1", "none", "\n", "🦄" * 1000,
)  # fmt: skip

SQL: tuple[str, ...] = (
    f"{ENDLESS} select max(x) from n",
    f"{ENDLESS} select x from n",
    f"{ENDLESS} select hex(zeroblob(200000)) from n",
    f"{ENDLESS} select count(*) from (select x from n order by random())",
    f"select 1 from (select {LONG} as x), (select 1 union select 2) where x like '%{'a%' * 30}ab'",
    f"select replace(replace({LONG}, 'a', 'aaaa'), 'a', 'aaaaaaaa')",
    f"select trim({LONG}, {LONG} || 'b')",
    f"select instr({LONG}, substr({LONG}, 1, 100000) || 'b')",
    f"select json_patch(json_group_object(x, x), json_group_object(-x, x)) from ({ENDLESS} select x from n limit 20000)",
    "select zeroblob(1000000000)", "select randomblob(1000000000)", "select printf('%.1000000000f', 1)", "select 1; drop table t", "attach '/tmp/x' as y",
    "select load_extension('x')", "pragma writable_schema = 1", "vacuum into '/tmp/x'", "select * from sqlite_master", "select", "", ";", "\x00",
    "select " + ",".join(["1"] * 5000), "select " + "(" * 2000 + "1" + ")" * 2000, "select 1 " + "union select 1 " * 2000, "select :a, ?1, @b, $c",
    "select x'00ff'", "select 9223372036854775807 + 1, sum(9223372036854775807) from (select 1 union select 2)", "select 1e999, -1e999, 'a' || x'ff'",
    "delete from sqlite_master", "create table a as select 1", "insert into t values (1, 2)", "with x as (select * from x) select * from x",
    "explain select 1", "select count(*) from t a, t b, t c, t d, t e, t f, t g", "select group_concat(hex(zeroblob(100000))) from t a, t b, t c",
)  # fmt: skip

TEMPLATES: tuple[str, ...] = (
    "{{ x" + "|replace('a', 'aaaaaaaaaaaaaaaaaaaa')" * 30 + " }}", "{{ '" + "a" * 9000 + "'|list|join('" + "b" * 9000 + "') }}",
    "{% for a in x %}{% for b in x %}{% for c in x %}{{ a }}{% endfor %}{% endfor %}{% endfor %}", "{{ " + "(" * 300 + "1" + ")" * 300 + " }}",
    "{% if x %}" * 300 + "{% endif %}" * 300, "{{ 9 ** 9 ** 9 }}", "{{ x.__class__.__mro__ }}", "{{ ''|attr('__class__') }}", "{{ x" + ".a" * 500 + " }}",
    "{{ x * 1000000000 }}", "{{ " + "9" * 5000 + " }}", "{% raw %}", "{{ x ~ x ~ x }}", "{{ (x + x + x)|tojson|tojson|tojson }}", "{% set y = x %}", "{{ 1 / 0 }}",
    "{{ x|sum(start=[]) }}", "{{ x|round(10000000) }}", "{{ x|sort|unique|reverse|list }}", "{{ x|map('replace', 'a', '" + "b" * 9000 + "')|list }}",
)  # fmt: skip

JSON: tuple[str, ...] = (
    "", "null", "[]", "{", '{"a":' * 500, DEEP, "9" * 5000, f'{{"n": {"9" * 5000}}}', '"\\ud800"', "NaN", "-Infinity", '{"a": 1, "a": 2}', "\ufeff{}", "\x00",
    '{"jsonrpc": "2.0"}', '{"jsonrpc": "2.0", "id": null, "method": "initialize", "params": []}', '{"jsonrpc": "2.0", "id": 1e400, "method": "tools/call"}',
    '{"jsonrpc": "2.0", "id": "' + "x" * 10000 + '", "method": "' + "y" * 10000 + '"}', '{"jsonrpc": "2.0", "id": 1, "error": 3}', "[{}]",
    '{"choices": []}', '{"choices": [{"message": {"content": {}}}]}', '{"choices": [{"message": {"tool_calls": [{"function": {"arguments": 3}}]}}], "usage": "x"}',
    '{"choices": [{"message": {"content": "<think><think>' + "<think>" * 5000 + '"}}]}', '{"error": {"message": ' + '"x"' + "}}",
)  # fmt: skip
