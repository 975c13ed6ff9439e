"""The Abstract Cost Model as a form: a slider for each end of each input, and what they come to.

::

    R_d  low --o--   nominal ---o--   high ----o-      CXL memory pays: 67.29 % of the servers, 25.98 % less
    R_c  ...                                           between 20.1 % and 30.2 % at the ends of all intervals
    C, R_t                                             saving over R_c, as a line

The page works the model out in the browser. A test in Chromium compares it with
`cxlab.plan.abstract_cost_model`, which has the equations, their source and their limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

ENDS = ("low", "nominal", "high")

SCRIPT = """
const gain = r => 1 - 1 / r;
const ratio = v => gain(v.r_d) / (gain(v.r_d) + gain(v.r_c) / v.c);
const saving = v => 1 - v.r_t * ratio(v);
// The saving falls with R_d, C and R_t, and rises with R_c: its ends are at these corners.
const LEAST = {r_d: "high", r_c: "low", c: "high", r_t: "high"};
const MOST = {r_d: "low", r_c: "high", c: "low", r_t: "low"};
const percent = x => (100 * x).toFixed(2) + " %";
addEventListener("DOMContentLoaded", () => {
  const form = document.querySelector("form.cost");
  const slider = (key, end) => form.elements[`${key}-${end}`];
  const at = ends => Object.fromEntries(Object.keys(ends).map(key => [key, +slider(key, ends[key]).value]));
  const keep = (key, end) => {
    const [low, nominal, high] = ["low", "nominal", "high"].map(one => slider(key, one));
    if (end !== "high" && +high.value < +slider(key, end).value) high.value = slider(key, end).value;
    if (end !== "low" && +low.value > +slider(key, end).value) low.value = slider(key, end).value;
    nominal.value = Math.min(Math.max(+nominal.value, +low.value), +high.value);
  };
  const show = () => {
    for (const input of form.querySelectorAll("input"))
      input.nextElementSibling.value = (+input.value).toPrecision(4);
    const v = at({r_d: "nominal", r_c: "nominal", c: "nominal", r_t: "nominal"});
    const verdict = form.querySelector("output[name=verdict]");
    const ends = form.querySelector("output[name=ends]");
    const problem = [at(LEAST), at(MOST), v].some(one => one.r_c > one.r_d);
    if (problem) {
      verdict.value = "R_c is above R_d: CXL memory cannot be faster than main memory in this model.";
      ends.value = "";
      return;
    }
    const won = saving(v);
    const work = `the same work takes ${percent(ratio(v))} of the servers`;
    verdict.value = won > 0 ? `CXL memory pays: ${work} and costs ${percent(won)} less.`
                            : `CXL memory does not pay: ${work} and costs ${percent(-won)} more.`;
    ends.value = `At the ends of all intervals the saving is ${percent(saving(at(LEAST)))} to `
               + `${percent(saving(at(MOST)))}.`;
    const x = Array.from({length: 61}, (_, place) => 1 + place * (v.r_d - 1) / 60);
    const line = of => x.map(r_c => 100 * saving({...of, r_c}));
    const traces = [["least", at(LEAST), "dot"], ["nominal", v, "solid"], ["most", at(MOST), "dash"]].map(
      ([name, of, dash]) => ({x, y: line(of), name, mode: "lines", line: {dash}}));
    const marker = {size: 10, color: "#000"};
    traces.push({x: [v.r_c], y: [100 * won], name: "this R_c", mode: "markers", marker});
    const layout = {margin: {t: 20, r: 20}, xaxis: {title: {text: "R_c"}},
                    yaxis: {title: {text: "TCO saving [%]"}}, legend: {orientation: "h", y: -0.25}};
    Plotly.react(form.querySelector(".plot"), traces, layout, {responsive: true, displaylogo: false});
  };
  form.addEventListener("input", event => {
    const [key, end] = event.target.name.split("-");
    keep(key, end);
    show();
  });
  show();
});
"""


@dataclass(frozen=True)
class Input:
    """An input of the model: its interval, and the range of its sliders."""

    key: str
    meaning: str
    low: float
    nominal: float
    high: float
    least: float
    most: float

    def html(self) -> str:
        """Write a slider for each end."""
        sliders = "".join(
            f"<label>{end} <input type='range' name='{self.key}-{end}' min='{self.least:.6g}' "
            f"max='{self.most:.6g}' step='any' value='{value:.6g}'><output></output></label>"
            for end, value in zip(ENDS, (self.low, self.nominal, self.high), strict=True)
        )
        return f"<fieldset><legend>{escape(self.meaning)}</legend>{sliders}</fieldset>"


@dataclass(frozen=True)
class CostForm:
    """The form, with the inputs as they were asked."""

    title: str
    inputs: Sequence[Input]

    def html(self) -> str:
        """Write the form and its script."""
        fields = "".join(one.html() for one in self.inputs)
        alt = "TCO saving over R_c: at the nominal values, and at the ends of the intervals."
        return (
            f"<form class='cost'>{fields}"
            "<p aria-live='polite'><strong><output name='verdict'></output></strong> "
            "<output name='ends'></output></p>"
            f"<div class='plot' role='img' aria-label='{alt}'></div></form><script>{SCRIPT}</script>"
        )
