"""``make kill-test``: signals at random moments of every mode, and full disks; what each left is judged.

::

    for each try:  mode, target, signal, moment, drawn from the seed
      start the command --> signal --> wait for its end --> judge what it left --> a line of the journal

- A full disk (FULL) is a tmpfs of a part of what an undisturbed run leaves: writes fail from a page on.
  ``results`` has the run's folder, traces and sweeps; ``cache`` has the saved boot. Only root may mount it.
- Complete means bit-identical to an undisturbed run. Anything else says what is missing.
- No process is left, and no half file. What a SIGKILL of the supervisor left, the next run removes.

A journal that is there already is gone on with. The table is printed at the end, and after ctrl-C.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from disturbances import disturb
from journal import Journal
from modes import MODES
from references import Reference
from rich.console import Console
from tries import EVENTS, tries
from workplaces import Workplace

__all__ = ["EVENTS", "MODES", "tries"]


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="kill_test", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=500, help="number of tries (default 500)")
    parser.add_argument("--seed", type=int, default=1, help="seed of modes, signals and moments (default 1)")
    parser.add_argument(
        "--mode",
        action="append",
        choices=[mode.name for mode in MODES],
        help="try this mode only; repeatable",
    )
    parser.add_argument(
        "--journal", type=Path, help="file with a line for each try; tries in it are not repeated"
    )
    return parser.parse_args()


def main() -> int:
    """Make the tries that the journal lacks."""
    given = _asked()
    modes = {mode.name: mode for mode in MODES if given.mode is None or mode.name in given.mode}
    journal, console = Journal(given.journal), Console(highlight=False)
    folder = Path(tempfile.mkdtemp(prefix="cxlab-kill-test-"))
    #: an undisturbed run, once for each mode
    references: dict[str, Reference] = {}
    try:
        for what in tries(given.seed, given.count, tuple(modes.values())):
            if what.number in journal.done:
                continue
            place = Workplace.below(folder, modes[what.mode])
            if what.mode not in references:
                references[what.mode] = Reference.of(place)
            verdict = disturb(place, references[what.mode], what)
            if verdict.found and (changed := references[what.mode].changed(place)):
                raise SystemExit(
                    f"{', '.join(changed)} changed since the undisturbed run, so nothing can be compared: "
                    "begin again, with the same --journal if there is one"
                )
            journal.add(what, verdict)
            good = "" if not verdict.found else f"  DEFECT: {'; '.join(verdict.found)}"
            said = f"{len(journal.done)}/{given.count} {what.mode}: {what.text()}: {verdict.end}{good}"
            console.print(said, soft_wrap=True)
    except KeyboardInterrupt:
        console.print("ended by ctrl-C; removes its folders")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if journal.show(console) else 0


if __name__ == "__main__":
    sys.exit(main())
