"""A sweep's file: what is wrong is named with its file, line and key, and what is valid."""

from __future__ import annotations

from pathlib import Path

import pytest
from cxlab.error import InputError
from cxlab.sweep import file, plan

from .conftest import TINY, Write

GOOD = TINY.format(seeds="1")


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (changed("placement =", "node ="), ":4: [axes] node: unknown axis; valid: machine, placement"),
        (changed("[workloads.small]", "[extra]\n[workloads.small]"), ":7: [extra]: unknown key; valid: axes"),
        (changed('"8468v-fpga"', '"8468v-foga"'), "there is no machine `8468v-foga`; valid: "),
        (changed('"cxl"]', '"cyl"]'), "the machine 8468v-asic has no node `cyl`; valid: dram, cxl"),
        (changed('"cxl"]', '"dram=0,cxl=1"]'), ":4: [axes] placement: `dram=0` is no weighted node"),
        (changed("seed = [1]", "seed = []"), ":5: [axes] seed: is no list of values; valid: a list"),
        (changed("seed = [1]", "seed = [1, 1]"), "has a value twice"),
        (changed("seed = [1]", "seed = [-1]"), "`-1` is no seed; valid: whole numbers from 0"),
        (changed("seed = [1]", 'workload = ["big"]'), "there is no [workloads.big]; valid: small"),
        (changed('bench = "latency"', 'bench = "lateness"'), "is no bench; valid: latency, loaded-latency"),
        (
            changed('size = "1KiB"', "delay = 1"),
            ":9: [workloads.small] delay: unknown key; valid: bench, size",
        ),
        (changed('size = "1KiB"', 'size = "1KB"'), "`1KB`; valid: a size, as in 32MiB"),
        (changed('bench = "latency"', ""), "has none of them; valid: exactly one of bench, replay, run"),
        (changed('bench = "latency"\nsize = "1KiB"', 'replay = "none.trace"'), "none.trace is no file"),
        (changed('bench = "latency"\nsize = "1KiB"', 'run = ["no-such-program"]'), "there is no program"),
        (
            changed('bench = "latency"\nsize = "1KiB"', 'run = ["true"]\noptions = ["--machine=x"]'),
            "--machine=x is what the axes say",
        ),
        (changed('"dram", "cxl"]', '"default"]'), "`default` for the bench latency; valid: nodes"),
        (changed("[axes]", "[axes"), "valid: a TOML file"),
        (GOOD + "[slurm]\nminutes = 0\n", "[slurm] minutes: `0`; valid: a whole number from 1"),
        (changed("seed = [1]", "[axes.set]\nlanes = 8"), "[axes.set] lanes: is no list of values"),
        (
            changed("seed = [1]", "[axes.set]\nhost.cores = [8]").replace("host.cores", '"host.cors"'),
            ":6: [axes.set] host.cors: CFG",
        ),
    ],
)
def test_what_is_wrong_is_named_with_what_is_valid(write: Write, text: str, says: str) -> None:
    path = write(text)
    with pytest.raises(InputError) as error:
        plan.runs_of(file.read(path))
    assert str(path) in str(error.value) and says in str(error.value), error.value


def test_seeds_are_for_what_draws_at_random(write: Write, tmp_path: Path) -> None:
    (tmp_path / "a.trace").write_bytes(b"")
    text = changed('bench = "latency"\nsize = "1KiB"', 'replay = "a.trace"').replace("[1]", "[1, 2]")
    with pytest.raises(InputError, match="draws nothing at random"):
        file.read(write(text))


def test_the_runs_are_the_product_of_the_axes_in_their_order(write: Write) -> None:
    runs = plan.runs_of(file.read(write(TINY.format(seeds="1, 2, 3"))))
    assert [(run.machine, run.placement, run.seed) for run in runs] == [
        (machine, placed, seed)
        for machine in ("8468v-asic", "8468v-fpga")
        for placed in ("dram", "cxl")
        for seed in (1, 2, 3)
    ]
    assert len({run.name for run in runs}) == 12


def test_a_run_is_named_by_what_its_result_depends_on(write: Write, tmp_path: Path) -> None:
    [first, *_] = plan.runs_of(file.read(write(GOOD)))
    # Another file with other axes beside, in another folder: the same run.
    (tmp_path / "elsewhere").mkdir()
    other = tmp_path / "elsewhere" / "other.toml"
    other.write_text(GOOD.replace("seed = [1]", "seed = [7, 1]"))
    assert first.name in {run.name for run in plan.runs_of(file.read(other))}
    [larger, *_] = plan.runs_of(file.read(write(changed("1KiB", "2KiB"))))
    assert larger.name != first.name


def test_each_setting_is_an_axis(write: Write) -> None:
    fifo, media = "nodes.cxl.device.root_port.response_fifo", "nodes.cxl.device.root_port.request_fifo"
    text = changed("seed = [1]", f'[axes.set]\n"{fifo}" = [52, 128]\n"{media}" = [48]')
    runs = plan.runs_of(file.read(write(text)))
    # Two machines, two values by one, two placements.
    assert len({run.name for run in runs}) == 8
    assert [run.settings[fifo] for run in runs[:4]] == ["52", "52", "128", "128"]
    job = runs[2].tasks[0].job
    assert job["set"] == [f"{fifo}=128", f"{media}=48"]


def test_a_program_is_named_by_its_content(write: Write, tmp_path: Path) -> None:
    program = tmp_path / "program"
    text = changed('bench = "latency"\nsize = "1KiB"', 'run = ["./program"]')
    names = []
    for content in ("#!/bin/sh\n", "#!/bin/sh\ntrue\n"):
        program.write_text(content)
        names.append(plan.runs_of(file.read(write(text)))[0].name)
    assert names[0] != names[1]
