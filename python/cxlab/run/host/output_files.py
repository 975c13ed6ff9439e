"""Files that the model writes for the user: trace, timeline and profile, named if the run is complete."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from cxlab.run.errors import UnusableFolder
from cxlab.run.request import Outcome, Request
from cxlab.run.results.run_directory import RunDirectory
from cxlab.whole_file import WholeFile


class OutputFiles:
    """The files of one run, dropped at the end of `resources` unless `name` has given them their names."""

    def __init__(self, request: Request, directory: RunDirectory, resources: ExitStack) -> None:
        """Open those that were asked for.

        Raises:
            UnusableFolder: one cannot be made.

        """
        drawn = None if request.timeline is None else request.timeline.file
        self.trace = _opened("--record", request.record, resources)
        self.timeline = _opened("--timeline", drawn, resources)
        self.profile = _opened("--profile", directory.profile if request.profile else None, resources)

    def name(self, outcome: Outcome) -> None:
        """Give the files of a complete run their names; say of others that they are not there."""
        files = (("--record", self.trace), ("--timeline", self.timeline), ("--profile", self.profile))
        for option, output in files:
            if output is None:
                continue
            if outcome.complete:
                try:
                    output.commit()
                except OSError as error:
                    outcome.failure = UnusableFolder(f"{option} {output.path}: {error.strerror}")
            else:
                outcome.notices.append(
                    f"{option} {output.path}: not written, because the run is not complete"
                )


def _opened(option: str, path: Path | None, resources: ExitStack) -> WholeFile | None:
    if path is None:
        return None
    try:
        output = WholeFile(path)
    except OSError as error:
        raise UnusableFolder(
            f"{option} {path}: {error.strerror}. Choose a path that can be written"
        ) from None
    resources.callback(output.discard)
    return output
