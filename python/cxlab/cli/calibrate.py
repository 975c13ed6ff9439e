"""``cxlab calibrate``: a machine's free parameters from measured points."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from cxlab.bench.result import write
from cxlab.calibrate import fit, hold_out, identify, measured, observation, parameter, plot, report
from cxlab.calibrate.error import CalibrationError, Code
from cxlab.calibrate.machine_files import MachineFiles
from cxlab.calibrate.observation import Role
from cxlab.calibrate.simulator import Point, Simulator
from cxlab.cli.bench import InputError
from cxlab.machine import description

#: What a shell reports after SIGINT.
INTERRUPTED = 130


class _Bar:
    """Points of a trial on a terminal; nothing in a log."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self.progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self.task = self.progress.add_task("calibration", total=0)
        self.trials = 0

    def expect(self, points: int) -> None:
        self.progress.update(self.task, total=points, completed=0)

    def advance(self) -> None:
        self.progress.advance(self.task)

    def told(self, rms: float) -> None:
        """A trial has ended."""
        self.trials += 1
        self.progress.update(self.task, description=f"trial {self.trials}, error {rms:.1%}")


@click.command("calibrate", help="Fit a machine's free parameters to measured points.")
@click.option(
    "--measured", "files", multiple=True, required=True, type=click.Path(exists=True, path_type=Path),
    help="JSON of `cxlab bench` or cxlab-memo, MLC's text, or CSV; may be given again.",
)  # fmt: skip
@click.option("--start", required=True, help="The machine to start from: a name, or a .toml file.")
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="The machine file to write: .toml."
)
@click.option("--hold-out", "rule", default=hold_out.DEFAULT, show_default=True, help=hold_out.VALID + ".")
@click.option(
    "--free", multiple=True, metavar="NAME[=LOW..HIGH UNIT]",
    help="A free parameter and its bounds [what the curves usually tell; a quarter to four times the start].",
)  # fmt: skip
@click.option("--node", help="The simulated node that figures of a real machine are of.")
@click.option(
    "--threads", type=click.IntRange(1, 64), help="Load threads, where the file does not say (MLC)."
)
@click.option(
    "--iterations",
    default=12,
    show_default=True,
    type=click.IntRange(1, 1000),
    help="Trials of a round at most.",
)
@click.option(
    "--plot", "plot_file", type=click.Path(path_type=Path), help="Measured and simulated [OUT as .png]."
)
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write everything as JSON.")
def command(
    files: tuple[Path, ...],
    start: str,
    out: Path,
    rule: str,
    free: tuple[str, ...],
    node: str | None,
    threads: int | None,
    iterations: int,
    plot_file: Path | None,
    json_file: Path | None,
) -> int:
    """Read, fit, print, write."""
    try:
        _check_out(out)
        machine = MachineFiles(start)
        series = measured.read(files, measured.Told(node, threads), machine.nodes)
        frequency = json.loads(description.model().load_machine(start))["host"]["frequency_ghz"]
        found = hold_out.split(observation.observations(series, frequency), rule)
        chosen = parameter.choose(machine, free, [(s.node, s.workload.threads) for s in series])
        outcome, files_written = _calibrate(machine, chosen, found, iterations, out, files)
    except CalibrationError as error:
        raise InputError(str(error)) from error
    report.show(outcome, Console())
    plot.draw(plot_file or out.with_suffix(".png"), outcome)
    if json_file is not None:
        write(json_file, report.document(outcome, [str(file) for file in files]))
    click.echo(f"wrote {', '.join(str(file) for file in files_written)}")
    return 0 if outcome.fit.complete else INTERRUPTED


def _check_out(out: Path) -> None:
    """Before anything runs."""
    if out.suffix != ".toml" or not out.parent.is_dir():
        raise CalibrationError(
            Code.UNWRITABLE, "--out", str(out), "a path ending in .toml in a folder that is there"
        )


def _calibrate(
    machine: MachineFiles,
    chosen: tuple[parameter.Parameter, ...],
    found: list[observation.Observation],
    iterations: int,
    out: Path,
    files: tuple[Path, ...],
) -> tuple[report.Outcome, list[Path]]:
    fitted = [one for one in found if one.role is Role.FIT]
    if len(fitted) < len(chosen):
        names = ", ".join(p.name for p in chosen)
        found_text = f"{len(fitted)} points to fit {len(chosen)} parameters ({names})"
        raise CalibrationError(
            Code.TOO_FEW, "--measured", found_text, "as many points as parameters, or fewer --free"
        )
    bar = _Bar()
    with bar.progress, Simulator(machine, chosen, bar) as simulator:
        done = fit.fit(simulator, chosen, fitted, iterations, bar.told)
        estimates, together = identify.estimates(chosen, done)
        names = ", ".join(file.name for file in files)
        date = datetime.datetime.now(datetime.UTC).date().isoformat()
        sources = {
            leaf.name: report.source(one, together, names, date)
            for one in estimates
            for leaf in one.parameter.leaves
        }
        about = f"calibrated from {names} on {date}, starting at {machine.start}"
        values = [one.value for one in estimates]
        written = machine.write(out, simulator.leaf_values(values), sources, about)
        judged, points, before = _judge(simulator, [values, [p.start for p in chosen]], found, done.complete)
    return report.Outcome(machine.start, estimates, together, done, judged, points, before), written


def _judge(
    simulator: Simulator,
    candidates: Sequence[Sequence[float]],
    found: list[observation.Observation],
    complete: bool,
) -> tuple[list[observation.Observation], list[Point], list[Point]]:
    """All observations on the calibrated machine and on the start; after ctrl-C those that have run."""
    if complete:
        try:
            points, before = simulator.run(candidates, found)
            return found, points, before
        except KeyboardInterrupt:
            click.echo("interrupted: what was held out is not judged", err=True)
    fitted = [one for one in found if one.role is Role.FIT]
    points, before = simulator.run(candidates, fitted)
    return fitted, points, before
