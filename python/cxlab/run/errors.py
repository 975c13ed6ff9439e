"""Errors around the machine: a stable code, a cause and, if there is one, the next step."""

from __future__ import annotations

from cxlab.error import MachineError

#: Statuses of `cxlab run`, as env(1) has them: an error of its own, and a program that cannot be started.
OWN_ERROR, NOT_EXECUTABLE, NOT_FOUND = 125, 126, 127


class ProgramNotFound(MachineError):
    """The program to run is no file of this host.

    Give its path, or a PATH that holds it.
    """

    code = "MCH022"
    status = NOT_FOUND


class ProgramNotExecutable(MachineError):
    """The program to run is a file that nobody may execute, or a folder.

    Make it executable with chmod +x, or give its interpreter: sh FILE, python3 FILE.
    """

    code = "MCH028"
    status = NOT_EXECUTABLE


class NoRun(MachineError):
    """A folder that should hold a run does not, or the run has not ended.

    `cxlab run` names the folder at its end.
    """

    code = "MCH023"


class KernelImageError(MachineError):
    """The guest's kernel is not in the cache and cannot be downloaded.

    `cxlab doctor --fix` tries again.
    """

    code = "MCH002"


class QemuMissing(MachineError):
    """There is no qemu-system-x86_64 on PATH.

    `cxlab doctor` says how to get it.
    """

    code = "MCH003"


class QemuVersion(MachineError):
    """QEMU has another version than the plugin was made for.

    `cxlab doctor` says which ones it takes.
    """

    code = "MCH004"


class QemuDied(MachineError):
    """QEMU ended before the program did.

    The message has its last words; `cxlab report-bug` packs the rest.
    """

    code = "MCH005"


class GuestPanic(MachineError):
    """The guest's kernel panicked.

    console.log in the run's folder has its last words.
    """

    code = "MCH006"


class GuestInitFailed(MachineError):
    """The guest's init could not go on.

    The message says at which step.
    """

    code = "MCH007"


class ModelDied(MachineError):
    """The model ended before the program did.

    `cxlab report-bug` packs what a maintainer needs.
    """

    code = "MCH008"


class BootTimeout(MachineError):
    """The guest did not become ready in time.

    Read console.log in the run's folder, or run when the host has less to do.
    """

    code = "MCH009"


class BadRequest(MachineError):
    """An option has a wrong value: a name that the machine does not have, a wrong form, or no valid value.

    The message names the option, says what is valid, and what to do. `cxlab COMMAND -h` explains the option.
    """

    code = "MCH011"


class ModelError(MachineError):
    """The model refuses a machine; its own code and words."""

    def __init__(self, code: str, message: str) -> None:
        """Keep the model's code, which its words begin with as well."""
        super().__init__(message.removeprefix(f"{code}: "))
        self.code = code


class UnusableFolder(MachineError):
    """A folder for results, or the cache, cannot be written.

    Choose another one: --out, or XDG_CACHE_HOME.
    """

    code = "MCH012"


class NoJail(MachineError):
    """This host offers no jail to QEMU and the model.

    `cxlab doctor` says why; --jail off runs without one.
    """

    code = "MCH013"


class KeepFailed(MachineError):
    """Not all that the program wrote could be kept.

    Give --keep a folder with enough room.
    """

    code = "MCH014"


class FolderInUse(MachineError):
    """A folder for results holds a run already.

    Choose another one, or add --overwrite.
    """

    code = "MCH015"


class OutputLost(MachineError):
    """The program's standard output or error could not be written.

    The results are kept.
    """

    code = "MCH017"


class BadMessage(MachineError):
    """A message from the guest, or a log of it, is none of CXLab's.

    Run again; root in the guest can cause this.
    """

    code = "MCH018"


class Stalled(MachineError):
    """QEMU or the model hangs, so the run was ended.

    Run again; `cxlab report-bug` packs what a maintainer needs.
    """

    code = "MCH019"


class TimeOver(MachineError):
    """The run took longer than --timeout allows.

    The results so far are kept.
    """

    code = "MCH020"


class OutputNeverCame(MachineError):
    """The program ended without the text of --from-output or --to-output.

    Give a text that it prints.
    """

    code = "MCH024"


class HostMemoryLow(MachineError):
    """This host has too little memory for the guest.

    Make the nodes smaller with --memory.
    """

    code = "MCH025"


class ConsoleFlood(MachineError):
    """The guest writes to its console without end, so the run was ended.

    Print to standard output.
    """

    code = "MCH016"


class CheckpointRefused(MachineError):
    """A checkpoint cannot be made, or a run cannot begin at it.

    The message says why; often it is to be made anew.
    """

    code = "MCH027"


class SavedBootDamaged(MachineError):
    """The saved state of a machine on which Linux is up cannot be loaded.

    --boot whole boots without it.
    """

    code = "MCH026"
