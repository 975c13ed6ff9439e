"""The columns of `cxlab compare`: a machine, a placement and a run of the program for each.

::

    plan: machines x placements --> Planned --measure--> the recorder runs in a guest
                                                         the others replay its recording, or run in guests too

A replay times the recorded instructions elsewhere (DEVIATIONS SMP-5, SMP-6). What a program would have done
otherwise it does not see: programs of several processors, and Linux that moves pages, run anew each time.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import msgspec

from cxlab import model
from cxlab.asked_machine import AskedMachine, keys_of
from cxlab.border import RunResult
from cxlab.cli import comparison, results, session
from cxlab.compare.slowdown import Column
from cxlab.file_format import Format
from cxlab.output import write_json
from cxlab.run import program_file
from cxlab.run.errors import NOT_EXECUTABLE, NOT_FOUND, BadRequest, ModelError
from cxlab.run.host import replay, supervisor
from cxlab.run.host.jail import Confinement
from cxlab.run.host.progress import Goal, Progress
from cxlab.run.interruption import Interrupted, Interruption
from cxlab.run.machine import Machine
from cxlab.run.options import (
    confinement,
    cxl,
    detail,
    disk,
    environment,
    files,
    placement,
    poison,
    processors,
    profile,
    sampling,
    simulated,
    tiering,
)
from cxlab.run.options.option import Given, Option
from cxlab.run.results import configuration, summary
from cxlab.run.results.run_directory import RunDirectory, fresh

#: By the flag of a placement.
POLICIES = {option.flag: option for option in placement.POLICIES}
#: Options whose effect depends on the time that the program takes, and what to say of them.
DEPENDS_ON_TIME: tuple[tuple[Option[Any], str], ...] = (
    (tiering.OPTION, "Linux moves pages by what it sees"),
    (disk.SWAP, "Linux swaps pages by what it sees"),
    (disk.DISK, "Linux keeps pages of files by what it sees"),
    (poison.OPTION, "a poisoned line is an error of the guest"),
)
RECORDING = "recording.trace"
PROFILE = "replayed-profile.json"


@dataclass(frozen=True)
class Planned:
    """A column before its runs."""

    label: str
    #: with the settings that change it
    machine: AskedMachine
    #: flag and value; None: Linux's own policy
    policy: tuple[str, str] | None

    @property
    def folder(self) -> str:
        """A name for its results."""
        return "".join(c if c.isalnum() or c in "=-" else "-" for c in self.label)

    def options(self) -> dict[str, str]:
        """The policy, as `placement.parse` takes it."""
        if self.policy is None:
            return {}
        flag, value = self.policy
        return {flag.lstrip("-").replace("-", "_"): value}

    def is_on_one_node(self) -> bool:
        """Whether all pages of the program are on one node, so that a recording can be placed anew."""
        return self.policy is None or (
            self.policy[0] in ("--membind", "--preferred") and "," not in self.policy[1]
        )


def plan(
    machines: Sequence[str],
    settings: tuple[str, ...],
    policies: Sequence[tuple[str, str]],
    *,
    has_choice: bool,
) -> list[Planned]:
    """Each machine with each placement.

    Raises:
        BadRequest: a column is there twice, or there is only one.

    """
    planned = []
    for machine in machines:
        asked = AskedMachine(machine, settings)
        loaded = session.load_machine(asked)
        chosen: Sequence[tuple[str, str] | None] = policies or _usual(loaded, has_choice=has_choice)
        for policy in chosen:
            # An unknown node is an error before anything runs.
            placement.parse(loaded, **Planned("", asked, policy).options())
            names = [loaded.name] if has_choice else []
            names += [] if policy is None or (has_choice and len(chosen) == 1) else [_label(policy)]
            planned.append(Planned(" ".join(names), asked, policy))
    labels = [column.label for column in planned]
    if twice := [label for label in labels if labels.count(label) > 1]:
        raise BadRequest(f"the column {twice[0]} is there twice; name each machine and placement once")
    if len(planned) < 2:
        raise BadRequest(
            "there is one column to compare; name two machines or two placements, as in "
            "--membind dram --membind cxl"
        )
    return planned


def _usual(machine: Machine, *, has_choice: bool) -> Sequence[tuple[str, str] | None]:
    """Linux's own policy on each of several machines; on one machine its first memory and its CXL memory."""
    if has_choice:
        return [None]
    first, *others = machine.nodes
    far = next((node for node in others if node.devices is not None), others[0] if others else None)
    if far is None:
        raise BadRequest(f"the machine {machine.name} has one memory; name a second machine with --machine")
    return [("--membind", first.name), ("--membind", far.name)]


def _label(policy: tuple[str, str]) -> str:
    flag, value = policy
    return value if flag in ("--membind", "--weighted-interleave") else f"{flag.lstrip('-')} {value}"


