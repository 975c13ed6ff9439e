"""Memory in pieces, each of the smallest page that was touched there.

A profile has the pages of all processes by their virtual addresses. So a page of 4 KiB can be within one of
2 MiB:

```text
  pages    |---------------- 2 MiB ----------------|
                   |4 KiB|
  pieces   |------|-----|--------------------------|
```

Which of them is the program's is not known. The smaller page says more of its bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cxlab.top.profile import Touch


@dataclass(frozen=True)
class Piece:
    """Bytes from `begin` to before `end`, and the first access to their page."""

    begin: int
    end: int
    touch: Touch


def pieces(touched: Iterable[Touch]) -> list[Piece]:
    """Cut pages into pieces, in the order of addresses. Two pages are apart, or one is within the other."""
    found: list[Piece] = []
    around: list[Touch] = []
    at = 0

    def cut(end: int) -> int:
        if around and at < end:
            found.append(Piece(at, end, around[-1]))
        return end

    def leave_before(begin: int) -> int:
        nonlocal at
        while around and around[-1].end <= begin:
            at = cut(around[-1].end)
            around.pop()
        return cut(begin)

    for touch in sorted(touched, key=lambda touch: (touch.page, -touch.bytes)):
        at = leave_before(touch.page)
        around.append(touch)
    if around:
        leave_before(around[0].end)
    return found
