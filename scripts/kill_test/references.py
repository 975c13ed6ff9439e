"""References: what an undisturbed run of a mode takes and leaves."""

from __future__ import annotations

import time
from dataclasses import dataclass

from disks import PAGE, saved_boot_bytes, size
from modes import CACHE, RESULTS
from workplaces import Workplace

#: A disturbed run may take so much longer than an undisturbed one [s], and so many times as long.
LONGER_SECONDS, LONGER_TIMES = 60.0, 6.0


@dataclass
class Reference:
    """Results of an undisturbed run."""

    #: length of the shortest undisturbed run so far
    seconds: float
    #: of each exact file
    hashes: dict[str, str]
    #: what it leaves, by the disk that it is on [bytes]
    sizes: dict[str, int]
    #: of each file of this host that its program read when it was started
    read: dict[str, str]

    @classmethod
    def of(cls, place: Workplace) -> Reference:
        """Make the run, unless the mode has no end of its own."""
        if place.mode.cut_after is not None:
            return cls(place.mode.cut_after, {}, {RESULTS: PAGE}, {})
        place.prepare()
        if place.mode.boots and saved_boot_bytes() == PAGE:
            # A run that also saves a boot takes longer than all others.
            place.run()
        begun, before = time.monotonic(), size(place.folder)
        status = place.run()
        if status != 0:
            raise SystemExit(f"undisturbed, {place.mode.name} ends with {status}: {place.errors()}")
        cached = size(place.checkpoints) if place.mode.checkpoint else saved_boot_bytes()
        sizes = {RESULTS: size(place.folder) - before + place.mode.nameless, CACHE: cached}
        return cls(time.monotonic() - begun, place.hashes(), sizes, place.read())

    @property
    def longest(self) -> float:
        """A disturbed run ends within this [s]."""
        return LONGER_TIMES * self.seconds + LONGER_SECONDS

    def differences(self, place: Workplace) -> list[str]:
        """Names of the files that are not what the undisturbed run left."""
        return [name for name, found in place.hashes().items() if found != self.hashes[name]]

    def changed(self, place: Workplace) -> list[str]:
        """Files of this host that the program read and that were others for the undisturbed run."""
        return [path for path, found in place.read().items() if found != self.read.get(path)]
