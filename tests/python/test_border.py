"""The Python types of what crosses are those of the compiled model; one module imports it."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
from cxlab import _model, model
from cxlab.border import BenchPoint, RunResult
from cxlab.error import NotBuilt

ROOT = Path(__file__).resolve().parents[2]


def test_the_generated_types_are_not_stale() -> None:
    command = [sys.executable, "scripts/generate_border.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_stub_has_every_function_of_the_module_with_its_arguments() -> None:
    stub = ast.parse((ROOT / "python" / "cxlab" / "_model.pyi").read_text())
    declared = {
        node.name: [argument.arg for argument in node.args.args]
        for node in stub.body
        if isinstance(node, ast.FunctionDef)
    }
    functions = {name: f for name, f in vars(_model).items() if callable(f) and not isinstance(f, type)}
    signatures = {name: (f.__text_signature__ or "()").strip("()") for name, f in functions.items()}
    compiled = {name: text.split(", ") if text else [] for name, text in signatures.items()}
    assert declared == compiled


def test_only_the_door_imports_the_compiled_model() -> None:
    importers = set()
    for file in (ROOT / "python").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = (
                [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            )
            if "_model" in names or (isinstance(node, ast.ImportFrom) and node.module == "cxlab._model"):
                importers.add(file.name)
    assert importers == {"model.py"}


def test_a_result_is_written_as_the_model_wrote_it() -> None:
    job = {
        "machine": "8468v-asic",
        "placement": [{"node": "cxl", "weight": 1}],
        "threads": 0,
        "delay": 0,
        "work": {"walk": {"size": "64 KiB"}},
        "pages": "2MiB",
        "seed": 1,
    }
    raw = json.loads(_model.bench_point(json.dumps(job)))
    point = model.bench_point(job)  # type: ignore[arg-type]  # a dictionary of the test
    assert isinstance(point, BenchPoint)
    # Nothing is lost, added, or put in another order.
    assert json.dumps(model.document(point)) == json.dumps(raw)


def test_a_result_without_a_figure_is_refused() -> None:
    with pytest.raises(NotBuilt, match="machine"):
        model.run_result({"simulated_seconds": 1.0})
    assert "sampling" in RunResult.__struct_fields__


def test_a_model_of_another_version_is_said() -> None:
    with pytest.raises(NotBuilt, match=r"MCH001: .* is of another version .*: run `make build`"):
        model.run_result({})


DECODES_ITS_FIRST = """
import sys
from pathlib import Path
from types import SimpleNamespace
import msgspec
from cxlab import api, model
from cxlab.error import NotBuilt
from cxlab.run.errors import NoRun
from cxlab.run.results import finished

built = []
door = model._model = SimpleNamespace(CxlabError=model._model.CxlabError)
door.bench_point = door.run_study = lambda _: "{}"
door.run_caption = lambda _, heard: heard("{}") if calls_of_caption.pop() else "{}"
calls_of_caption = [False, True]
calls = [lambda: model.bench_point({}), lambda: model.study({})] + 2 * [lambda: model.caption({}, print)]
file = Path(sys.argv[1])
file.write_text('{"simulated_seconds": 1, "format": "cxlab-summary 1"}')
calls += [lambda: finished.of_summary(file), lambda: finished.of_replay(file)]
for number, call in enumerate(calls):
    sys.setprofile(lambda frame, *_: built.append(number) if "msgspec" in frame.f_code.co_filename else None)
    try:
        call()
    except (NotBuilt, NoRun, msgspec.ValidationError) as refused:
        sys.setprofile(None)
        assert "missing required" in str(refused), refused
print(built)
"""


def test_no_type_is_built_where_threads_decode(tmp_path: Path) -> None:
    # msgspec 0.22 builds a type where it is decoded first. Two threads that do so at once can crash.
    done = subprocess.run(
        [sys.executable, "-c", DECODES_ITS_FIRST, tmp_path / "summary.json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "[]\n", done.stdout + done.stderr
