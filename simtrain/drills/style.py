"""The style sheet of the report: readable by day and by night, on paper and on a narrow screen."""

from __future__ import annotations

STYLE = """
:root { --paper: #fbfbf9; --card: #fff; --ink: #1d2126; --soft: #5f6873; --faint: #e4e5e1; --rule: #cdd0cc;
  --s0: #2762c4; --s1: #c9611a; --bad: #b3261e; --good: #1f7a4d;
  --r0: #2762c4; --r1: #7fb0ee; --r2: #2d9d78; --r3: #8c63c7; --r4: #8b939c; --r5: #d9a514; --r6: #b3261e; }
@media screen and (prefers-color-scheme: dark) { :root { color-scheme: dark;
  --paper: #15181b; --card: #1d2125; --ink: #e8e9e6; --soft: #9aa3ac; --faint: #2c3136; --rule: #444b52;
  --s0: #6ea2f5; --s1: #f0964f; --bad: #f2827a; --good: #63c495;
  --r0: #5b92ea; --r1: #a5caf7; --r2: #4fbf98; --r3: #b08fe3; --r4: #7d868f; --r5: #e3ba45; --r6: #e8726a; } }
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink); 
  font: 15px/1.55 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif }
main { max-width: 1080px; margin: 0 auto; padding: 40px 24px 80px }
h1 { font-size: 30px; line-height: 1.2; margin: 0 0 4px; letter-spacing: -.01em }
h2 { font-size: 20px; margin: 52px 0 4px }
h3 { font-size: 15px; margin: 18px 0 6px }
p { margin: 4px 0 14px; max-width: 78ch }
.soft { color: var(--soft) }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(116px, 1fr)); gap: 12px; margin: 18px 0 }
.tile { background: var(--card); border: 1px solid var(--faint); border-radius: 10px; padding: 12px }
.tile b { display: block; font-size: 22px; line-height: 1.3; font-weight: 650; font-variant-numeric: tabular-nums }
.tile span { color: var(--soft); font-size: 13px; display: block }
.tile.bad b { color: var(--bad) } .tile.good b { color: var(--good) }
.card { background: var(--card); border: 1px solid var(--faint); border-radius: 10px; padding: 16px; margin: 10px 0; overflow-x: auto }
.notice { border-left: 4px solid var(--bad); background: var(--card); padding: 10px 16px; margin: 18px 0; border-radius: 0 8px 8px 0 }
.notice.quiet { border-color: var(--rule) }
.notice ul { margin: 4px 0 0; padding-left: 20px }
.key { display: flex; flex-wrap: wrap; gap: 4px 18px; font-size: 13px; color: var(--soft); margin: 6px 0 }
.key i { display: inline-block; width: 11px; height: 11px; border-radius: 3px; margin-right: 6px }
.key i.k-dot { width: 9px; height: 9px; border-radius: 50%; background: var(--s0) }
.key i.k-line { width: 20px; height: 3px; vertical-align: middle; background: var(--s0); opacity: .55 }
.key i.k-thin { width: 20px; height: 1px; vertical-align: middle; background: var(--ink) }
.key i.k-bar { width: 20px; background: var(--s0) } .key i.k-band { width: 20px; background: var(--s0); opacity: .2 }
.key i.k-dash { width: 20px; height: 0; vertical-align: middle; border-top: 2px dashed var(--s0); border-radius: 0 }
.grid2 { display: grid; grid-template-columns: repeat(auto-fill, minmax(300px, 1fr)); gap: 10px }
.card > svg { min-width: 620px }
.grid2 .card > svg { min-width: 0 }
.grid2 .card { margin: 0; padding: 10px }
svg { width: 100%; height: auto; display: block; font-family: inherit }
svg text { font-size: 12.5px; fill: var(--ink) }
svg .tick, svg .heading { fill: var(--soft); font-size: 11.5px }
svg .heading { font-size: 12.5px } svg .small { font-size: 11.5px }
svg .value, svg .tick { font-variant-numeric: tabular-nums; white-space: pre }
svg .grid { stroke: var(--faint) } svg .zero { stroke: var(--soft) }
svg .whisker { stroke: var(--ink); stroke-opacity: .65; stroke-width: 1.2 }
svg .ci { stroke-width: 2.4; stroke-opacity: .55; stroke-linecap: round }
svg .level { stroke-dasharray: 4 4; stroke-opacity: .7 }
svg .curve { fill: none; stroke-width: 2 } svg .band { fill-opacity: .14; stroke: none }
svg circle.s0, svg rect.s0, svg .band.s0 { fill: var(--s0) } svg circle.s1, svg rect.s1, svg .band.s1 { fill: var(--s1) }
svg line.s0, svg .curve.s0 { stroke: var(--s0) } svg line.s1, svg .curve.s1 { stroke: var(--s1) }
svg .r0 { fill: var(--r0) } svg .r1 { fill: var(--r1) } svg .r2 { fill: var(--r2) } svg .r3 { fill: var(--r3) }
svg .r4 { fill: var(--r4) } svg .r5 { fill: var(--r5) } svg .r6 { fill: var(--r6) }
@media screen and (prefers-color-scheme: dark) {
  svg rect.s0:not(.band), svg rect.s1:not(.band), .key i.k-bar { opacity: .45 } svg .whisker { stroke-opacity: 1 } }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; width: 100% }
th, td { text-align: right; padding: 5px 7px; border-bottom: 1px solid var(--faint); white-space: nowrap }
th { color: var(--soft); font-weight: 500; vertical-align: bottom; white-space: normal; line-height: 1.25 }
th:first-child, td:first-child { text-align: left; padding-left: 0; position: sticky; left: -16px; background: var(--card) }
td:first-child { max-width: 270px; overflow: hidden; text-overflow: ellipsis }
tbody tr:hover td { background: var(--faint) }
details { background: var(--card); border: 1px solid var(--faint); border-radius: 10px; margin: 8px 0 }
summary { cursor: pointer; padding: 10px 16px }
summary em { font-style: normal; color: var(--bad); font-weight: 600 }
.episode { padding: 0 16px 14px; font-size: 13.5px }
.step { border-left: 3px solid var(--faint); padding: 2px 0 2px 12px; margin: 8px 0 }
.step.fault { border-color: var(--bad) }
.fixes { margin: 10px 0; padding: 6px 16px 6px 42px }
.fixes li { padding: 10px 0; border-bottom: 1px solid var(--faint) } .fixes li:last-child { border: 0 }
.fixes li b { font-weight: 600; display: block } .fixes li span { color: var(--soft); display: block }
pre.do { background: var(--paper); border: 1px solid var(--faint); border-radius: 6px; padding: 6px 10px; margin: 6px 0 0 }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 6px 14px; margin: 4px 0 }
@media (max-width: 720px) { .pair { grid-template-columns: 1fr } }
.pair > div { border-top: 2px solid var(--faint); min-width: 0 } .pair > .bent { border-color: var(--bad) }
.pair small, .delay { color: var(--soft); font-size: 12px }
.mark { color: var(--bad); font-weight: 600 }
pre { margin: 2px 0; white-space: pre-wrap; overflow-wrap: anywhere; font: 12.5px/1.45 ui-monospace, "DejaVu Sans Mono", monospace }
@media print { body { background: #fff } details { break-inside: avoid } }
"""
