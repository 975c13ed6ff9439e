"""What can go wrong around the machine: stable codes, a cause and, where there is one, the next step."""

from __future__ import annotations


class MachineError(Exception):
    """An error of the simulator, not of the program it runs: exit status 125."""

    code = "MCH000"

    def __str__(self) -> str:
        """``CODE: message``."""
        return f"{self.code}: {super().__str__()}"


class NotBuilt(MachineError):
    """A built artefact (plugin, init, model) is absent."""

    code = "MCH001"


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
    """A folder for results cannot be written."""

    code = "MCH012"
