"""The profile of a run, as the model writes it: addresses alone (crates/model/src/summary/profile.rs)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import Struct

from cxlab.run.errors import NoRun
from cxlab.run.results import configuration

#: Name in a run's folder.
FILE = "profile.json"


class Entry(Struct, array_like=True, frozen=True):
    """Waits of an instruction, at one place of the data."""

    context: int
    #: virtual address
    instruction: int
    #: virtual address of the data, to a granule
    address: int
    #: place of the node among `nodes`
    node: int
    #: lines that came for loads
    lines: int
    #: their time on the way [ps]
    latency_ps: int
    #: time in which the oldest instruction waited for one [ps]
    stall_ps: int


class Touch(Struct, array_like=True, frozen=True):
    """The first access to a page."""

    #: virtual address of the page
    page: int
    bytes: int
    context: int
    instruction: int

    @property
    def end(self) -> int:
        """The address behind the page."""
        return self.page + self.bytes


class Profile(Struct, frozen=True):
    """All waits for a memory."""

    nodes: tuple[str, ...]
    granule_bytes: int
    #: (the context of the caller, where the call returns to); the first is no call
    contexts: tuple[tuple[int, int], ...]
    entries: tuple[Entry, ...]
    touched: tuple[Touch, ...]
    #: the first bytes of a block, by its address
    code: tuple[tuple[int, str], ...]

    def calls(self, context: int) -> Iterator[int]:
        """Return addresses of the calls of a context, the innermost first."""
        while context:
            context, returns_to = self.contexts[context]
            yield returns_to


@dataclass(frozen=True)
class Profiled:
    """A profile and the program that it is of."""

    profile: Profile
    #: empty where that is not known
    argv: Sequence[str]
    folder: Path


def read(path: Path) -> Profiled:
    """Read the profile of a run's folder, or a file of `cxlab replay --profile`.

    Raises:
        NoRun: there is none, or it is of another CXLab.

    """
    file = path / FILE if path.is_dir() else path
    try:
        profile = msgspec.json.decode(file.read_bytes(), type=Profile)
    except FileNotFoundError:
        raise NoRun(f"{path} has no profile; valid: the folder of a run with --profile") from None
    except (OSError, msgspec.MsgspecError) as error:
        raise NoRun(f"{file} is no profile of this CXLab: {error}") from None
    if path.is_dir():
        with suppress(NoRun):
            program = configuration.read(path).program
            return Profiled(profile, program.argv, Path(program.cwd))
    return Profiled(profile, (), Path())
