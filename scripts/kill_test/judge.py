"""The judge: what came of a disturbed run, and what is wrong with it.

Complete means bit-identical to an undisturbed run. Anything else says what is missing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cxlab.run.results import finished
from cxlab.run.results.finished import Finished
from references import Reference
from workplaces import Workplace, half_files

#: A command's statuses for its own errors, and for signals that it hears.
OWN_ERRORS, INTERRUPTED = (1, 125), (129, 130, 143)


#: Too late: the run had ended before it was disturbed.
ENDS = COMPLETE, INCOMPLETE, TOO_LATE = "complete", "incomplete", "too late"


@dataclass
class Verdict:
    """What came of it."""

    #: one of `ENDS`
    end: str
    status: int | None
    #: defects: none in a good run
    found: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class End:
    """How a disturbed run ended."""

    #: None: it had to be killed
    status: int | None
    #: somebody was there to be disturbed
    disturbed: bool
    #: the supervisor was killed: nobody cleaned up
    killed: bool
    #: defects so far
    found: list[str]


def judge(place: Workplace, reference: Reference, end: End) -> Verdict:
    """Look at what it left."""
    said, summary = place.errors(), _summary(place)
    found = list(end.found)
    if "Traceback" in said:
        found.append("a traceback")
    if end.status == 0:
        if summary is not None and not summary.complete:
            found.append("status 0 of a run that is not complete")
        found += [f"{name} differs" for name in reference.differences(place)]
        return Verdict(COMPLETE if end.disturbed else TOO_LATE, end.status, found)
    if end.killed:
        if place.mode.cut_after is None:
            found += _after_a_kill(place, reference)
        return Verdict(INCOMPLETE, end.status, found)
    return Verdict(INCOMPLETE, end.status, found + list(_of_an_early_end(place, end, said, summary)))


def _summary(place: Workplace) -> Finished | None:
    file = place.folder / "out/summary.json"
    return finished.of_summary(file) if file.is_file() else None


def _of_an_early_end(place: Workplace, end: End, said: str, summary: Finished | None) -> list[str]:
    """Defects of a run that ended early and could clean up."""
    found, status = [], end.status
    if not end.disturbed:
        found.append(f"status {status} of an undisturbed run")
    # What is made of a run that is complete, as Caption's plot, may not fit any more: a message names it.
    if summary is not None and summary.complete and "No space left" not in said:
        found.append(f"status {status} of a run that says that it is complete")
    found += [f"{left} of a run that is not complete" for left in place.has_left()]
    if (
        status is not None
        and status not in (*OWN_ERRORS, *INTERRUPTED)
        and not (status < 0 and summary is None)
    ):
        found.append(f"status {status}")
    # A negative status: the signal came before Python could hear it, and the caller's shell names it.
    named = status is not None and (status in INTERRUPTED or status < 0)
    if (summary is None or not summary.reason) and not said.strip() and not named:
        found.append("nothing says why it is not complete")
    return found


def _after_a_kill(place: Workplace, reference: Reference) -> list[str]:
    """The next run removes what was left, and is as good as any."""
    # A checkpoint that has its name is complete, and none is made over it.
    status = 0 if place.mode.checkpoint is not None and place.has_left() else place.run()
    found = [] if status == 0 else [f"the next run ends with {status}"]
    left = [*half_files(place.folder), *half_files(place.cache)]
    found += [f"half a file after the next run: {name}" for name in left]
    return found + [f"{name} of the next run differs" for name in reference.differences(place)]
