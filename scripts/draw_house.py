"""``make house``: draws which room of crates/model imports which, floor by floor, as docs/house.svg.

Rooms stand on their floors of ``check_imports.FLOORS``.
An arrow goes from a room to one that it imports.
An arrow that a longer way implies is left out. An arrow that goes up, or stays on its floor, is red.
``--check`` only says whether the picture is as it would be drawn now, and whether an arrow is red.
"""

from __future__ import annotations

import argparse
import sys
from html import escape
from pathlib import Path

from check_imports import FLOORS
from rust_imports import imports

ROOT = Path(__file__).resolve().parent.parent
CRATE = "crates/model"
PICTURE = ROOT / "docs" / "house.svg"
WIDTH, BOX, HEIGHT, FLOOR, TOP = 1000, 130, 34, 86, 60


def edges(floors: list[list[str]]) -> list[tuple[str, str]]:
    """Which room imports which."""
    rooms = {room for floor in floors for room in floor}
    pairs = {(found.by.split("::")[0], found.of.split("::")[0]) for found in imports(ROOT / CRATE / "src")}
    return sorted((by, of) for by, of in pairs if by != of and by in rooms and of in rooms)


def implied(arrow: tuple[str, str], arrows: list[tuple[str, str]]) -> bool:
    """Whether a longer way leads to where an arrow goes."""
    by, of = arrow
    seen: set[str] = set()
    waiting = [far for near, far in arrows if near == by and far != of]
    while waiting:
        room = waiting.pop()
        if room == of:
            return True
        if room not in seen:
            seen.add(room)
            waiting += [far for near, far in arrows if near == room]
    return False


def draw(floors: list[list[str]], arrows: list[tuple[str, str]]) -> tuple[str, int]:
    """The picture, and how many of its arrows are red."""
    level = {room: number for number, floor in enumerate(floors) for room in floor}
    height = TOP + FLOOR * len(floors)
    place = {}
    for number, floor in enumerate(floors):
        gap = WIDTH / (len(floor) + 1)
        for position, room in enumerate(floor):
            place[room] = (gap * (position + 1), height - FLOOR * (number + 1) + 20)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"'
        ' orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="context-stroke"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="20" y="30" font-size="18">{CRATE}/src: an arrow is an import</text>',
    ]
    red = 0
    for by, of in arrows:
        up = level[of] >= level[by]
        red += up
        if not up and implied((by, of), arrows):
            continue
        (x, y), (to_x, to_y) = place[by], place[of]
        colour, width = ("#c0392b", 2.5) if up else ("#8899aa", 1)
        lines.append(
            f'<line x1="{x:.0f}" y1="{y + HEIGHT:.0f}" x2="{to_x:.0f}" y2="{to_y - 2:.0f}" stroke="{colour}"'
            f' stroke-width="{width}" marker-end="url(#tip)"/>'
        )
    for room, (x, y) in place.items():
        lines.append(
            f'<rect x="{x - BOX / 2:.0f}" y="{y:.0f}" width="{BOX}" height="{HEIGHT}" rx="5"'
            ' fill="#eaf1f8" stroke="#34495e"/>'
        )
        lines.append(
            f'<text x="{x:.0f}" y="{y + 22:.0f}" font-size="15" text-anchor="middle">{escape(room)}</text>'
        )
    return "\n".join([*lines, "</svg>", ""]), red


def main() -> int:
    """Draw, or check."""
    parser = argparse.ArgumentParser(description="Draw which room of the model imports which.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if docs/house.svg is stale")
    check = parser.parse_args().check
    floors = [floor.split() for floor in FLOORS[CRATE]]
    picture, red = draw(floors, edges(floors))
    where = PICTURE.relative_to(ROOT)
    if red:
        print(f"draw_house: {red} imports do not go down: see the red arrows of {where}", file=sys.stderr)
    if check:
        current = PICTURE.read_text() if PICTURE.exists() else ""
        if current != picture:
            print(f"draw_house: {where} is not what `make house` draws now: run it", file=sys.stderr)
        return 1 if red or current != picture else 0
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(picture)
    print(f"{where}: {len(floors)} floors, {len(edges(floors))} arrows, {red} of them not down")
    return 1 if red else 0


if __name__ == "__main__":
    sys.exit(main())
