"""SQL over the rows of finished runs, by DuckDB.

::

    statistics    a row a statistic, as the files have it, and the sweep's name
    runs          a row a point: the axes, and a column for each statistic of few parts, its dots underscores

    SELECT machine, placement, latency_ns FROM runs WHERE workload = 'idle' ORDER BY ALL
    SELECT settings['KEY'], value FROM statistics WHERE statistic = 'nodes.cxl.read_mb_s'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cxlab.error import Code, InputError
from cxlab.sweep.folder import MANIFEST, SweepFolder, manifest

#: Columns of both tables.
AXES = ("sweep", "run", "machine", "settings", "placement", "workload", "seed", "point")
#: A statistic's parts up to which it is a column of `runs`: nodes.cxl.read_mb_s, but no channel of a port.
PARTS = 3


@dataclass(frozen=True)
class Answer:
    """Answer to a query: a table."""

    headings: Sequence[str]
    rows: Sequence[Sequence[Any]]


def finished(folder: Path) -> dict[str, list[Path]]:
    """Files of finished runs by the sweep's name, of every sweep in ``folder``, in the order of each sweep.

    Raises:
        InputError: there is no sweep, or none of its runs is finished.

    """
    found: dict[str, list[Path]] = {}
    for path in sorted([folder / MANIFEST, *folder.glob(f"*/{MANIFEST}")]):
        if path.is_file():
            have = SweepFolder(path.parent)
            listed = [have.file(run.run) for run in manifest(path.parent).runs]
            files = [file for file in listed if file.is_file()]
            if files:
                found[path.parent.resolve().name] = files
    if not found:
        valid = "the folder of a sweep, or one with such folders; `cxlab sweep FILE.toml` makes one"
        raise InputError(Code.SWEEP, str(folder), "has no finished run of a sweep", valid)
    return found


def ask(question: str, folder: Path) -> Answer:
    """The answer to one statement of SQL.

    Raises:
        InputError: the folder has no sweep, or DuckDB refuses the statement.

    """
    import duckdb

    files = finished(folder)
    with duckdb.connect() as database:
        database.execute("SET threads TO 2")
        parts = []
        for number, (name, paths) in enumerate(files.items()):
            database.execute(f"SET VARIABLE files_{number} = ?", [[str(path) for path in paths]])
            quoted = name.replace("'", "''")
            parts.append(f"SELECT '{quoted}' AS sweep, * FROM read_parquet(getvariable('files_{number}'))")
        database.execute(f"CREATE TABLE statistics AS {' UNION ALL BY NAME '.join(parts)}")
        _pivot(database)
        # A question reads: it writes no file, loads nothing and leaves nothing.
        database.execute("SET enable_external_access = false")
        try:
            answer = database.execute(question)
            headings = [column[0] for column in answer.description or ()]
            return Answer(headings, answer.fetchall())
        except duckdb.Error as error:
            valid = f"one statement of DuckDB's SQL over `runs` and `statistics` (columns: {', '.join(AXES)})"
            raise InputError(Code.SWEEP, "SQL", str(error).strip(), valid) from None


def _pivot(database: Any) -> None:
    axes = ", ".join(AXES)
    few = f"len(string_split(statistic, '.')) <= {PARTS}"
    column = "replace(statistic, '.', '_')"
    database.execute(
        f"CREATE TABLE runs AS PIVOT (SELECT {axes}, {column} AS name, value FROM statistics WHERE {few}) "
        f"ON name USING first(value) GROUP BY {axes}"
    )
