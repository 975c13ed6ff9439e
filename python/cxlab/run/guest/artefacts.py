"""Files that ``make build`` puts beside the package: programs for the guest, the QEMU plugin."""

from __future__ import annotations

from pathlib import Path

from cxlab.error import NotBuilt

FOLDER = Path(__file__).resolve().parents[2] / "bin"
#: For a C compiler: the folder of cxlab/marker.h.
INCLUDE = FOLDER.parent / "include"
GUEST_INIT = FOLDER / "cxlab-guest-init"
CAPTION = FOLDER / "cxlab-caption"
QEMU_PLUGIN = FOLDER / "libcxlab_qemu_plugin.so"
MARKER = FOLDER / "cxlab-marker"
MEMO = FOLDER / "cxlab-memo"


def built(path: Path) -> Path:
    """The artefact at ``path``.

    Raises:
        NotBuilt: it is not there.

    """
    if not path.is_file():
        raise NotBuilt(f"{path.name} is not built ({path}): run `make build`")
    return path
