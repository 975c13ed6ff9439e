"""Pages of several processes at the same virtual addresses, cut into pieces."""

from __future__ import annotations

from cxlab.top.names import Names
from cxlab.top.pieces import pieces
from cxlab.top.profile import Profile, Touch
from hypothesis import given
from hypothesis import strategies as st

KIB4, MIB2 = 1 << 12, 1 << 21
#: Pages of three sizes within 32 units, few enough that each address can be looked at.
PAGES = st.lists(
    st.sampled_from((1, 2, 8)).flatmap(
        lambda size: st.integers(0, 32 // size - 1).map(lambda place: (place * size, size))
    ),
    unique=True,
)


@given(PAGES)
def test_each_address_is_in_the_piece_of_the_smallest_page_that_has_it(pages: list[tuple[int, int]]) -> None:
    cut = pieces(Touch(begin, size, 0, 0) for begin, size in pages)
    for address in range(33):
        sizes = [size for begin, size in pages if begin <= address < begin + size]
        found = [piece.touch for piece in cut if piece.begin <= address < piece.end]
        assert [touch.bytes for touch in found] == ([min(sizes)] if sizes else [])
        assert all(touch.page <= address < touch.end for touch in found)
    assert [piece.begin for piece in cut] == sorted(piece.begin for piece in cut)


def test_a_small_page_of_another_process_does_not_cut_an_allocation_in_two() -> None:
    """A run once had init's stack within a huge page of the program's data."""
    maker, allocated, elsewhere = 0x401000, 0x402000, 0x403000
    mapping = 0x7FFFF7A00000
    touched = (
        Touch(mapping - KIB4, KIB4, 1, allocated),
        Touch(mapping, MIB2, 0, maker),
        Touch(mapping + MIB2 - 3 * KIB4, KIB4, 0, elsewhere),
        Touch(mapping + MIB2, KIB4, 0, maker),
    )
    profile = Profile(("cxl",), 64, ((0, 0), (0, maker + 1)), (), touched, ())

    class Allocating(Names):
        def _allocation(self, touch: Touch) -> int | None:
            return maker if touch.context == 1 else None

    names = Allocating(profile, ())
    found = {names.data(address) for address in range(mapping - KIB4, mapping + MIB2 + KIB4, KIB4)}
    assert found == {"allocated in 0x401000"}
    assert names.data(mapping + MIB2 + KIB4) == "memory touched before"
