"""Whatever a script asks for the time, it hears the clock of the machine and never that of the host."""

import pytest

from simtrain.values.clock import instant
from tests.support.machines import START, machine_of, shell_on

_FILES = {
    "/home/ann/p.awk": 'BEGIN { print strftime("%F"), systime() }\n',
    "/home/ann/v.sh": "#!/bin/bash\nprintf -v n '%(%F)T' -1; echo $0 $1 $n\n",
    "/home/ann/a.sh": "awk 'BEGIN {print systime()}'\n",
}
_NOW = int(instant(START))


@pytest.mark.parametrize(
    ("script", "printed"),
    [
        (r"printf '%(%F %T)T\n' -1", "2031-03-03 09:00:00"),
        (r"printf '%(%F)T %s\n' 0 a 86400 b", "1970-01-01 a\n1970-01-02 b"),
        (r"sleep 60; printf -v x '%(%H:%M)T'; echo $x", "09:01"),
        (r"TZ=Europe/Berlin printf '%(%H)T%%\n' -1", "10%"),
        ("awk 'BEGIN {print systime()}'", str(_NOW)),
        ("""awk 'BEGIN {print strftime("%F (%H)"), strftime("%H:%M", systime() + 60)}'""", "2031-03-03 (09) 09:01"),
        ("echo x | xargs awk 'BEGIN {print systime()}'; gawk 'BEGIN {print systime()}'", f"{_NOW}\n{_NOW}"),
        ("command awk 'BEGIN {print systime()}'; command -p jq -n now; command -v awk", f"{_NOW}\n{_NOW}\nawk"),
        (r"builtin printf '%(%F)T\n' -1; command printf '%(%Y)T\n' -1; builtin command jq -n now", f"2031-03-03\n2031\n{_NOW}"),
        ("env nawk -f p.awk", f"2031-03-03 {_NOW}"),
        ("find p.awk -exec awk -f {} \\;", f"2031-03-03 {_NOW}"),
        ("jq -n now; jq -rn 'now | todate'; echo now > q; jq -n -f q", f"{_NOW}\n2031-03-03T09:00:00Z\n{_NOW}"),
        ("""echo '{"now": 1}' | jq -c --arg a now '., .now, $a'""", '{"now":1}\n1\n"now"'),
        ("echo 1 | xargs -I{} jq -n 'now - {}'", str(_NOW - 1)),
        ("awk -f p.awk", f"2031-03-03 {_NOW}"),
        ("echo a,b | awk -F, -v q=1 '{srand(); print q, $2, srand()}'", f"1 b {_NOW}"),
        ("chmod +x v.sh; ./v.sh x; bash v.sh y; ~/v.sh z", "./v.sh x 2031-03-03\nv.sh y 2031-03-03\n/home/ann/v.sh z 2031-03-03"),
        ("bash -c 'bash a.sh'; sh a.sh; source a.sh", f"{_NOW}\n{_NOW}\n{_NOW}"),
        ("echo 1 2 | while read a b; do printf '%(%Y)T %s\\n' -1 $b; done", "2031 2"),
        ("echo $EPOCHSECONDS $EPOCHREALTIME", f"{_NOW} {_NOW}.000000"),
    ],
)  # fmt: skip
def test_times_are_those_of_the_machine(script: str, printed: str) -> None:
    found = shell_on(machine_of(_FILES)).run(script)
    assert (found.stdout, found.stderr) == (f"{printed}\n", "")


def test_time_tells_virtual_time_and_chance_is_that_of_the_seed() -> None:
    one, two = (shell_on(machine_of()).run("time sleep 61.5; echo $SRANDOM ${SRANDOM}") for _ in range(2))
    assert one.stderr == "\nreal\t1m1.500s\nuser\t0m0.000s\nsys\t0m0.000s\n"
    assert one == two


def test_printf_is_the_engines_own_where_no_time_is_asked_for() -> None:
    found = shell_on(machine_of()).run("printf '%5.2f|%-4s|%x\\n' 3.14159 ab 255; type printf")
    assert found.stdout == " 3.14|ab  |ff\nprintf is a shell builtin\n"


def test_history_tells_what_was_typed_and_nothing_that_stands_before_it() -> None:
    shell = shell_on(machine_of())
    shell.run("awk 'BEGIN {print systime()}'; false")
    shell.run("echo $? $SRANDOM; wait")
    assert [line.split(maxsplit=1)[1] for line in shell.run("history").stdout.splitlines()] == [
        "awk 'BEGIN {print systime()}'; false", "echo $? $SRANDOM; wait",
    ]  # fmt: skip


def test_sql_hears_the_clock_of_the_machine_and_draws_from_its_seed() -> None:
    asked = "datetime('now'), date(), strftime('%s'), current_timestamp, current_date, time('now', 'localtime')"
    made = "create table t (at default current_timestamp, n); insert into t (n) values (1); select at from t"
    script = f'sleep 60; sqlite3 x.db "select {asked}"; sqlite3 x.db "{made}"; sqlite3 x.db "select random(), hex(randomblob(4))"'
    one, two = (shell_on(machine_of()).run(script).stdout for _ in range(2))
    assert one == two
    now = "2031-03-03 09:01:00"
    told = f"{now}|2031-03-03|{_NOW + 60}|{now}|2031-03-03|09:01:00"
    assert one.splitlines()[:2] == [told, now]
    number, blob = one.splitlines()[2].split("|")
    assert number.lstrip("-").isdigit() and len(blob) == 8
