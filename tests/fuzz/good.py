"""Good files, of which hostile ones are made."""

from __future__ import annotations

import json

WORLD = """\
kind: service
name: w
clock: {start: 2031-03-03T09:00:00Z, per_step: 20s}
schema: |
  create table t (id text primary key, word text not null, price integer not null);
  create table sold (id text primary key, t_id text not null references t);
rows:
  t: {count: 12, with: {id: "I{seq:02}", word: {text: ["lamp {seq}"]}, price: {int: [100, 900]}}}
after: ["update t set price = price + 1"]
tools:
  - name: t.find
    description: Find things.
    input: {text: {type: string}, most: {type: integer, default: 3}}
    read: {things: "select id, word, price from t where word like '%' || :text || '%' order by id limit :most"}
    text: "{% for x in things %}{{ x.word }}, {% endfor %}"
  - name: t.sell
    description: Sell a thing.
    input: {id: {type: string}}
    refuse: [{unless: "select 1 from t where id = :id", error: "There is no {{ id }}."}]
    ids: {sale: "S{seq:02}"}
    write: ["insert into sold values (:sale, :id)"]
    read: {one: "select word, price from t where id = :id"}
resources: [{uri: "w://{id}", name: n, read: "select word from t where id = :id"}]
prompts: [{name: p, arguments: [{name: a}], text: "Say {{ a }}."}]
"""

SCENARIO = """\
name: s
world: w.yaml
prompt: "Sell {{ word }} and say its price."
cases: {sql: "select word, id as thing from t order by id", sample: 2}
tools: ["t.*"]
perturbations: [{use: latency, with: {seconds: 3}, when: {tools: "t.*", nth: 1}}]
reference:
  steps:
    - {call: t.find, with: {text: "{{ word }}"}, as: found}
    - {call: t.sell, with: {id: "{{ found.things[0].id }}"}, as: sold}
  answer: "{{ sold.price }}"
rubric:
  - use: final_state
    with: {expect: ["select count(*) = 1 from sold where t_id = :thing"], changes_only: [sold]}
  - use: answer
    with: {sql: "select price from t where id = :thing", as: number}
limits: {turns: 9, calls: 9}
"""

SERVERS = json.dumps({"mcpServers": {"x": {"command": "/nothing", "args": ["a"], "env": {"K": "v"}}}})
QUESTIONS = (
    json.dumps(
        {
            "instance_id": "q",
            "query": "Which?",
            "language": "en",
            "evaluation": {"unique_columns": ["a"], "required": ["a", "b"], "eval_pipeline": {}},
        }
    )
    + "\n"
)
RESPONSES = json.dumps({"instance_id": "q", "response": "| a | b |\n|---|---|\n| 1 | 2 |", "trial_idx": 0}) + "\n"
FRAME = json.dumps(
    {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "t.find", "arguments": {"text": "lamp"}}}
)
COMPLETION = json.dumps(
    {
        "choices": [
            {
                "message": {
                    "role": "assistant",
                    "content": "hi",
                    "tool_calls": [{"id": "c", "type": "function", "function": {"name": "t", "arguments": "{}"}}],
                },
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1},
    }
)