@dataclass(frozen=True)
class _Measurement:
    """Settings that all columns have in common."""

    given: Given
    program: tuple[str, ...]
    folder: Path
    jail: Confinement
    interruption: Interruption
    columns: int

    def run(
        self, place: int, planned: Planned, seed: int, record: Path | None, earlier: RunResult | None
    ) -> RunResult:
        """Run the program in a guest; an earlier run tells about how many instructions that takes.

        Raises:
            _Ended: it did not come to an end that can be compared.

        """
        values = {**self.given.values, simulated.MACHINE.key: str(planned.machine), files.RECORD.key: record}
        # The command line's policies are those of all columns; a run has its own.
        values |= {option.key: None for option in placement.POLICIES}
        if planned.policy is not None:
            flag, value = planned.policy
            values[POLICIES[flag].key] = value
        values[sampling.SEED.key] = seed
        given = Given(values)

        placed = session.placed(given, self.program, environment.of_seed(seed) if seed > 0 else {})
        with self.interruption.allowed():
            request, qemu_version = session.prepare(given, session.Asked(placed, self.program[0]))
        directory = self._directory(planned, seed)
        write_json(directory.config, summary.config(request, qemu_version), Format.CONFIG)
        goal = None if earlier is None else Goal.of_earlier("column", earlier)
        of = self._of(place, planned, seed)
        long = session.advice(self.given)
        progress = Progress(directory.partial_summary, of=of, goal=goal, advice=long)
        with _outputs(directory.path) as outputs:
            outcome = supervisor.run(
                replace(request, outputs=outputs), directory, self.jail, self.interruption, progress
            )
        session.write_results(request, outcome, qemu_version, directory)
        status = summary.exit_status(outcome)
        if not outcome.complete or outcome.simulated is None or outcome.simulated.simulated_seconds <= 0:
            results.show(request, outcome, directory, None, everything=False)
            raise _Ended(status)
        if status != 0:
            said = directory.path / "stderr"
            click.echo(
                f"cxlab: {self.program[0]} ended with status {status} on {planned.label}; see {said}",
                err=True,
            )
            if status in (NOT_EXECUTABLE, NOT_FOUND):
                raise _Ended(status)
        return outcome.simulated

    def replay(self, place: int, planned: Planned, seed: int, recorder: Planned, trace: Path) -> RunResult:
        """Time the recording of another column's run.

        Raises:
            ModelError: it cannot be.
            Interrupted: somebody asked for an end.

        """
        elsewhere = planned.policy != recorder.policy
        placed = placement.parse_again(**planned.options()) if elsewhere else None
        machine = None if planned.machine == recorder.machine else planned.machine
        progress = Progress(None, phase=replay.READING, of=self._of(place, planned, seed))
        nodes = None if placed is None else placed[1]
        # If the replay is refused, a run in a guest makes the column's folder. So the profile waits outside.
        kept = self.folder / PROFILE if self.given[profile.OPTION] else None
        result = replay.run(
            trace, machine, self.jail, self.interruption, progress, placement=nodes, profile=kept
        )
        directory = self._directory(planned, seed)
        if kept is not None:
            kept.replace(directory.profile)
        text = " ".join(planned.policy) if planned.policy is not None else placement.DEFAULT.text
        its = self.path_of(recorder, seed)
        recorded: dict[str, Any] = json.loads((its / configuration.FILE).read_bytes())
        program = configuration.read(its).program
        resolved = session.load_machine(planned.machine).resolved
        write_json(
            directory.config,
            {**recorded, "machine": resolved, "placement": text, "replayed_from": recorder.label},
            Format.CONFIG,
        )
        asked = {"program": msgspec.to_builtins(program), **keys_of(planned.machine)}
        figures = {key: value for key, value in model.document(result).items() if key != "statistics"}
        write_json(
            directory.summary,
            {**figures, "complete": result.complete, **asked, "placement": text},
            Format.SUMMARY,
        )
        if result.statistics is not None:
            write_json(directory.statistics, model.document(result.statistics), Format.STATISTICS)
        return result

    def _directory(self, planned: Planned, seed: int) -> RunDirectory:
        return RunDirectory.create(
            self.path_of(planned, seed), self.program[0], overwrite=self.given[files.OVERWRITE]
        )

    def path_of(self, planned: Planned, seed: int) -> Path:
        """The folder of a run."""
        return self.folder / (planned.folder if seed == 0 else f"{planned.folder}-seed{seed}")

    def _of(self, place: int, planned: Planned, seed: int) -> str:
        which = f", seed {seed}" if seed > 0 else ""
        return f"column {place + 1} of {self.columns}, {planned.label}{which}: "


