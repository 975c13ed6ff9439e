"""Lists what is read by a string literal, in all Python but the tests. No result may be.

Each result has a type: of a bench, a replay, a run, a validation, a sweep, a comparison or a plan. So have
a calibration, a workload and an experiment. A misspelt key fails in mypy, not in a user's hands. Two modules
are apart. Series over time have columns by the names of nodes: `cxlab.run.results.series` alone subscripts
them. The description of a machine is a tree without types: `cxlab.description` alone reads ``spec``.

Three rules::

    x["..."], x[f"..."]     read: the module needs a row in `ALLOWED`
    x.get("..."), x["..."] = ...
                            the same, if the word is a field that results have and jobs have not
    x.spec[...], x["spec"]  in `cxlab.description` only
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

#: Folders whose modules are read. Tests are readers from outside: they read JSON as users do.
FOLDERS = ("python/cxlab", "experiments", "scripts", "workloads", "examples")
DESCRIPTION = "python/cxlab/description.py"
BORDER = "python/cxlab/border.py"
#: Fields whose names are everyday words: other documents have such keys.
WORDS = {"description", "name", "value", "windows"}
#: Methods of a dictionary that read a key.
READING = {"get", "pop", "setdefault"}

SCHEMA = "a JSON schema"
ENVIRONMENT = "variables of the environment"
UNITS = {"UNITS": "units by name"}
GROUPS = "groups of a regular expression"
ASSUMPTIONS = "assumptions by key"
OF_A_SIZE = {"asked": "values of the workload's size, as `cxlab workload` hands them over"}
BY_NODE = "shares of pages by the name of a node"

#: Expressions that are read by file, and what they are. None of them is a result of CXLab.
ALLOWED: dict[str, dict[str, str]] = {
    "python/cxlab/run/results/series.py": {
        "series": "columns over simulated time: the one module of results",
    },
    # A type, and the machine's description.
    BORDER: {"Literal": "a type"},
    DESCRIPTION: {
        name: "the tree of a machine file" for name in ("document", "lanes", "rate", "self.tree", "tree")
    },
    # Formats of others, each with one reader.
    "python/cxlab/run/host/process.py": {"json.loads(information)": "what bubblewrap says of its child"},
    "python/cxlab/run/host/qmp.py": {"message": "an answer of QEMU", "message['error']": "an answer of QEMU"},
    "scripts/build_site.py": {"schema": SCHEMA},
    "scripts/generate_border.py": {"schema": SCHEMA, "variant": SCHEMA},
    "scripts/check_imports.py": {
        name: "cargo's metadata of the workspace"
        for name in (
            *("d", "k", "link", "n", "nodes[package]", "p", "package", "packages[i]", "workspace"),
            "workspace['resolve']",
        )
    },
    "scripts/result_subscripts.py": {"notebook": "a notebook of Jupyter", "cell": "a cell of one"},
    "workloads/memo_client/measures.py": {
        name: "cxlab-memo's file, in the guest, whose Python has no cxlab to take a type from"
        for name in ("json.loads(Path(file).read_bytes())", "point")
    },
    # Files of the user.
    "python/cxlab/plan/applications.py": {
        "assumptions": ASSUMPTIONS,
        "table": "a table of the user's TOML file",
    },
    "python/cxlab/plan/prices.py": {"entry": "an entry of a price book"},
    "python/cxlab/sweep/file.py": {"table": "a table of the sweep's file"},
    "python/cxlab/sweep/workload.py": {
        name: "a table of the sweep's file" for name in ("found", "lists", "self.have")
    },
    # What a module makes or is told, by names of its own.
    "python/cxlab/calibrate/machine_files.py": {"found": GROUPS},
    "python/cxlab/calibrate/parameter.py": {"found": GROUPS},
    "python/cxlab/plan/quantity.py": {"match": GROUPS},
    "python/cxlab/cli/bench_host.py": {"given": "options of the command line"},
    "python/cxlab/cli/bench_options.py": {"given": "options of the command line"},
    "python/cxlab/cli/compare.py": {"option.settings": "settings of an option"},
    "python/cxlab/cli/start.py": {"asked.policy": "the policy that was asked for"},
    "python/cxlab/cli/study.py": {"process.resident": BY_NODE},
    "python/cxlab/place/study.py": {
        "study.document()": "a job for the model, which border types",
        "self.interval.processes[0].resident": BY_NODE,
    },
    "python/cxlab/plan/cost_report.py": {"self.values": ASSUMPTIONS},
    "python/cxlab/plan/cost_study.py": {"values": ASSUMPTIONS},
    "python/cxlab/plan/mix.py": {"values": ASSUMPTIONS},
    "python/cxlab/plan/mix_report.py": {"values": ASSUMPTIONS},
    "python/cxlab/plan/server.py": {"values": ASSUMPTIONS},
    "python/cxlab/report/page.py": {"trace": "a line of a chart for the browser"},
    "python/cxlab/run/host/checkpointing.py": {"ends": "ends of sockets by name"},
    "python/cxlab/run/host/supervisor.py": {"self.ports": "ports of the guest by name"},
    "python/cxlab/run/host/host_memory.py": UNITS,
    "python/cxlab/run/options/bounds.py": UNITS,
    "python/cxlab/run/options/placement.py": UNITS,
    "python/cxlab/run/options/processors.py": UNITS,
    "python/cxlab/run/options/sampling.py": {"given": "fields of an option's value", **UNITS},
    "python/cxlab/run/size.py": UNITS,
    "python/cxlab/run/options/environment.py": {"values": ENVIRONMENT},
    "python/cxlab/run/results/summary.py": {
        "file": "a file's entry that is being written",
        "found": "the program's entry that is being written",
    },
    "python/cxlab/sweep/execution.py": {"axes": "axes of a planned run", "job": "a job"},
    "python/cxlab/sweep/worker.py": {
        "asked": "a job of the worker",
        "asked['axes']": "axes of a planned run",
    },
    "examples/one_program_two_memories.ipynb": {"latency": "benches by the name of a node"},
    "workloads/duckdb-tpch/data.py": OF_A_SIZE,
    "workloads/duckdb-tpch/queries.py": {"os.environ": ENVIRONMENT},
    "workloads/duckdb-tpch/tpch.py": {"json.loads(profile.read_text())": "DuckDB's profile of a query"},
    "workloads/duckdb-tpch-drive/stream.py": {"os.environ": ENVIRONMENT},
    "workloads/duckdb-tpch-spilled/spilled.py": {"os.environ": ENVIRONMENT},
    "workloads/fio-page-cache/data.py": OF_A_SIZE,
    "workloads/llama-decode/decode.py": {
        "os.environ": ENVIRONMENT,
        "expected": "the model's prompt and probabilities, in the guest, whose Python has no cxlab",
        **dict.fromkeys(
            (
                "answer",
                "answer['choices'][0]",
                "answer['choices'][0]['logprobs']",
                "answer['timings']",
                "answer['usage']",
                "first",
                "one",
            ),
            "llama.cpp's answer to a request, in the form of OpenAI's",
        ),
    },
    "workloads/llama-decode/model.py": OF_A_SIZE,
    "workloads/postgresql-tpch/data.py": OF_A_SIZE,
    "workloads/postgresql-tpch/streams.py": {"os.environ": ENVIRONMENT},
    "workloads/redis-ycsb/data.py": OF_A_SIZE,
    "workloads/rocksdb-ycsb/data.py": OF_A_SIZE,
    "workloads/social-network/data.py": OF_A_SIZE,
    "workloads/embedding-torch/bag.py": {"os.environ": ENVIRONMENT},
    "workloads/spark-tpch/data.py": OF_A_SIZE,
    "workloads/spark-tpch/spark.py": {"os.environ": ENVIRONMENT},
    "workloads/social-network/logic.py": {
        "form": "a form of HTTP that a client sends",
        "query": "the query of an address that a client asks for",
    },
}


def fields_of_results(border: str) -> set[str]:
    """Names of the fields that results have; those that jobs have too are set in typed dictionaries."""
    fields: dict[bool, set[str]] = {True: set(), False: set()}
    for node in ast.parse(border).body:
        if isinstance(node, ast.ClassDef):
            named = [one.target for one in node.body if isinstance(one, ast.AnnAssign)]
            is_result = "Struct" in map(ast.unparse, node.bases)
            fields[is_result] |= {target.id for target in named if isinstance(target, ast.Name)}
    return fields[True] - fields[False] - WORDS


def python_of(file: Path) -> str:
    """The Python of a file. Of a notebook it is that of its cells."""
    if file.suffix != ".ipynb":
        return file.read_text()
    notebook = json.loads(file.read_bytes())
    return "\n".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code")


def read_by_literal(text: str, fields: set[str]) -> set[str]:
    """Expressions that a module reads by a string literal, or asks and sets by the name of a field."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Subscript(value=value, slice=key, ctx=ast.Load()) if _literal(key):
                found.add(ast.unparse(value))
            case ast.Subscript(value=value, slice=ast.Constant(value=str(key))) if key in fields:
                found.add(ast.unparse(value))
            case ast.Call(
                func=ast.Attribute(value=value, attr=method), args=[ast.Constant(value=str(key)), *_]
            ) if method in READING and key in fields:
                found.add(ast.unparse(value))
    return found


