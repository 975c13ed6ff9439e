"""The Containerfile makes what scripts/check_wheel checks in a bare root, by commands of the checkout."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: Instructions of Containerfile(5) that are used here, and the words that each needs at least.
INSTRUCTIONS = {"FROM": 1, "WORKDIR": 1, "COPY": 2, "RUN": 1, "ENV": 1, "ENTRYPOINT": 1}


def instructions() -> list[tuple[str, str]]:
    text = (ROOT / "Containerfile").read_text()
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in joined.splitlines()]


def of(kind: str) -> list[str]:
    return [words for found, words in instructions() if found == kind]


def shell_commands() -> list[list[str]]:
    return [shlex.split(part) for run in of("RUN") for part in run.split("&&")]


def test_every_line_is_an_instruction() -> None:
    for kind, words in instructions():
        assert kind in INSTRUCTIONS, kind
        assert len(words.split()) >= INSTRUCTIONS[kind], (kind, words)
    assert instructions()[0][0] == "FROM"
    assert json.loads(of("ENTRYPOINT")[0]) == ["cxlab"]


def test_stages_that_are_copied_from_were_named_before() -> None:
    stages: set[str] = set()
    for kind, words in instructions():
        if kind == "FROM":
            stages |= set(re.findall(r" AS (\w+)$", words))
        assert set(re.findall(r"--from=(\w+)", words)) <= stages


def test_the_first_stage_runs_scripts_and_targets_of_the_checkout() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    [setup, wheel, *_] = shell_commands()
    assert (ROOT / setup[0]).stat().st_mode & 0o111
    assert wheel[0] == "make" and set(wheel[1:]) <= targets
    # The wheel is where the second stage takes it.
    assert "target/wheels" in (ROOT / "Makefile").read_text()
    assert any("/target/wheels/" in words for words in of("COPY"))


def test_the_second_stage_has_the_packages_of_the_roots_that_are_checked() -> None:
    checked = re.search(r"^readonly PACKAGES=(\S+)", (ROOT / "scripts/check_wheel").read_text(), re.MULTILINE)
    assert checked
    installs = [words for words in shell_commands() if words[:2] == ["apt-get", "install"]]
    packages = [word for words in installs for word in words[2:] if not word.startswith("-")]
    assert set(packages) - {"bookworm-backports"} == set(checked[1].split(","))


@pytest.mark.parametrize("made", ["target", ".venv", "python/cxlab/bin"])
def test_what_was_built_on_the_host_stays_there(made: str) -> None:
    assert made in (ROOT / ".containerignore").read_text().splitlines()