class _Ended(Exception):
    """A column has no figures to compare."""

    def __init__(self, status: int) -> None:
        """Keep the status that the command ends with."""
        super().__init__(status)
        self.status = status


@contextmanager
def _outputs(folder: Path) -> Iterator[tuple[int, int]]:
    """Files for the program's standard output and error."""
    with (folder / "stdout").open("wb") as output, (folder / "stderr").open("wb") as error:
        yield output.fileno(), error.fileno()


def measure(
    given: Given, planned: Sequence[Planned], program: tuple[str, ...], *, seeds: int, anew: bool
) -> list[Column] | int:
    """Run the program for each column and seed; the exit status if that comes to no end."""
    if given[detail.DETAIL] == detail.OFF:
        raise BadRequest(
            "--detail off times nothing, so there is nothing to compare; valid: all, marker. Leave "
            "--detail out"
        )
    program_file.check(program[0], session.working_folder(), environment.of(given))
    folder = given[files.OUT] or fresh(f"compare-{Path(program[0]).name}")
    with Interruption() as interruption:
        jail = session.confined(given[confinement.JAIL], given[confinement.HIDE])
        common = _Measurement(given, program, folder, jail, interruption, len(planned))
        try:
            return _columns(common, planned, seeds, anew=anew)
        except _Ended as ended:
            return ended.status
        except Interrupted as interrupted:
            return 128 + interrupted.number
        finally:
            click.echo(f"cxlab: results of each column: {folder}", err=True)


def _columns(common: _Measurement, planned: Sequence[Planned], seeds: int, *, anew: bool) -> list[Column]:
    against_replay = "--anew" if anew else _against_replay(common.given, planned)
    if against_replay is not None:
        click.echo(f"cxlab: each column runs in a guest of its own: {against_replay}", err=True)
    found: dict[Planned, list[RunResult]] = {column: [] for column in planned}
    how = dict.fromkeys(planned, "run")
    for seed in range(seeds):
        if against_replay is not None:
            for place, column in enumerate(planned):
                found[column].append(common.run(place, column, seed, None, _earlier(found)))
        else:
            _of_recording(common, planned, seed, found, how)
    return [_column(common, column, found[column], how[column]) for column in planned]


def _of_recording(
    common: _Measurement,
    planned: Sequence[Planned],
    seed: int,
    found: dict[Planned, list[RunResult]],
    how: dict[Planned, str],
) -> None:
    """Run the first column whose pages can be placed anew, and replay its recording on the others."""
    recorder = next(column for column in planned if column.is_on_one_node())
    common.folder.mkdir(parents=True, exist_ok=True)
    trace = common.folder.absolute() / RECORDING
    try:
        place = planned.index(recorder)
        found[recorder].append(common.run(place, recorder, seed, trace, _earlier(found)))
        for place, column in enumerate(planned):
            if column == recorder:
                continue
            try:
                found[column].append(common.replay(place, column, seed, recorder, trace))
                how[column] = f"replayed from {recorder.label}"
            except ModelError as error:
                click.echo(f"cxlab: {column.label} runs in a guest of its own: {error}", err=True)
                found[column].append(common.run(place, column, seed, None, _earlier(found)))
    finally:
        with suppress(FileNotFoundError):
            os.unlink(trace)
    if seed == 0:
        replayed = [column.label for column in planned if how[column] != "run"]
        if replayed:
            click.echo(
                f"cxlab: {recorder.label} ran in a guest; {', '.join(replayed)}: its recording, timed there. "
                "--anew runs each column",
                err=True,
            )


def _earlier(found: dict[Planned, list[RunResult]]) -> RunResult | None:
    """A result that there is already."""
    return next((results[-1] for results in found.values() if results), None)


def _against_replay(given: Given, planned: Sequence[Planned]) -> str | None:
    """Why a replay is not exact enough, if it is not."""
    if given[processors.CPUS] > 1:
        return "programs of several processors wait for each other elsewhere"
    if given[sampling.SAMPLE] is not None:
        return "a sampled run has no whole recording"
    if given.is_set(cxl.MANAGED):
        return "the program places its pages"
    for option, why in DEPENDS_ON_TIME:
        if given.is_set(option):
            return f"{option.flag}: {why}"
    if not any(column.is_on_one_node() for column in planned):
        return "no column has all pages on one node, so no recording can be placed anew"
    return None


def _column(common: _Measurement, planned: Planned, found: Sequence[RunResult], how: str) -> Column:
    return Column(
        label=planned.label,
        machine=str(planned.machine),
        placement=" ".join(planned.policy) if planned.policy is not None else placement.DEFAULT.text,
        results=found,
        unloaded=comparison.unloaded(planned.machine, found),
        how=how,
        folder=common.path_of(planned, 0),
    )
