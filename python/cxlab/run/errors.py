"""What can go wrong around the machine: stable codes, a cause and, where there is one, the next step."""

from __future__ import annotations

from cxlab.error import MachineError


class ProgramNotFound(MachineError):
    """The program to run is no file of this host."""

    code = "MCH022"
    status = 127


class NoRun(MachineError):
    """A folder that should hold a run does not, or the run has not ended."""

    code = "MCH023"


class KernelImageError(MachineError):
    """The guest kernel is not in the cache and cannot be got."""

    code = "MCH002"


class QemuMissing(MachineError):
    """There is no qemu-system-x86_64."""

    code = "MCH003"


class QemuVersion(MachineError):
    """QEMU is there in another version than the plugin was made for."""

    code = "MCH004"


class QemuDied(MachineError):
    """QEMU ended before the program did."""

    code = "MCH005"


class GuestPanic(MachineError):
    """The guest's kernel panicked."""

    code = "MCH006"


class GuestInitFailed(MachineError):
    """The guest's init could not go on."""

    code = "MCH007"


class ModelDied(MachineError):
    """The model's process ended before the program did."""

    code = "MCH008"


class BootTimeout(MachineError):
    """The guest did not become ready."""

    code = "MCH009"


class BadRequest(MachineError):
    """An option names something that the machine does not have, or in a form that it does not take."""

    code = "MCH011"


class ModelError(MachineError):
    """The model refuses a machine; its own code and words."""

    def __init__(self, code: str, message: str) -> None:
        """Keep the model's code, which its words begin with as well."""
        super().__init__(message.removeprefix(f"{code}: "))
        self.code = code


class UnusableFolder(MachineError):
    """A folder for results, or the cache, cannot be written."""

    code = "MCH012"


class NoJail(MachineError):
    """This host offers no jail to QEMU and the model."""

    code = "MCH013"


class KeepFailed(MachineError):
    """What the program wrote could not be kept whole."""

    code = "MCH014"


class FolderInUse(MachineError):
    """A folder for results holds a run already."""

    code = "MCH015"


class OutputLost(MachineError):
    """The program's standard output or error could not be written."""

    code = "MCH017"


class BadMessage(MachineError):
    """What came from the guest, or a log that was kept of it, is no message of CXLab's."""

    code = "MCH018"


class Stalled(MachineError):
    """QEMU or the model hangs."""

    code = "MCH019"


class TimeOver(MachineError):
    """The run takes longer than ``--timeout`` allows."""

    code = "MCH020"


class OutputNeverCame(MachineError):
    """The program has ended without printing what the run waited for."""

    code = "MCH024"


class HostMemoryLow(MachineError):
    """This host has too little memory for the guest."""

    code = "MCH025"


class ConsoleFlood(MachineError):
    """The guest writes to its console without end."""

    code = "MCH016"


class CheckpointRefused(MachineError):
    """A checkpoint cannot be made, or a run cannot begin at it."""

    code = "MCH027"


class SavedBootDamaged(MachineError):
    """The state of a machine on which Linux is up cannot be loaded."""

    code = "MCH026"
