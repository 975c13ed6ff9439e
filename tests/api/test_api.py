"""The functions for notebooks have the commands' options, typed results and frames. The example runs."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pandas
import polars
import pytest
from cxlab import api
from cxlab.error import InputError, RefusedByModel

NOTEBOOK = Path(__file__).resolve().parents[2] / "examples" / "one_program_two_memories.ipynb"


def test_a_bench_has_the_points_of_the_command() -> None:
    found = api.bench("latency", machine="8468v-asic", node="dram", size=["1MiB", "64KiB"])
    assert [row["size"] for row in found.rows()] == ["1 MiB", "64 KiB"]
    # 64 KiB do not fit in L1 (48 KiB), 1 MiB fits in L2 (2 MiB): the walk over more lines is not quicker.
    larger, smaller = (row["latency_ns"] for row in found.rows())
    assert larger >= smaller > 0
    assert "1 MiB" in str(found) and "<pre>" in found._repr_html_()


def test_what_is_not_there_is_named_with_what_is() -> None:
    with pytest.raises(InputError, match="`latncy` is no bench; valid: bandwidth, embedding, latency"):
        api.bench("latncy")
    with pytest.raises(InputError, match=r"API001: mebind: run has no such option; valid: .*membind"):
        api.run("true", mebind="cxl")
    with pytest.raises(RefusedByModel, match="spr-a1000"):
        api.bench("latency", machine="spr-a1001", node="cxl")
    with pytest.raises(api.RunFailed, match="nowhere") as failed:
        api.run("true", membind="nowhere")
    assert failed.value.code == "MCH011"


def test_the_notebook_runs_and_its_results_are_tables_and_frames(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One boot. Cells run in order in one namespace, as a notebook's kernel runs them."""
    monkeypatch.chdir(tmp_path)
    named: dict[str, Any] = {}
    last = None
    for cell in json.loads(NOTEBOOK.read_text())["cells"]:
        if cell["cell_type"] == "code":
            tree = ast.parse("".join(cell["source"]))
            if isinstance(tree.body[-1], ast.Expr):
                shown = ast.Expression(tree.body.pop().value)  # type: ignore[attr-defined]
                exec(compile(tree, str(NOTEBOOK), "exec"), named)
                last = eval(compile(shown, str(NOTEBOOK), "eval"), named)
            else:
                exec(compile(tree, str(NOTEBOOK), "exec"), named)
    assert last is None  # a print
    recorded, moved, comparison = named["recorded"], named["moved"], named["comparison"]
    assert recorded.exit_status == 0 and recorded.stdout.endswith(b"/bin/bash\n")
    # The trace is the program: the same instructions, and more time where loads take longer.
    assert moved.result.instructions == recorded.result.instructions
    assert moved.result.simulated_seconds > recorded.result.simulated_seconds
    assert "all CXL" in comparison._repr_html_() and "times the first" in str(comparison)
    frame = comparison.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and list(frame["run"].unique()) == ["all DRAM", "all CXL"]
    assert len(recorded.series()) > 0
    assert isinstance(comparison.to_polars(), polars.DataFrame)
