"""A tiny world and scenario for tests: a bakery that sells cakes."""

from __future__ import annotations

from pathlib import Path

from simtrain.contracts.scenario import Scenario
from simtrain.contracts.world import Variant
from simtrain.files.yaml_files import parse_document
from simtrain.scenarios.load import load_scenario_file
from simtrain.worlds.service.source import ServiceSource
from simtrain.worlds.service.world import ServiceWorld

WORLD = """\
kind: service
name: bakery
seed: 3
clock: {start: 2031-03-03T09:00:00Z, per_step: 20s}
schema: |
  create table cakes (id text primary key, name text not null unique, price real not null check (price > 0),
    stock integer not null check (stock >= 0));
  create table orders (id text primary key, cake_id text not null references cakes, amount integer not null, placed_at text not null);
  create view placed as
    select c.name, o.amount from orders o join cakes c on c.id = o.cake_id where o.placed_at > '2031-03-03T09';
  create table ledger (id integer primary key, order_id text not null references orders, total real not null);
rows:
  cakes: {count: 30, with: {id: "K{seq:03}", name: "{product} cake {seq}", price: {money: [10, 60]}, stock: {int: [3, 9]}}}
  orders:
    each: cakes
    count: [0, 3]
    with: {id: "O{seq:04}", cake_id: {parent: id}, amount: {int: [1, 2]}, placed_at: {time: [start-30d, start-1h]}}
tools:
  - name: cakes.list
    description: All cakes by name.
    input: {}
    read: {cakes: "select id, name, price, stock from cakes order by name"}
    page: 8
  - name: cakes.get
    description: One cake.
    input: {name: {type: string}}
    read: {one: "select id, name, price, stock from cakes where name = :name", missing: "No cake called {{ name }}."}
  - name: orders.place
    description: Order a cake.
    input: {cake_id: {type: string}, amount: {type: integer, minimum: 1}}
    refuse:
      - {unless: "select 1 from cakes where id = :cake_id", error: "No cake {{ cake_id }}.", as: no_cake}
      - {if: "select stock < :amount from cakes where id = :cake_id", error: "Only few left.", as: sold_out}
    ids: {order_id: "O{seq:04}"}
    write:
      - update cakes set stock = stock - :amount where id = :cake_id
      - insert into orders values (:order_id, :cake_id, :amount, :now)
      - insert into ledger (order_id, total) select :order_id, price * :amount from cakes where id = :cake_id
    read: {one: "select id, amount, placed_at from orders where id = :order_id"}
  - name: orders.list
    description: The orders of a cake, oldest first.
    input: {cake_id: {type: string}}
    read: {orders: "select id, amount, placed_at from orders where cake_id = :cake_id order by placed_at, id"}
"""

SCENARIO = """\
name: birthday
world: {world}
prompt: 'Order two of "{{{{ cake }}}}" and tell me the id of the order.'
cases: {{sql: "select name as cake from cakes where stock > 2", sample: 12}}
reference:
  steps:
    - {{call: cakes.get, with: {{name: "{{{{ cake }}}}"}}, as: found}}
    - {{call: orders.place, with: {{cake_id: "{{{{ found.id }}}}", amount: 2}}, as: order}}
    - {{call: orders.list, with: {{cake_id: "{{{{ found.id }}}}"}}, as: all}}
  answer: "{{{{ all.orders[-1].id }}}}"
wrong:
  steps:
    - {{call: cakes.list, as: all}}
    - {{call: orders.place, with: {{cake_id: "{{{{ all.cakes[0].id }}}}", amount: 2}}, as: order}}
  answer: "{{{{ order.id }}}}"
rubric:
  - use: final_state
    with:
      expect:
        - select count(*) = 1 from placed where name = :cake and amount = 2
      changes_only: [orders, cakes.stock, ledger]
  - use: forbidden
    with: {{sql: ["select count(*) from placed where name <> :cake"]}}
{more}"""


def world(text: str = WORLD, variant: Variant | None = None) -> ServiceWorld:
    """The bakery, or another world from its YAML text."""
    built = ServiceSource.load(parse_document(text, Path("bakery.yaml"))).build(variant or Variant())
    assert isinstance(built, ServiceWorld)
    return built


def write_files(folder: Path, *, more: str = "", world_text: str = WORLD) -> Path:
    """Write world and scenario into a folder; the scenario's file."""
    (folder / "bakery.yaml").write_text(world_text)
    file = folder / "birthday.yaml"
    file.write_text(SCENARIO.format(world="bakery.yaml", more=more))
    return file


def scenario(folder: Path, *, more: str = "", world_text: str = WORLD) -> Scenario:
    """The scenario `birthday`, with more YAML keys at its end."""
    return load_scenario_file(write_files(folder, more=more, world_text=world_text), "birthday")