def _literal(key: ast.expr) -> bool:
    return isinstance(key, ast.JoinedStr) or (isinstance(key, ast.Constant) and isinstance(key.value, str))


def descriptions(text: str) -> Iterator[str]:
    """Expressions that ask a machine's description for a key, or a document for a description."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Subscript):
            asked = isinstance(node.slice, ast.Constant) and node.slice.value == "spec"
            of_it = isinstance(node.value, ast.Attribute) and node.value.attr == "spec"
            if asked or of_it:
                yield ast.unparse(node)


def faults(root: Path) -> list[str]:
    """Literals without a row, rows without a literal, and descriptions that are read elsewhere."""
    fields = fields_of_results((root / BORDER).read_text())
    found: dict[str, set[str]] = {}
    wrong = []
    for file in sorted(file for folder in FOLDERS for file in (root / folder).rglob("*")):
        if file.suffix not in (".py", ".ipynb"):
            continue
        path, text = str(file.relative_to(root)), python_of(file)
        found[path] = read_by_literal(text, fields)
        if path != DESCRIPTION:
            wrong += [
                f"{path}: `{one}`: only {DESCRIPTION} reads a description" for one in descriptions(text)
            ]
    wrong += [
        f"{path} reads `{name}` by a string literal. Give a result a type, as cxlab.border has them. "
        "Anything else gets a row in scripts/result_subscripts.py"
        for path, names in found.items()
        for name in sorted(names - set(ALLOWED.get(path, {})))
    ]
    wrong += [
        f"scripts/result_subscripts.py: {path} does not read `{name}` by a literal: remove the row"
        for path, names in ALLOWED.items()
        for name in sorted(set(names) - found.get(path, set()))
    ]
    return wrong
