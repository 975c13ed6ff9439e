"""``cxlab calibrate``: a machine's free parameters from measured points."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path

import click

from cxlab import model, output
from cxlab.border import BenchPoint
from cxlab.calibrate import fit, hold_out, identify, measured, observation, parameter, plot, report
from cxlab.calibrate.machine_files import MachineFiles
from cxlab.calibrate.observation import Role
from cxlab.calibrate.simulator import Simulator
from cxlab.cli.machine_option import with_settings
from cxlab.cli.output_file import json_option, plot_option
from cxlab.error import Code, InputError
from cxlab.file_format import Format

#: What a shell reports after SIGINT.
INTERRUPTED = 130


class _Bar:
    """Points of a trial on a terminal; nothing in a log."""

    def __init__(self) -> None:
        self.progress = output.bar()
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


@click.command(
    "calibrate",
    help="Fit a machine's free parameters to measured points.\n\n"
    "Part of the points is held out: the fit does not see them, and the report judges it by them. "
    "\n\nExample: cxlab calibrate --measured mlc.txt --threads 16 --node cxl --start spr-a1000 --out "
    "mine.toml",
)
@click.option(
    "--measured", "files", multiple=True, required=True, type=click.Path(exists=True, path_type=Path),
    metavar="FILE",
    help="Measured points: JSON of `cxlab bench` or cxlab-memo, text of MLC, or CSV. Repeatable.  "
    "Example: mlc.txt",
)  # fmt: skip
@click.option(
    "--start",
    required=True,
    metavar="NAME|FILE",
    help="Machine to start from: a name that `cxlab machines` lists, or a .toml file.  Example: spr-a1000",
)
@with_settings("start")
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Machine file to write.  Example: mine.toml",
)
@click.option(
    "--hold-out",
    "rule",
    default=hold_out.DEFAULT,
    show_default=True,
    metavar="RULE",
    help=f"Points that the fit does not see: {hold_out.VALID}.",
)
@click.option(
    "--free", multiple=True, metavar="NAME[=LOW..HIGH UNIT]",
    help="Parameter to fit, with its bounds. Repeatable.  [default: those that curves usually tell, from a "
    "quarter to four times the start]",
)  # fmt: skip
@click.option(
    "--node",
    metavar="NODE",
    help="Node of the simulated machine that the measured points belong to.  Example: cxl",
)
@click.option(
    "--threads",
    type=click.IntRange(1, 64),
    help="Number of load threads, if the file does not say (MLC).  Example: 16",
)
@click.option(
    "--iterations",
    default=12,
    show_default=True,
    type=click.IntRange(1, 1000),
    help="Most trials in one round of the fit.",
)
@plot_option
@json_option
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
    _check_out(out)
    machine = MachineFiles(start)
    series = measured.read(files, measured.Told(node, threads), machine.nodes)
    frequency = model.describe(start).host.frequency_ghz
    found = hold_out.split(observation.observations(series, frequency), rule)
    chosen = parameter.choose(machine, free, [(s.node, s.workload.threads) for s in series])
    outcome, files_written = _calibrate(machine, chosen, found, iterations, out, files)
    report.show(outcome, output.console())
    plot.draw(plot_file or out.with_suffix(".png"), outcome)
    if json_file is not None:
        output.write_json(
            json_file, report.document(outcome, [str(file) for file in files]), Format.CALIBRATION
        )
    click.echo(f"wrote {', '.join(str(file) for file in files_written)}")
    return 0 if outcome.fit.complete else INTERRUPTED


def _check_out(out: Path) -> None:
    """Refuse an --out that cannot be written, before anything runs."""
    if out.suffix != ".toml" or not out.parent.is_dir():
        raise InputError(
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
        raise InputError(
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
) -> tuple[list[observation.Observation], list[BenchPoint], list[BenchPoint]]:
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
