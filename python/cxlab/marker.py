"""Markers of the region of detail for Python programs in the guest: `cxlab run --detail marker`.

    from cxlab import marker

    table = load()
    with marker.region():
        search(table)

Outside of CXLab a marker does nothing. It is a NOP that the QEMU plugin knows (``crates/marker``). Python has
no such instruction, so this module writes one into a page of code, and calls it.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: nop dword ptr [rax + rax + id and a fixed half]; ret
_INSTRUCTION = "0f1f8400{id:02x}00c51ac3"
_BEGIN, _END = 1, 2


def _function(marker: int) -> Callable[[], None]:
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(bytes.fromhex(_INSTRUCTION.format(id=marker)))
    made = ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    _PAGES.append(page)
    return made


#: They are called until the process ends.
_PAGES: list[mmap.mmap] = []
#: Detail begins with the next instruction.
begin = _function(_BEGIN)
#: Detail ends.
end = _function(_END)


@contextmanager
def region() -> Iterator[None]:
    """Follow the block in detail."""
    begin()
    try:
        yield
    finally:
        end()
