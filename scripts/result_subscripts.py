"""Lists the subscripts by string literals in ``python/cxlab``. Only one module may subscript results.

A result of a bench, a replay, a run, a validation, a sweep, a comparison, a plan, a calibration or a workload
has a type. So a misspelt key fails in mypy, not in a user's hands. Series over time have columns by the names
of nodes; `cxlab.run.results.series` alone subscripts them.
"""

from __future__ import annotations

import ast
from pathlib import Path

#: Subscripted expressions by module, and what they are. None of them is a result.
ALLOWED: dict[str, dict[str, str]] = {
    "run.results.series": {"series": "columns over simulated time: the one module of results"},
    "border": {"Literal": "a type"},
    "description": {
        name: "the tree of a machine file"
        for name in ("document", "drive", "lanes", "rate", "self.tree", "tree")
    },
    "bench.figures": {
        "have": "settings of a row of validation/points.toml",
        "self.settings": "settings of a row of validation/points.toml",
        "row": "a row of validation/points.toml",
        "tomllib.loads(model.validation_figures())": "validation/points.toml",
    },
    "report.of_sweep": {"have": "settings of a row of validation/points.toml"},
    "calibrate.machine_files": {"found": "groups of a regular expression"},
    "calibrate.parameter": {"found": "groups of a regular expression"},
    "plan.quantity": {"match": "groups of a regular expression"},
    "cli.bench_host": {"given": "options of the command line"},
    "cli.bench_options": {"given": "options of the command line"},
    "cli.compare": {"option.settings": "settings of an option"},
    "cli.start": {"asked.policy": "the policy that was asked for"},
    "run.options.sampling": {"given": "fields of an option's value"},
    "place.study": {"study.document()": "a job for the model, which border types"},
    "plan.applications": {"assumptions": "assumptions by key", "table": "a table of the user's TOML file"},
    "plan.cost_report": {"self.values": "assumptions by key"},
    "plan.cost_study": {"values": "assumptions by key"},
    "plan.mix": {"values": "assumptions by key"},
    "plan.mix_report": {"values": "assumptions by key"},
    "plan.server": {"values": "assumptions by key"},
    "plan.prices": {"entry": "an entry of a price book"},
    "report.page": {"trace": "a line of a chart for the browser"},
    "run.host.checkpointing": {"ends": "ends of sockets by name"},
    "run.host.supervisor": {"self.ports": "ports of the guest by name"},
    "run.host.process": {"json.loads(information)": "what bubblewrap says of its child"},
    "run.host.qmp": {"message": "an answer of QEMU", "message['error']": "an answer of QEMU"},
    "run.host.host_memory": {"UNITS": "units by name"},
    "run.options.bounds": {"UNITS": "units by name"},
    "run.options.placement": {"UNITS": "units by name"},
    "run.options.processors": {"UNITS": "units by name"},
    "run.size": {"UNITS": "units by name"},
    "run.options.environment": {"values": "variables of the environment"},
    "run.results.summary": {
        "file": "a file's entry that is being written",
        "found": "the program's entry",
    },
    "sweep.execution": {"axes": "axes of a planned run", "job": "a job"},
    "sweep.worker": {"asked": "a job of the worker", "asked['axes']": "axes of a planned run"},
    "sweep.file": {"table": "a table of the sweep's file"},
    "sweep.workload": {name: "a table of the sweep's file" for name in ("found", "lists", "self.have")},
}


def subscripted(text: str) -> set[str]:
    """Expressions that a module reads by a string literal, f-strings included."""
    return {
        ast.unparse(node.value)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Load)
        and (
            isinstance(node.slice, ast.JoinedStr)
            or (isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str))
        )
    }


def faults(sources: Path) -> list[str]:
    """Subscripts without a row, and rows without a subscript."""
    found = {}
    for file in sorted(sources.rglob("*.py")):
        parts = file.relative_to(sources).with_suffix("").parts
        found[".".join(parts)] = subscripted(file.read_text())
    wrong = [
        f"python: cxlab.{module} subscripts `{name}` by a string literal. Give a result a type, as "
        "cxlab.border has them. Anything else gets a row in scripts/result_subscripts.py"
        for module, names in found.items()
        for name in sorted(names - set(ALLOWED.get(module, {})))
    ]
    wrong += [
        f"scripts/result_subscripts.py: cxlab.{module} does not subscript `{name}`: remove the row"
        for module, names in ALLOWED.items()
        for name in sorted(set(names) - found.get(module, set()))
    ]
    return wrong
