#!/bin/bash
# Runs the tests over copies of what the agent left, and writes the reward. No setting of the agent's has a part in it.
tests=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
unset PYTEST_ADDOPTS PYTEST_PLUGINS
export PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 PYTHONNOUSERSITE=1 PYTHONDONTWRITEBYTECODE=1
python3 "$tests/verify.py" prepare "$work" || exit 1
seal=$(python3 -c 'import secrets; print(secrets.token_hex(16))')
for run in "$work"/*; do
    cd "$run/tree" || continue
    own="$run/tree:$run/tree/src${PYTHONPATH:+:$PYTHONPATH}"
    if [ -e "$run/program.py" ]; then
        PYTHONPATH=$own timeout 120 python3 "$run/program.py" > "$run/printed" 2> "$run/errors"
        echo $? > "$run/code"
    else
        mapfile -t files < "$run/files"
        PYTHONPATH=$own timeout 120 python3 "$tests/run_tests.py" "$run/outcomes" "${files[@]}" <<< "$seal"
    fi
done
cd / && python3 "$tests/verify.py" judge "$work" <<< "$seal"
