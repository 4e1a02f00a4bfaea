"""A server on stdio that writes JSON its own way: odd spacing, escapes and keys, stray lines, and what was asked under `asked`.

`python odd_server.py [LOG]` appends every line that reaches it to LOG. Tools: `echo` (reads), `add` (writes), `put` (writes,
idempotent); `add` counts its calls.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

TOOLS = [
    ("echo", "Say it again.", {"readOnlyHint": True}),
    ("add", "Add one.", {}),
    ("put", "Put it there.", {"idempotentHint": True}),
]


def listed() -> str:
    tools = ", ".join(
        f'{{"x-extra" : [1,  2.50], "inputSchema" : {{"type":"object"}}, "description":{json.dumps(description)},'
        f'"name" : {json.dumps(name)}, "annotations":{json.dumps(hints)}}}'
        for name, description, hints in TOOLS
    )
    return f'{{ "tools":[{tools}], "_meta":{{"z":1,"a":null}} }}'


def main(log: str = os.devnull) -> None:
    print("warming up ...", flush=True)
    added = 0
    with Path(log).open("a", buffering=1) as heard:
        for line in sys.stdin:
            heard.write(line)
            frame = json.loads(line)
            if "id" not in frame:
                continue
            method, params = frame["method"], frame.get("params", {})
            if method == "initialize":
                version = json.dumps(params["protocolVersion"])
                result = f'{{"protocolVersion":{version},"serverInfo":{{"version":"1","name":"odd"}},"capabilities":{{"tools":{{}}}}}}'
            elif method == "tools/list":
                result = listed()
            elif params.get("name") == "exit":
                sys.exit(int(params["arguments"]["code"]))
            else:
                added += params["name"] == "add"
                text = json.dumps(json.dumps({"count": added, "said": params["arguments"]}, indent=1))
                result = f'{{ "content":[ {{"text":{text},"type":"text"}} ],\t"unknown":"\\u00fc\\/" }}'
            sys.stdout.write(f'{{"result" : {result} , "id":{json.dumps(frame["id"])}, "jsonrpc":"2.0"}}\r\n')
            sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
