"""The page: HTML, its style, Plotly and the charts' data, all in one file.

The content security policy forbids every request, so the file cannot depend on a network.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from cxlab.report.chart import Cell, Chart
from cxlab.report.cost_form import CostForm
from cxlab.report.topology import Topology

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; }
body { margin: 0 auto; max-width: 76rem; padding: 1rem; }
a, summary, label { color: #124c7c; } a:focus, summary:focus, input:focus { outline: 3px solid #d95f0e; }
.skip { position: absolute; left: -99rem; } .skip:focus { left: 1rem; background: #fff; padding: .5rem; }
nav ul { display: flex; flex-wrap: wrap; gap: 1rem; list-style: none; padding: 0; }
figure { margin: 1rem 0; }
.plot { height: 26rem; }
form.cost fieldset { margin-bottom: .5rem; } form.cost output { font-variant-numeric: tabular-nums; }
fieldset { border: 1px solid #767676; display: flex; flex-wrap: wrap; gap: .2rem 1rem; }
table { border-collapse: collapse; }
th, td { border: 1px solid #767676; padding: .2rem .5rem; text-align: left; }
td.n { text-align: right; font-variant-numeric: tabular-nums; } .wide { overflow-x: auto; }
.topology rect { fill: #f4f7fa; stroke: #1a1a1a; } .topology line { stroke: #1a1a1a; stroke-width: 2; }
.topology text { font-size: 13px; text-anchor: middle; fill: #1a1a1a; }
"""

SCRIPT = """
for (const figure of document.querySelectorAll("figure[data-chart]")) {
  const plot = figure.querySelector(".plot");
  const {traces, layout} = JSON.parse(figure.querySelector("script").textContent);
  const common = {margin: {t: 20, r: 20}, legend: {orientation: "h", y: -0.25}, font: {size: 13}};
  Plotly.newPlot(plot, traces, {...common, ...layout}, {responsive: true, displaylogo: false});
  figure.querySelectorAll("input").forEach((box, place) =>
    box.addEventListener("change", () => Plotly.restyle(plot, {visible: box.checked}, [place])));
}
"""

POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"


@dataclass(frozen=True)
class Facts:
    """A table of what was asked, or of what came out."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[Cell]]


#: What a page can show.
Part = Facts | Chart | Topology | CostForm


@dataclass(frozen=True)
class Report:
    """Content of the page, in its order."""

    title: str
    #: one or two sentences first
    summary: str
    parts: Sequence[Part]


def html(report: Report) -> str:
    """The whole file's text."""
    # The import takes a second.
    from plotly.offline import get_plotlyjs

    numbered = [(f"part-{number}", part) for number, part in enumerate(report.parts, 1)]
    links = "".join(f'<li><a href="#{name}">{escape(_title(part))}</a></li>' for name, part in numbered)
    sections = "".join(_section(name, part) for name, part in numbered)
    title = escape(report.title)
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,"><style>{STYLE}</style></head>
<body><a class="skip" href="#main">Skip to the content</a>
<header><h1>{title}</h1><p>{escape(report.summary)}</p>
<nav aria-label="Parts of this report"><ul>{links}</ul></nav></header>
<main id="main">{sections}</main>
<script>{get_plotlyjs()}</script><script>{SCRIPT}</script></body></html>
"""


def _title(part: Part) -> str:
    return f"Topology of {part.machine}" if isinstance(part, Topology) else part.title


def _section(name: str, part: Part) -> str:
    match part:
        case Facts():
            inner = _table(part.headings, part.rows)
        case Chart():
            inner = _chart(name, part)
        case CostForm():
            inner = part.html()
        case Topology():
            words = "".join(f"<li>{escape(sentence)}</li>" for sentence in part.words())
            drawing = f'<div class="wide topology">{part.svg()}</div>'
            inner = f"{drawing}<details><summary>In words</summary><ul>{words}</ul></details>"
    return f'<section aria-labelledby="{name}"><h2 id="{name}">{escape(_title(part))}</h2>{inner}</section>'


def _chart(name: str, chart: Chart) -> str:
    data = json.dumps({"traces": list(chart.traces), "layout": chart.layout}).replace("</", "<\\/")
    boxes = "".join(
        f'<label><input type="checkbox" checked> {escape(str(trace["name"]))}</label>'
        for trace in chart.traces
    )
    return f"""<figure data-chart="{name}"><figcaption>{escape(chart.alt)}</figcaption>
<div class="plot" role="img" aria-label="{escape(chart.alt)}"></div>
<fieldset><legend>Series shown</legend>{boxes}</fieldset>
<details><summary>Numbers</summary>{_table(chart.headings, chart.rows)}</details>
<script type="application/json">{data}</script></figure>"""


def _table(headings: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in headings)
    body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(value: Cell) -> str:
    if value is None:
        return "<td>-</td>"
    if isinstance(value, str):
        return f"<td>{escape(value)}</td>"
    return f'<td class="n">{value:.6g}</td>' if isinstance(value, float) else f'<td class="n">{value:,}</td>'
