"""The checker of floors finds upward and circular imports, wherever a path stands in a module's text."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from tests.loaded import loaded

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


@pytest.fixture(scope="module")
def checker() -> ModuleType:
    return loaded(SCRIPTS / "check_imports.py")


def crate(folder: Path, **files: str) -> Path:
    """A crate of these files; ``room__inner`` is room/inner.rs."""
    for name, text in {
        "lib": "mod low;\nmod high;\npub use low::Plain;\n",
        "low": "",
        "high": "",
        **files,
    }.items():
        file = folder / "src" / (name.replace("__", "/") + ".rs")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


FLOORS = ("low", "high")


def test_an_import_from_below_is_allowed(checker: ModuleType, tmp_path: Path) -> None:
    tree = crate(tmp_path, high="use crate::low::{self, Thing as Other};\nuse crate::Plain;\n")
    assert checker.floor_faults(tree, FLOORS) == []


@pytest.mark.parametrize(
    "text",
    [
        "use crate::high::Thing;",
        "pub use crate::{\n    high::{Thing, Other},\n};",
        "fn f() { crate::high::make(); }",
        "use super::high;",
        "use crate::*;",
    ],
)
def test_an_import_from_above_is_a_fault(checker: ModuleType, tmp_path: Path, text: str) -> None:
    (fault,) = checker.floor_faults(crate(tmp_path, low=text), FLOORS)
    assert "low.rs imports" in fault and "low is on floor 0" in fault


@pytest.mark.parametrize(
    "text",
    [
        "// use crate::high::Thing;",
        'const TEXT: &str = "crate::high::Thing";',
        "#[cfg(test)]\nmod tests { use crate::high::Thing; fn f() {} }",
        "use other_crate::high::Thing;",
    ],
)
def test_what_is_no_import_is_no_fault(checker: ModuleType, tmp_path: Path, text: str) -> None:
    assert checker.floor_faults(crate(tmp_path, low=text), FLOORS) == []


def test_modules_of_one_floor_do_not_import_each_other(checker: ModuleType, tmp_path: Path) -> None:
    tree = crate(tmp_path, low="use crate::high::A;", high="use crate::low::B;")
    assert len(checker.floor_faults(tree, ("low high",))) == 2


def test_a_row_may_name_an_inner_module(checker: ModuleType, tmp_path: Path) -> None:
    tree = crate(tmp_path, high="mod inner;\nuse inner::A;", high__inner="use super::B;")
    assert checker.floor_faults(tree, FLOORS) == []
    (fault,) = checker.floor_faults(tree, ("low", "high::inner", "high"))
    assert "high/inner.rs imports high" in fault


def test_every_module_has_a_floor_and_every_floor_a_module(checker: ModuleType, tmp_path: Path) -> None:
    faults = checker.floor_faults(crate(tmp_path), ("low", "gone"))
    assert [fault.split(":")[0] for fault in faults] == [
        f"{tmp_path.name} has no module gone",
        f"{tmp_path.name}",
    ]
