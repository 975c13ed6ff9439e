"""``cxlab explain``: every word of results has a meaning; an unknown one lists those that look like it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from cxlab import cli, model
from cxlab.cli import explain
from cxlab.error import InputError

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def context() -> click.Context:
    return click.Context(cli.cli)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("fill_buffer", "waiting for a fill buffer of the core"),
        ("MCH011", "An option has a wrong value"),
        ("CFG003", "there is no {kind} `{name}`"),
        ("PLN003", "outside the range"),
        ("R_t", "total cost of ownership"),
        ("IPC", "instructions per cycle"),
        ("LLC hits", "a line that the LLC"),
        ("--sample", "called windows"),
        ("core0.l1_hits", "found in L1"),
        ("fill buffers", "its concurrency is used up"),
    ],
)
def test_a_word_has_its_declared_meaning(context: click.Context, word: str, said: str) -> None:
    with context:
        found = explain.meanings(word)
    assert any(said in meaning.text for meaning in found)


def test_every_stage_and_cause_is_explained(context: click.Context) -> None:
    with context:
        known = {(meaning.word, meaning.text) for meaning in explain.everything()}
    assert {(name, text) for name, _, text in model.stages()} <= known
    assert set(model.causes()) <= known


def test_every_declared_error_of_the_model_has_a_code_and_a_text() -> None:
    sources = [(ROOT / "crates" / file).read_text() for file in ("model/src/error.rs", "access/src/trace.rs")]
    attributes = [text.lstrip() for text in "".join(sources).split("#[error(")[1:]]
    declared = [attribute[1:7] for attribute in attributes if not attribute.startswith("transparent")]
    found = model.errors()
    assert sorted(code for code, _ in found) == sorted(set(declared)) == sorted(declared)
    assert all(re.fullmatch("[A-Z]{3}[0-9]{3}", code) for code in declared)
    assert all(len(text) > 10 and not set('\n"\\') & set(text) for _, text in found)


def test_a_code_names_one_error(context: click.Context) -> None:
    with context:
        codes = [
            meaning.word for meaning in explain.everything() if re.fullmatch("[A-Z]{3}[0-9]{3}", meaning.word)
        ]
    twice = sorted({code for code in codes if codes.count(code) > 1})
    assert len(codes) > 50 and not twice


def test_an_unknown_word_lists_words_that_look_like_it(context: click.Context) -> None:
    with context, pytest.raises(InputError, match=r"WRD001: fill_bufer: .*fill_buffer"):
        explain.meanings("fill_bufer")


def test_the_command_prints_and_refuses() -> None:
    asked = [sys.executable, "-m", "cxlab", "explain"]
    found = subprocess.run([*asked, "fill_buffer"], capture_output=True, text=True, check=False)
    assert found.returncode == 0
    # What it is, before where it is met.
    assert found.stdout.startswith(
        "fill buffer: a word of CXLab's results\n  an entry of the core that holds"
    )
    assert "fill_buffer: a stage of a request, in the core\n  waiting for a fill buffer" in found.stdout
    assert "fill_buffers: a part of a run's time, in tables `queueing for fill buffers`" in found.stdout
    wrong = subprocess.run([*asked, "zzz"], capture_output=True, text=True, check=False)
    assert (wrong.returncode, wrong.stdout) == (2, "") and "WRD001" in wrong.stderr


def asked(*arguments: str) -> Result:
    return CliRunner().invoke(cli.cli, ["explain", *arguments])


def test_every_word_of_the_list_is_explained() -> None:
    done = asked("--list")
    assert done.exit_code == 0
    words = {word.strip() for line in done.output.splitlines() if ":" not in line for word in line.split(",")}
    assert {"fill_buffer", "media", "MCH011", "CAL001", "load to use"} <= words
    for word in ("fill_buffer", "MCH011", "load to use"):
        assert asked(word).exit_code == 0


@pytest.mark.parametrize("arguments", [[], ["fill_buffer", "--list"]])
def test_a_word_or_the_list(arguments: list[str]) -> None:
    done = asked(*arguments)
    assert done.exit_code == 2
    assert "valid: one of them" in done.output
