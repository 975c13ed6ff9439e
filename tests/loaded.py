"""Loads a Python file that belongs to no package, as a module: a script, or a workload's program."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def loaded(file: Path) -> ModuleType:
    """Execute the file. It can import the files beside it, as a script can."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(file.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(file.parent))
    return module
