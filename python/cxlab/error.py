"""Wrong input: what was wrong, where, and what is valid. The command line ends with exit status 2.

Every part of CXLab raises this one exception for what the user wrote. What fails around a running guest is a
`MachineError` (exit status 125), because statuses below 125 belong to the guest's program.
"""

from __future__ import annotations

from enum import Enum

import click


class Code(Enum):
    """Stable codes: scripts may match on them. `meaning` says what each stands for."""

    meaning: str

    def __new__(cls, code: str, meaning: str = "") -> Code:
        """The value is the code alone."""
        made = object.__new__(cls)
        made._value_, made.meaning = code, meaning
        return made

    # cxlab plan
    NOT_A_QUANTITY = "PLN001", "a value is no number with a unit"
    WRONG_UNIT = "PLN002", "a value has the unit of another quantity"
    OUT_OF_RANGE = "PLN003", "a value is outside the range in which the model holds"
    UNKNOWN_KEY = "PLN004", "a file or an option has a key that nothing reads"
    MISSING = "PLN005", "a key or an option that is needed is absent"
    UNREADABLE = "PLN006", "a file cannot be read"
    INFEASIBLE = "PLN007", "no mix of servers meets the demand"
    RUNS_DIFFER = "PLN008", "runs that are to be compared are of different programs or machines"
    CONFLICT = "PLN009", "two options exclude each other"
    # cxlab calibrate
    MEASURED_FILE = "CAL001", "a file of measured curves has a wrong form"
    NOT_MEASURED = "CAL002", "a figure that is asked for is not among the measured ones"
    UNKNOWN_PARAMETER = "CAL003", "no parameter of the machine has this name"
    BOUNDS = "CAL004", "the bounds of a parameter are wrong"
    HOLD_OUT = "CAL005", "points that are to be held out are wrong"
    TOO_FEW = "CAL006", "there are too few measured points for the parameters"
    REFUSED = "CAL007", "the model refuses a machine that calibration tried"
    UNWRITABLE = "CAL008", "a file cannot be written"
    # cxlab bench, validate, study and experiment
    BENCH = "BEN001", "an option of a bench has a wrong form or value"
    CURVES = "BEN002", "a file of curves has a wrong form"
    HOST = "BEN003", "this host cannot be measured"
    STUDY = "STU001", "an option of a study has a wrong form or value"
    EXPERIMENT = "EXP001", "an experiment or its option is unknown"
    # cxlab explain
    UNKNOWN_WORD = "WRD001", "`cxlab explain` knows no such word"
    # cxlab.api
    OPTION = "API001", "a function of cxlab.api has a wrong argument"
    # cxlab sweep, query and report
    SWEEP = "SWP001", "a sweep's file, its folder or a question about its results is wrong"
    # cxlab workload
    WORKLOAD = "WKL001", "a workload, its description, its packages or what it printed is wrong"


class InputError(click.ClickException):
    """One wrong input."""

    exit_code = 2

    def __init__(self, code: Code, field: str, found: str, valid: str, next_step: str | None = None) -> None:
        """Describe the input.

        Args:
            code: stable.
            field: the option, key or file that was wrong, as the user wrote it.
            found: what was there.
            valid: what would be accepted, with its unit.
            next_step: what to do, where that does not follow from `valid`.

        """
        self.code, self.field, self.found, self.valid, self.next_step = code, field, found, valid, next_step
        text = f"{code.value}: {field}: {found}; valid: {valid}"
        super().__init__(text if next_step is None else f"{text}; {next_step}")

    def __reduce__(self) -> tuple[object, ...]:
        """Cross from process to process with all parts."""
        return type(self), (self.code, self.field, self.found, self.valid, self.next_step)


class RefusedByModel(InputError):
    """The model refuses its input. Its own words start with its own code and name what is valid."""

    def __init__(self, model_code: str, words: str) -> None:
        """Keep the model's stable code and its words."""
        click.ClickException.__init__(self, words)
        self.model_code, self.words = model_code, words

    def __reduce__(self) -> tuple[object, ...]:
        """Cross from process to process."""
        return type(self), (self.model_code, self.words)


class MachineError(Exception):
    """An error of the simulator, not of the program it runs: exit status 125."""

    code = "MCH000"
    #: that the command ends with
    status = 125

    def __str__(self) -> str:
        """``CODE: message``."""
        return f"{self.code}: {super().__str__()}"


class NotBuilt(MachineError):
    """A built artefact (plugin, init, model) is absent."""

    code = "MCH001"


class HostRefuses(MachineError):
    """This host does not let CXLab do what it needs: a full disk, a limit, a folder that has gone."""

    code = "MCH021"
