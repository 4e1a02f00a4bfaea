"""A small search world for tests, as text: every construct once, in few pages."""

UNIVERSE = """\
kind: search
name: small_universe
seed: 3
clock: {start: 2090-06-01T00:00:00Z}
flavours:
  sea: {onsets: [m, l, v, s, t, n, r, d, p, k, br], nuclei: [a, e, i, o, u, ae, ou], codas: ["", "", n, l, s]}
units: {lek: {is: 1.5, of: km}}
entities:
  port:
    count: 6
    aliases: {former: 0.5, short: 0.5}
    attributes:
      name: {name: "{sea} {sea} Harbour"}
      founded: {date: [1990-01-01, 2040-12-31]}
      quay: {quantity: {normal: [900, 300]}, unit: m, min: 100, digits: 1}
      climate: {category: [mild, stormy, frozen]}
      place: {coordinates: [[-40, 40], [-100, 100]]}
  ship:
    count: 24
    attributes:
      name: {name: sea}
      home: {ref: port}
      launched: {date: [home.founded+1d, now-30d]}
      refitted: {date: [launched, now], optional: 0.5}
      crew: {number: {lognormal: [30, 2]}, min: 3, changes: 1y}
      price: {money: [100000, 9000000], currency: crowns, step: 500}
      armed: {flag: 0.4}
      plate: {code: "@@-####"}
relations:
  visit:
    from: ship
    to: port
    each: [1, 3]
    during: [ship.launched, now]
    attributes: {berth: {number: [1, 9]}}
derived:
  port.ships: select count(*) from ship where home = :id
  port.newest: {sql: "select max(launched) from ship where home = :id", kind: date, optional: true}
  port.age: {sql: "select cast(substr(:now, 1, 4) as integer) - cast(substr(founded, 1, 4) as integer) from port where id = :id"}
constraints:
  ships are younger than their ports: select s.name from ship s join port p on p.id = s.home where s.launched <= p.founded
sites:
  office:
    domain: office.sea.example
    title: Harbour Office
    kind: official
    pages:
      - home: true
        title: Harbour Office
        body:
          - "Everything is here: {{ 'all ships'|link('ships') }}. As of {{ page.date }}."
          - |
            Ports:

            {% for port in ports[:10] %}
            - {{ port|link }}, {{ port.climate }}
            {% endfor %}
      - for: port
        url: /ports/{{ slug }}
        title: "{{ port }}"
        body:
          - - "{{ port }} was founded on {{ port.founded }} and has a quay of {{ port.quay|in('lek') }}, home to {{ port.ships }} ships."
            - "Since {{ port.founded|us }} there has been {{ port }}, with a quay of {{ port.quay }} and {{ port.ships }} ships."
          - "{% if port.former %}It was once {{ port.former }}.{% endif %}"
          - |
            {% for ship in port.ships_by_home[:5] %}
            - {{ ship|link }}: {{ ship.price|scaled(1) }}, {{ ship.armed|words('armed', 'unarmed') }}
            {% else %}
            No ship is at home here.
            {% endfor %}
          - "It lies at {{ port.place|dms }}. The newest ship: {{ port.newest|or('none') }}. A {{ port.climate|link }} place."
      - list: ship
        as: ships
        url: /ships
        per_page: 10
        title: All ships
        body:
          - "There are {{ page.members }} of them."
          - table: {of: members, columns: [name|link, home, refitted|iso, plate]}
      - list: port
        by: climate
        url: /climate/{{ group }}
        title: "Ports that are {{ group }}"
        body: ["Ports that are {{ group }}:", {table: {columns: [name|link, founded|year]}}]
  gossip:
    domain: gossip.test
    title: Gossip
    kind: forum
    lag: 200d
    reliability: 0.7
    aliases: 0.5
    pages:
      - for: ship
        share: 0.8
        url: /about/{{ slug }}
        title: ["{{ ship }}", "What of {{ ship }}?"]
        date: ship.launched+10d
        body:
          - "They say {{ ship }} is {{ ship.home|link }}'s, cost {{ ship.price|about(2) }} and has a crew of {{ ship.crew }}."
          - sheet: {fields: [launched|iso, refitted, plate, home.climate]}
          - |
            {% for visit in ship.visits %}
            - in {{ visit.port }}, berth {{ visit.berth }}, since {{ visit.since }}{% if visit.until %} and to {{ visit.until }}{% endif %}
            {% endfor %}
"""
