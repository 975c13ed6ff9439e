"""An option is one declaration: its help has a form, and its effect reaches who is concerned."""

from __future__ import annotations

from pathlib import Path

import pytest
from cxlab.cli.run import command
from cxlab.run import machine
from cxlab.run.errors import BadRequest
from cxlab.run.options import bounds, detail, environment, poison, processors, sampling, table, tiering
from cxlab.run.options.option import Context, Given
from cxlab.run.topology import Interleave, Managed, attach

GIB = 1 << 30
MACHINE, TOPOLOGY = attach(machine.load("8468v-asic"), (GIB, GIB), Interleave(), Managed.KERNEL)
CONTEXT = Context(MACHINE, TOPOLOGY)


def given(*arguments: str) -> Given:
    context = command.make_context("run", [*arguments, "--", "true"])
    return Given({key: value for key, value in context.params.items() if key.startswith("option_")})


@pytest.mark.parametrize("option", table.GUEST, ids=lambda option: option.flag)
def test_the_help_of_an_option_says_what_it_takes(option: object) -> None:
    found = next(one for one in table.GUEST if one is option)
    assert found.help[0].isupper() and not found.help.endswith(".  ")
    flag, choice = found.settings.get("is_flag", False), "type" in found.settings
    # A value that is neither a flag nor one of a few words is shown by an example.
    assert flag or "Example: " in found.help or (choice and "`" in found.help), found.flag


def test_no_option_is_declared_twice() -> None:
    flags = [option.flag for option in table.GUEST]
    assert len(flags) == len(set(flags))


def test_each_effect_reaches_the_process_it_concerns() -> None:
    effect = table.effect(
        given(
            "--poison", "cxl=64M", "--retrain", "cxl=x8,16GT/s", "--tiering", "10", "--skew", "1us", "--check"
        ),
        CONTEXT,
    )
    assert set(effect.plugin) == {"poison=0:67108864", "skew=1000000"}
    # The host is Intel's, and Linux survives a machine check of an Intel server.
    assert effect.processor == ()
    assert effect.guest == {"tiering": {"scan_period_ms": 10}, "from_output": None, "to_output": None}
    retraining = {"node": 1, "at": "0 ns", "lanes": "x8", "rate": "16 GT/s"}
    assert effect.model == {"retrainings": [retraining], "check": True}
    assert effect.config["skew_ns"] == 1000 and effect.config["poison"][0]["offset"] == 64 << 20
    assert "every 10 ms" in effect.moved_note


def test_a_poisoned_line_makes_an_amd_host_intels() -> None:
    host, topology = attach(machine.load("9754-cz120"), (GIB, GIB), Interleave(), Managed.KERNEL)
    amd = Context(host, topology)
    # Linux survives a machine check of an Intel server alone.
    assert "vendor=GenuineIntel" in poison.OPTION.effect(("cxl=64M",), amd).processor


def test_without_options_config_says_so_and_nobody_is_told_anything_but_the_skew() -> None:
    effect = table.effect(given(), CONTEXT)
    assert effect.plugin == ("skew=2000000",) and effect.processor == ()
    assert effect.guest == {"tiering": None, "from_output": None, "to_output": None}
    assert effect.model == {"retrainings": []}
    bounded = {"until_ms", "until_idle_ms", "from_output", "to_output", "from_symbol", "to_symbol"}
    expected = {
        "boot",
        "retrainings",
        "skew_ns",
        "poison",
        "tiering",
        "huge_pages",
        "sample",
        "warm_up",
    } | bounded
    assert set(effect.config) == expected


def test_a_sample_and_a_warm_up_go_to_the_plugin() -> None:
    effect = table.effect(
        given("--sample", "detail=1k,warm=2k,every=10k", "--sample-seed", "3", "--warm-up"), CONTEXT
    )
    assert {"sample=1000:2000:10000:3", "warmup=program"} <= set(effect.plugin)


@pytest.mark.parametrize("option", [o.flag for o in table.GUEST if o.needs_detail], ids=lambda flag: flag)
def test_an_option_of_detail_is_refused_without_it(option: str, tmp_path: Path) -> None:
    values = {"--sample": ["detail=1k,warm=2k,every=10k"], "--stats": []}
    values |= {"--until": ["20ms"], "--until-idle": ["20ms"]}
    arguments = [option, *values.get(option, [str(tmp_path / "file")])]
    with pytest.raises(BadRequest, match=f"{option} needs detail"):
        table.refuse_without_detail(given("--detail", "off", *arguments))
    table.refuse_without_detail(given(*arguments))
    table.refuse_without_detail(given("--detail", "off"))


def test_a_variable_that_is_not_set_cannot_be_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TUNING", raising=False)
    with pytest.raises(
        BadRequest, match=r"--env-pass TUNING: this variable is not set here.*--env TUNING=VALUE"
    ):
        environment.of(given("--env-pass", "TUNING"))
    monkeypatch.setenv("TUNING", "1")
    assert environment.of(given("--env-pass", "TUNING"))["TUNING"] == "1"


def test_a_root_shell_finds_the_systems_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/opt/mine:/usr/bin")
    assert environment.of(given())["PATH"] == "/opt/mine:/usr/bin"
    assert environment.of_root(given())["PATH"] == (
        "/opt/mine:/usr/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin:/bin"
    )
    # A caller without PATH has that of a login shell.
    monkeypatch.delenv("PATH")
    assert environment.of(given())["PATH"] == environment.SEARCH_PATH


def test_a_prompt_is_not_timed_unless_asked_for() -> None:
    defaults = {option.flag: option.settings.get("default") for option in table.AT_A_PROMPT}
    assert defaults["--detail"] == detail.OFF and set(defaults) == {option.flag for option in table.GUEST}


def test_a_value_has_the_type_of_its_declaration() -> None:
    values = given("--cpus", "2", "--detail", "marker")
    assert values[processors.CPUS] == 2 and values[detail.DETAIL] == "marker"
    assert (
        values[sampling.WARM_UP] is False and values[poison.OPTION] == () and values[tiering.OPTION] is None
    )


def test_bounds_are_told_in_picoseconds_and_as_bytes() -> None:
    effect = table.effect(
        given("--until", "1.5ms", "--until-idle", "20 us", "--from-output", "ready", "--to-output", "\udcff"),
        CONTEXT,
    )
    assert {"until=1500000000", "until_idle=20000000"} <= set(effect.plugin)
    assert effect.guest["from_output"] == "ready" and effect.guest["to_output"] == [0xFF]
    found = bounds.of(given("--until", "2s"))
    assert found.in_time and found.until_ps == 2 * 10**12
    assert not bounds.of(given("--from-output", "ready")).in_time


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--until", "5"), "--until 5: this is no simulated time that a run can end after; valid: 10us to"),
        (("--until", "9us"), "valid: 10us to 1000000s"),
        (("--until-idle", "-1ms"), "--until-idle -1ms"),
        (("--until", "nan"), "--until nan"),
        (("--from-output", ""), "--from-output: the text has 0 B; valid: 1 to 4096 B"),
        (("--to-output", "x" * 5000), "--to-output: the text has 5000 B"),
    ],
)
def test_bounds_that_cannot_be_are_refused(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(BadRequest) as refused:
        bounds.of(given(*arguments))
    assert message in str(refused.value)
