"""Shell lines made by hypothesis: pipes, quotes, loops, redirections and expansions that end, and whose output is certain."""

from hypothesis import strategies as st

_WORDS = st.sampled_from(
    ["a", "foo", "b1", "x y", "it", "*", "two  spaces", "$x", "", "tab\there", "end.", "UPPER", "7", "-3"]
)
_NAMES = st.sampled_from(["x", "y", "name", "n1", "_v"])
_FILES = st.sampled_from(
    [
        "notes.txt",
        "fruits.txt",
        "more.txt",
        "numbers.txt",
        "data/sales.csv",
        "data/keys.txt",
        "logs/app.log",
        "noeol.txt",
        "empty.txt",
        "nosuch",
    ]
)
_NUMBERS = st.integers(min_value=-20, max_value=99)


def _single(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


_quoted = st.one_of(
    _WORDS.map(_single),
    _WORDS.map(lambda text: '"' + text.replace('"', "") + '"'),
    st.sampled_from(
        [
            "plain",
            r"back\ slash",
            r"\$x",
            r"'a'\''b'",
            "$'tab\\tx'",
            '"$x$y"',
            '"${x:-none}"',
            "${y}z",
            '"a\'b"',
            "{1..3}",
            "{a,b}c",
            "$((3+4))",
            '"$(echo in)"',
            "~",
            "[a-c]*",
            "*.md",
        ]
    ),
)

_EXPANSIONS = st.sampled_from(
    [
        "${x}",
        "${#x}",
        "${x:1}",
        "${x:0:2}",
        "${x: -2}",
        "${x%o*}",
        "${x%%o*}",
        "${x#*o}",
        "${x##*o}",
        "${x/o/0}",
        "${x//o/0}",
        "${x^}",
        "${x^^}",
        "${x,,}",
        "${x:-d}",
        "${u:-d}",
        "${u:+d}",
        "${x:+d}",
        "${x/#f/F}",
        "${x/%o/O}",
        "${u-unset}",
        "${x@Q}",
    ]
)

_arithmetic = st.recursive(
    _NUMBERS.map(lambda number: f"({number})"),
    lambda inner: st.tuples(
        inner, st.sampled_from(["+", "-", "*", "<", "==", "&&", "|", "&", "^", "<<", "%", "/"]), inner
    ).map(
        # A shift by few bits, and no division by zero: their results are certain.
        lambda parts: f"({parts[0]}{parts[1]}{'2' if parts[1] == '<<' else '7' if parts[1] in '%/' else parts[2]})"
    ),
    max_leaves=5,
)

_sources = st.one_of(
    _FILES.map(lambda name: f"cat {name}"),
    st.lists(_quoted, min_size=1, max_size=4).map(lambda words: "echo " + " ".join(words)),
    st.lists(_quoted, min_size=1, max_size=4).map(lambda words: "printf '%s\\n' " + " ".join(words)),
    st.tuples(st.integers(0, 5), st.integers(1, 12)).map(lambda pair: f"seq {pair[0]} {pair[1]}"),
    st.sampled_from(
        [
            "ls data",
            "ls -1 old new",
            "echo 'c b a'",
            "printf 'b\\na\\nb\\n'",
            "find docs -type f | sort",
            "head -n 3 logs/app.log",
        ]
    ),
)

_filters = st.sampled_from(
    [
        "sort",
        "sort -r",
        "sort -n",
        "sort -u",
        "uniq",
        "uniq -c",
        "wc -l",
        "wc -w",
        "head -n 2",
        "tail -n 2",
        "tac",
        "rev",
        "tr a-z A-Z",
        "tr -d aeiou",
        "tr -s ' '",
        "cut -c1-3",
        "cut -d' ' -f1",
        "cut -d, -f2",
        "grep a",
        "grep -v a",
        "grep -c e",
        "grep -n '[0-9]'",
        "grep -o '[a-z]*'",
        "sed 's/a/X/g'",
        "sed -n '2p'",
        "sed '1d'",
        "sed '$d'",
        "awk '{print $1}'",
        "awk '{print NF}'",
        "awk 'NR%2'",
        "awk '{s+=$1} END {print s}'",
        "xargs",
        "xargs -n 2",
        "nl",
        "cat -n",
        "paste -sd,",
        "fold -w 8",
        'while read -r l; do echo "<$l>"; done',
        "tee out.txt",
        "sort | uniq -c | sort -rn | head -n 3",
        "cat -A",
    ]
)

_pipes = st.tuples(_sources, st.lists(_filters, min_size=1, max_size=3)).map(
    lambda parts: " | ".join([parts[0], *parts[1]])
)

_tests = st.one_of(
    st.tuples(_quoted, st.sampled_from(["=", "!=", "<", ">", "=="]), _quoted)
    .map(lambda parts: f"[[ {' '.join(parts)} ]]")
    .filter(lambda text: "{" not in text and "*" not in text),
    st.tuples(_NUMBERS, st.sampled_from(["-eq", "-ne", "-lt", "-ge"]), _NUMBERS).map(
        lambda parts: f"[ {parts[0]} {parts[1]} {parts[2]} ]"
    ),
    st.tuples(st.sampled_from(["-e", "-f", "-d", "-s"]), _FILES).map(lambda parts: f"[ {parts[0]} {parts[1]} ]"),
    st.sampled_from(
        ["true", "false", "grep -q apple fruits.txt", "grep -q kiwi fruits.txt", "(( 3 > 2 ))", 'test -n "$x"']
    ),
)

_redirected = st.one_of(
    st.tuples(_sources, st.sampled_from(["f1", "f2"])).map(lambda parts: f"{parts[0]} > {parts[1]}; cat {parts[1]}"),
    st.tuples(_sources, _sources).map(lambda parts: f"{parts[0]} > f; {parts[1]} >> f; wc -l < f; tail -n 1 f"),
    st.tuples(_FILES, _filters).map(lambda parts: f"{parts[1]} < {parts[0]}"),
    st.tuples(_filters, _quoted).map(lambda parts: f"{parts[0]} <<< {parts[1]}"),
    _sources.map(lambda source: f"{{ {source}; }} 2>/dev/null | wc -l"),
    st.tuples(_sources, _filters).map(lambda parts: f"{parts[1]} < <({parts[0]})"),
    st.tuples(_WORDS, _EXPANSIONS).map(
        lambda parts: f"x=foobar; cat <<END\n{parts[0].replace('*', '')} {parts[1]}\nEND"
    ),
)

_loops = st.one_of(
    st.tuples(_NAMES, st.lists(_quoted, min_size=1, max_size=3), _quoted).map(
        lambda parts: f'for {parts[0]} in {" ".join(parts[1])}; do echo "[${parts[0]}]" {parts[2]}; done'
    ),
    st.tuples(st.integers(1, 5), _filters).map(
        lambda parts: f"for ((i = 0; i < {parts[0]}; i++)); do echo $i; done | {parts[1]}"
    ),
    st.tuples(st.integers(1, 4), _tests).map(
        lambda parts: f"i=0; while [ $i -lt {parts[0]} ]; do {parts[1]} && echo y$i || echo n$i; i=$((i+1)); done"
    ),
    st.tuples(_tests, _sources, _sources).map(lambda parts: f"if {parts[0]}; then {parts[1]}; else {parts[2]}; fi"),
    st.tuples(_quoted, _WORDS).map(
        lambda parts: (
            f"case {parts[0]} in [a-m]*) echo low;; *' '*) echo space;; {_single(parts[1])}) echo same;; *) echo other;; esac"
        )
    ),
    st.tuples(_quoted, _quoted).map(
        lambda parts: f'f() {{ echo "$# $1"; shift; echo "$@"; return 3; }}; f {parts[0]} {parts[1]}; echo $?'
    ),
)

_variables = st.one_of(
    st.tuples(_quoted, _EXPANSIONS).map(
        lambda parts: (
            f'x={parts[0] if "{" not in parts[0][:1] and "[" not in parts[0] else "foobar"}; echo "{parts[1]}"'
        )
    ),
    st.lists(_EXPANSIONS, min_size=1, max_size=3).map(
        lambda found: "x=foobar; echo " + " ".join(f'"{one}"' for one in found)
    ),
    _arithmetic.map(lambda text: f"echo $(({text}))"),
    st.lists(_quoted, min_size=1, max_size=4).map(
        lambda words: f'a=({" ".join(words)}); echo ${{#a[@]}} "${{a[0]}}" "${{a[@]: -1}}"'
    ),
    st.lists(_quoted, min_size=1, max_size=3).map(
        lambda words: f'set -- {" ".join(words)}; echo $# "$*"; for p; do printf \'<%s>\' "$p"; done; echo'
    ),
    st.tuples(st.sampled_from([",", ":", " "]), _WORDS).map(
        lambda parts: f"IFS='{parts[0]}' read -r a b <<< {_single(parts[1] + parts[0] + 'z')}; echo \"$a|$b\""
    ),
    st.tuples(_sources, _quoted).map(lambda parts: f'v=$({parts[0]}); echo "$v" {parts[1]} $v'),
)

_joined = st.tuples(
    st.one_of(_tests, _pipes),
    st.sampled_from(["&&", "||", ";"]),
    st.one_of(_sources, _variables),
    st.sampled_from(["", "; echo $?"]),
).map(lambda parts: f"{parts[0]} {parts[1]} {parts[2]}{parts[3]}")

_flat = st.one_of(_pipes, _redirected, _loops, _variables, _joined).filter(lambda line: "\n" not in line)


def _wrapped(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Return lines around other lines."""
    pair = st.tuples(inner, inner)
    return st.one_of(
        pair.map(lambda parts: f'( {parts[0]}; x=inner ); {parts[1]}; echo "[$x]"'),
        st.tuples(inner, inner, _filters).map(lambda parts: f"{{ {parts[0]}; {parts[1]}; }} | {parts[2]}"),
        st.tuples(_tests, inner, inner).map(lambda parts: f"if {parts[0]}; then {parts[1]}; else {parts[2]}; fi"),
        inner.map(lambda line: f"for w in p 'q r'; do {line}; echo \"w=$w\"; done"),
        inner.map(lambda line: f'echo "$({line})" $({line}) | head -n 6'),
        inner.map(lambda line: f"g() {{ local x=own; {line}; return 4; }}; g one two; echo $? $x"),
        st.tuples(inner, _filters).map(lambda parts: f"( {parts[0]} ) 2>&1 | {parts[1]}"),
        inner.map(lambda line: f"! {{ {line}; }}; echo $?"),
        pair.map(lambda parts: f"diff <({parts[0]}) <({parts[1]}) > /dev/null; echo $?"),
        inner.map(lambda line: f"eval {_single(line)}"),
        inner.map(lambda line: f"bash -c {_single(line)}; echo $?"),
    )


_nested = _wrapped(_flat) | _wrapped(_wrapped(_flat))

lines = st.one_of(_pipes, _redirected, _loops, _variables, _joined, _nested, _nested)
"""One line, or one here-document."""
