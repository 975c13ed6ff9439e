"""Every file says its format and its version, and a reader refuses another one by name."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cxlab.error import InputError
from cxlab.file_format import KEY, Format, other
from cxlab.output import write_json, write_parquet
from cxlab.plan.runs import read_runs
from cxlab.run.errors import NoRun
from cxlab.run.results import finished
from pyarrow import parquet

SOURCES = Path(__file__).parents[2]


def test_each_format_has_a_name_of_its_own_and_a_version() -> None:
    names = [re.fullmatch(r"cxlab-([a-z-]+) ([1-9][0-9]*)", form.value) for form in Format]
    assert all(names) and len({name[1] for name in names if name}) == len(Format)


def test_a_file_says_its_format_first(tmp_path: Path) -> None:
    write_json(tmp_path / "file.json", {"figure": 1}, Format.BENCH)
    assert json.loads((tmp_path / "file.json").read_bytes()) == {"format": "cxlab-bench 1", "figure": 1}
    assert (tmp_path / "file.json").read_text().startswith('{\n  "format": ')
    write_parquet(tmp_path / "file.parquet", {"time_s": [0.5]}, Format.SERIES)
    assert parquet.read_schema(tmp_path / "file.parquet").metadata[b"format"] == b"cxlab-series 1"


WRITES_A_TABLE = """
import sys
from array import array
from pathlib import Path
from cxlab.file_format import Format
from cxlab.output import write_parquet
columns = {"time_s": array("d", [0.5, 1]), "ipc": array("d", [1e-3, 2])}
write_parquet(Path(sys.argv[1]), columns, Format.SERIES)
print("pandas" in sys.modules)
"""


def test_a_table_is_written_without_pandas_whose_import_takes_longer_than_a_small_run(tmp_path: Path) -> None:
    file = tmp_path / "file.parquet"
    command = [sys.executable, "-c", WRITES_A_TABLE, file]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "False\n"
    assert parquet.read_table(file).to_pydict() == {"time_s": [0.5, 1.0], "ipc": [1e-3, 2.0]}


def test_a_table_has_words_and_empty_places(tmp_path: Path) -> None:
    columns = {"what": ["p99", "share"], "paper": [1.5, None]}
    write_parquet(tmp_path / "file.parquet", columns, Format.EXPERIMENT)
    assert parquet.read_table(tmp_path / "file.parquet").to_pydict() == columns


def test_a_file_of_before_formats_is_read_and_another_version_is_named() -> None:
    assert other({"figure": 1}, Format.SUMMARY) is None
    assert other({KEY: "cxlab-summary 1"}, Format.SUMMARY) is None
    assert other({KEY: "cxlab-summary 2"}, Format.SUMMARY) == (
        "its format is 'cxlab-summary 2'; valid: 'cxlab-summary 1'"
    )
    assert "valid: 'cxlab-summary 1'" in str(other({KEY: ["x"]}, Format.SUMMARY))


def test_readers_refuse_another_version(tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text('{"format": "cxlab-summary 7", "complete": true}')
    with pytest.raises(NoRun, match=r"its format is 'cxlab-summary 7'.*Read it with the CXLab that wrote it"):
        finished.read(tmp_path)
    with pytest.raises(InputError, match="cxlab-summary 7"):
        read_runs(str(tmp_path))
