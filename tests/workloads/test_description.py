"""workload.toml and the command: what is shipped is whole, what is wrong is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from cxlab.cli.workload import command
from cxlab.error import InputError
from cxlab.workload import description, measures, prepared
from shipped import WORKLOADS

NAMES = sorted(description.shipped(WORKLOADS))
MINE = """
about = "mine"
program = "stand-in"
what = "a loop of the shell"
means = "nothing"
script = "run.sh"

[debian]
{debian}

[parameters]
turns = {{ about = "turns of the loop", default = 3 }}

[measures]
turns_done = {{ about = "turns", unit = "1", better = "more" }}

[sizes.tiny]
about = "small"
values = {{ length = 2 }}
{more}
"""


def own(folder: Path, debian: str = "", more: str = "") -> Path:
    (folder / "workload.toml").write_text(MINE.format(debian=debian, more=more))
    (folder / "run.sh").write_text("echo measure turns_done $turns\n")
    return folder


def invoke(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(command, [str(argument) for argument in arguments])
    return done.exit_code, done.output


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_workload_has_the_sizes_that_tests_and_figures_ask_for(name: str) -> None:
    workload = description.load(WORKLOADS / name)
    assert set(workload.document.sizes) >= {"tiny", "paper-ratio"}
    assert workload.document.debian or workload.document.pypi or workload.document.program == "stand-in"
    status, said = invoke("show", name)
    # A stand-in says so in the first line, however short a line is.
    first = "workload: real program: " + "stand-in: " * (workload.document.program == "stand-in")
    assert status == 0 and said.splitlines()[0].startswith(first)
    assert " ".join(said.split()).startswith(first + workload.document.what)


def test_the_list_names_each_workload() -> None:
    status, said = invoke("list")
    assert status == 0 and all(name in said for name in NAMES)


def test_a_folder_of_ones_own_is_a_workload(tmp_path: Path) -> None:
    status, said = invoke("show", own(tmp_path))
    assert status == 0 and "turns of the loop" in said


def test_a_value_that_is_asked_for_takes_the_place_of_the_default(tmp_path: Path) -> None:
    workload = description.load(own(tmp_path))
    assert workload.values("tiny", ()) == {"turns": 3, "length": 2}
    assert workload.values("tiny", ("turns=5", "length=7")) == {"turns": 5, "length": 7}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("run", "redis"), "is no workload"),
        (("run", "redis-ycsb", "--size", "huge"), "tiny, paper-ratio"),
        (("run", "redis-ycsb", "--with", "rate=fast"), "is not a whole number"),
        (("run", "redis-ycsb", "--with", "rate=-1"), "is negative"),
        (("run", "redis-ycsb", "--with", "speed=1"), "has no such parameter"),
        (("run", "redis-ycsb", "--with", "workload=g"), "is no value of workload"),
    ],
)
def test_a_wrong_word_names_the_valid_ones(arguments: tuple[str, ...], says: str) -> None:
    status, said = invoke(*arguments)
    assert status == 2 and says in said and "valid: " in said


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("colour = 1", "colour"),
        ('[sizes.large]\nabout = "large"\nvalues = { width = 2 }', "sizes.large"),
        ("[sizes.large", "workload.toml"),
    ],
)
def test_a_wrong_description_names_file_and_key(tmp_path: Path, more: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        description.load(own(tmp_path, more=more))


@pytest.mark.parametrize("cpus", ["0", '"length"', '"colour"'])
def test_processors_are_a_number_or_a_parameter_that_is_one(tmp_path: Path, cpus: str) -> None:
    own(tmp_path)
    text = (tmp_path / "workload.toml").read_text()
    (tmp_path / "workload.toml").write_text(text.replace("script =", f"cpus = {cpus}\nscript ="))
    with pytest.raises(InputError, match="cpus: "):
        description.load(tmp_path)
    (tmp_path / "workload.toml").write_text(text.replace("script =", 'cpus = "turns"\nscript ='))
    workload = description.load(tmp_path)
    assert workload.cpus(workload.values("tiny", ["turns=5"])) == 5


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    own(tmp_path)
    (tmp_path / "run.sh").unlink()
    with pytest.raises(InputError, match=r"there is no file run\.sh"):
        description.load(tmp_path)


@pytest.mark.parametrize("package", ['no-such-package = "1."', 'dpkg = "999."'])
def test_a_missing_package_says_how_to_get_it(tmp_path: Path, package: str) -> None:
    workload = description.load(own(tmp_path, debian=package))
    with pytest.raises(InputError, match="scripts/setup workloads, or: apt-get install"):
        prepared.prepare(workload, workload.values("tiny", ()), 0)


@pytest.mark.parametrize(
    ("output", "says"),
    [
        ("", "printed no turns_done"),
        ("measure turns_done 1\nmeasure turns_done 2\n", "second time"),
        ("measure turns 1\n", "names no measure"),
        ("measure turns_done many\n", "has no number"),
        ("measure turns_done inf\n", "no finite number"),
    ],
)
def test_output_that_is_not_each_measure_once_is_refused(tmp_path: Path, output: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        measures.read(description.load(own(tmp_path)), output)


def test_a_file_of_c_that_does_not_compile_is_shown_with_its_error(tmp_path: Path) -> None:
    own(tmp_path)
    text = (tmp_path / "workload.toml").read_text()
    (tmp_path / "workload.toml").write_text(text.replace("script =", 'sources = ["wrong.c"]\nscript ='))
    (tmp_path / "wrong.c").write_text("int main(void) { return }\n")
    workload = description.load(tmp_path)
    with pytest.raises(InputError, match=r"wrong\.c:1"):
        prepared.prepare(workload, workload.values("tiny", ()), 0)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ('disk = "64M"', "a file in `data`, or no disk"),
        ('data = "data.py"\ndisk = "64"', "a size, as 512M or 2G"),
    ],
)
def test_a_disk_needs_data_and_a_size(tmp_path: Path, keys: str, said: str) -> None:
    file = own(tmp_path) / "workload.toml"
    (tmp_path / "data.py").touch()
    file.write_text(file.read_text().replace('script = "run.sh"', f'script = "run.sh"\n{keys}'))
    with pytest.raises(InputError, match=said):
        description.load(tmp_path)


def test_a_parameter_can_say_whether_caches_are_warm(tmp_path: Path) -> None:
    file = own(tmp_path) / "workload.toml"
    file.write_text(file.read_text().replace('script = "run.sh"', 'script = "run.sh"\nwarm_up = "turns"'))
    workload = description.load(tmp_path)
    assert [workload.warm_up(workload.values("tiny", [f"turns={turns}"])) for turns in (0, 1)] == [
        False,
        True,
    ]
    file.write_text(file.read_text().replace('warm_up = "turns"', 'warm_up = "heat"'))
    with pytest.raises(InputError, match="true, false, a parameter or a value of the sizes: turns"):
        description.load(tmp_path)


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ('sample = "often"', "sample: .*auto, or detail=1M,warm=2M,every=100M"),
        # Windows of several processors are times, those of one instructions.
        ('sample_of_several = "auto"', "sample_of_several: .*detail=50us,warm=100us,every=5ms"),
    ],
)
def test_a_sample_is_one_that_the_option_takes(tmp_path: Path, key: str, said: str) -> None:
    file = own(tmp_path) / "workload.toml"
    file.write_text(file.read_text().replace('script = "run.sh"', f'script = "run.sh"\n{key}'))
    with pytest.raises(InputError, match=said):
        description.load(tmp_path)


def test_the_sample_is_that_of_as_many_processors() -> None:
    workload = description.load(WORKLOADS / "postgresql-tpch")
    one, four = (workload.sample(workload.values("tiny", [f"processors={count}"])) for count in (1, 4))
    assert (one, four) == (workload.document.sample, workload.document.sample_of_several)
    assert one is not None and four is not None and one != four
