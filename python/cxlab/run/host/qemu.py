"""The QEMU command line: a q35 machine of several nodes and 1 to 64 vCPUs, no KVM, booting the guest's init.

What it does not have: a network, a display. Source of the recipe: QEMU 10.0's documentation (numa,
hmat-lb, fsdev, virtserialport), and measurements that the tests repeat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cxlab.run.guest import protocol as guest
from cxlab.run.host import cpuid
from cxlab.run.host.disk import Ends
from cxlab.run.host.installed_qemu import PROGRAM
from cxlab.run.host.process import Limits
from cxlab.run.machine import Machine
from cxlab.run.size import MIB
from cxlab.run.topology import Topology

#: Of the HMAT's bandwidths (ACPI 6.5, table 5.149).
LARGEST_ENTRY = 65534
#: QEMU's own address space: VmPeak was 1.3 GiB beside the guest's memory, 1 GiB of it for translated code. A
#: bound against a QEMU that takes without end, far above that [bytes].
OWN_BYTES = 16 << 30

#: Ports of the guest, in the order of their numbers on the bus: crates/guest-init/src/port.rs.
CONTROL = "control"
PORTS = (CONTROL, "stdin", "stdout", "stderr")
#: Requests to the disk that the guest may have under way. `MOST_SEGMENTS` of
#: crates/qemu-plugin/src/disk/control.rs follows from it.
DISK_QUEUE = 256
#: QEMU's name of a machine's state.
STATE_SET = 2
STATE_URI = f"file:/dev/fdset/{STATE_SET}"
#: With a placement controller in the guest: crates/guest-init/src/steering.rs.
COUNTERS, CAPTION_LOG = "counters", "caption-log"
STEERING_PORTS = (*PORTS, COUNTERS, CAPTION_LOG)

KERNEL_ARGUMENTS = (
    "console=ttyS0",
    "quiet",
    "panic=-1",  # with -no-reboot: a panic ends QEMU at once
    # The same run twice gives the same time: no address is drawn at random.
    "nokaslr",
    "norandmaps",
    "randomize_kstack_offset=off",
    # The model is the only clock: no watchdog that compares it with a second one.
    "tsc=reliable",
    # A self-test of the crypto layer would still share the CPU with the program's first loops.
    "cryptomgr.notests",
    # The CPUs modelled answer Spectre v2 in hardware (eIBRS, BHI_DIS_S). On QEMU's CPU, Linux would put
    # retpolines in their place: indirect branches of the kernel for which no real CPU pays. The other
    # mitigations stay.
    "spectre_v2=off",
    # By IA32_ARCH_CAPABILITIES the processors modelled say that they have neither Meltdown nor L1TF nor MDS.
    # QEMU's has no such register, and Linux would change page tables at each system call.
    *("pti=off", "l1tf=off", "mds=off"),
    # Placement is what the options say, until they say otherwise.
    "numa_balancing=disable",
)


def port_number(name: str) -> int:
    """The number of a port on its bus; 0 is the console's, which nobody has."""
    return STEERING_PORTS.index(name) + 1


def limits(node_bytes: Sequence[int], disk_bytes: int) -> Limits:
    """Return the memory that QEMU may map and the largest file that it may write, the guest's memory
    included."""
    memory = sum(node_bytes)
    return Limits(address_space=2 * memory + OWN_BYTES, file_size=max(memory, disk_bytes))


def _option(kind: str, **settings: object) -> str:
    """``kind,key=value,...``; QEMU doubles a comma inside a value, and writes '-' for '_' in keys."""
    return ",".join([kind, *(f"{key}={str(value).replace(',', ',,')}" for key, value in settings.items())])


@dataclass(frozen=True)
class Plugin:
    """The QEMU plugin and what it is told."""

    path: Path
    #: descriptor of the ring
    ring: int
    #: descriptor of a pipe whose writing end only the model has
    model: int
    #: all, marker, output, off
    detail: str
    #: jump: an idle guest is at its next timer at once; pace: no faster than the host, somebody may type
    idle: str
    #: number of the port that the model answers a placement controller in
    counters: int | None = None
    #: number of the port that brings the request to stop the program
    control: int | None = None
    #: of options, as ``key=value``
    settings: tuple[str, ...] = ()
    #: ``save``: the guest stands still where Linux is up; a time [ps]: it begins there; None: it boots
    boot: str | None = None


@dataclass(frozen=True)
class Command:
    """Everything that the command line depends on."""

    machine: Machine
    #: size of each node [bytes]
    node_bytes: tuple[int, ...]
    #: vCPUs
    cpus: int
    kernel: Path
    initramfs: Path
    #: what the guest's init is to run
    run: Path
    #: descriptors of the ports' sockets, by name, in the order of their numbers
    ports: dict[str, int]
    #: the serial console is written here
    console: Path
    #: QEMU itself
    program: Path = Path(PROGRAM)
    #: of QEMU, as it tells it
    version: str = ""
    #: the tree that the guest is to see
    share: Path = Path("/")
    #: the guest may write here, if anywhere
    keep: Path | None = None
    plugin: Plugin | None = None
    #: descriptors of the disk
    disk: Ends | None = None
    #: devices of the CXL nodes; a node without one is firmware's
    topology: Topology = field(default_factory=Topology)
    #: files of what is persistent, by the name of QEMU's object
    kept: Mapping[str, Path] = field(default_factory=dict)
    #: features of the processor, as ``key=value``
    processor: tuple[str, ...] = ()
    #: descriptor of the socket of QEMU's monitor protocol
    monitor: int | None = None
    #: descriptor of a machine's state: where the guest begins
    state: int | None = None
    #: descriptor of the file that the state is to be written to
    save: int | None = None

    def arguments(self) -> list[str]:
        """The command, program first."""
        return [
            str(self.program),
            # QEMU's own filter of system calls: a guest that breaks out starts nothing and gets no rights.
            *("-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"),
            *("-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-monitor", "none"),
            *("-M", f"q35,hmat=on,cxl={'on' if self.topology.windows else 'off'}"),
            *(
                "-accel",
                self._accelerator(),
                "-cpu",
                self._processor(),
                "-smp",
                str(self.cpus),
            ),
            # The same date in every boot, or no two are alike; init sets the host's.
            *("-rtc", "base=2026-01-01T00:00:00,clock=vm", "-seed", "1"),
            *self._memory(),
            *self._cxl(),
            *(
                "-kernel",
                str(self.kernel),
                "-initrd",
                str(self.initramfs),
                "-append",
                " ".join(KERNEL_ARGUMENTS),
            ),
            *("-chardev", _option("file", id="console", path=self.console), "-serial", "chardev:console"),
            *self._share("host", self.share, readonly=True),
            *(self._share("keep", self.keep, readonly=False) if self.keep is not None else ()),
            *self._disk(),
            *self._ports(),
            *("-fw_cfg", _option(f"name={guest.RUN_FILE}", file=self.run)),
            *self._state(),
            *self._plugin(),
        ]

    def _accelerator(self) -> str:
        """Several vCPUs take turns on one thread: their order is the plugin's."""
        return "tcg" if self.cpus == 1 else "tcg,thread=single"

    def _memory(self) -> list[str]:
        """The firmware's nodes; HMAT has the machine's figures, so Linux's tiers and distances are right."""
        of_devices = {window.node for window in self.topology.windows}
        nodes = [node for node in self.machine.nodes if node.place not in of_devices]
        sizes = [self.node_bytes[node.place] for node in nodes]
        arguments = ["-m", f"{sum(sizes) // MIB}M"]
        local = nodes[0]
        for node, size in zip(nodes, sizes, strict=True):
            memory = f"node{node.number}"
            arguments += [
                "-object",
                self._backend(memory, size),
                "-numa",
                _option("node", nodeid=node.number, memdev=memory)
                + (
                    f",cpus=0-{self.cpus - 1}"
                    if node.number == local.number
                    else f",initiator={local.number}"
                ),
            ]
        fastest = max(node.bandwidth_gb_s for node in nodes) * 1e9 / MIB
        for node in nodes:
            target = {"initiator": local.number, "target": node.number, "hierarchy": "memory"}
            latency = max(1, round(node.latency_ns))
            bandwidth = f"{_in_table(node.bandwidth_gb_s * 1e9 / MIB, most=fastest)}M"
            for kind in ("access-latency", "read-latency", "write-latency"):
                arguments += [
                    "-numa",
                    _option("hmat-lb", **target, **{"data-type": kind, "latency": latency}),
                ]
            for kind in ("access-bandwidth", "read-bandwidth", "write-bandwidth"):
                arguments += [
                    "-numa",
                    _option("hmat-lb", **target, **{"data-type": kind, "bandwidth": bandwidth}),
                ]
            if node is not local:
                distance = _distance(node.latency_ns / local.latency_ns)
                arguments += ["-numa", _option("dist", src=local.number, dst=node.number, val=distance)]
        far = nodes[1:]
        for position, node in enumerate(far):
            for other in far[position + 1 :]:
                worst = max(node.latency_ns, other.latency_ns) / local.latency_ns
                arguments += [
                    "-numa",
                    _option("dist", src=node.number, dst=other.number, val=_distance(worst)),
                ]
        return arguments

    def _backend(self, name: str, size: int) -> str:
        """Private memory: it has huge pages, and reading allocates nothing. A disk's is shared."""
        megabytes = f"{size // MIB}M"
        if self.disk is None:
            # Nodes may be larger than the host's memory: Linux grants that to who reserves none.
            return _option("memory-backend-ram", id=name, size=megabytes, reserve="off")
        # vhost-user hands the memory's descriptor to who serves the disk.
        return _option("memory-backend-memfd", id=name, size=megabytes, share="on")

    def _cxl(self) -> list[str]:
        if not self.topology.windows:
            return []
        return ["-M", ",".join(self.topology.machine()), *self.topology.arguments(self.kept)]

    @staticmethod
    def _share(tag: str, folder: Path, *, readonly: bool) -> list[str]:
        settings = {"id": tag, "path": folder, "security_model": "none", "multidevs": "remap"}
        if readonly:
            settings["readonly"] = "on"
        return [
            "-fsdev",
            _option("local", **settings),
            "-device",
            _option("virtio-9p-pci", bus="pcie.0", fsdev=tag, mount_tag=tag, ioeventfd="off"),
        ]

    def _processor(self) -> str:
        # Linux commits no CXL region where it sees a hypervisor: it could not make the caches forget.
        own = cpuid.properties(self.machine.processor)
        return ",".join(("max", "hypervisor=off", "monitor=off", *own, *self.processor))

    def _disk(self) -> list[str]:
        if self.disk is None:
            return []
        queue = {"num-queues": 1, "queue-size": DISK_QUEUE}
        return [
            *("-chardev", _option("socket", id="disk", fd=self.disk.device)),
            *("-device", _option("vhost-user-blk-pci", bus="pcie.0", chardev="disk", **queue)),
        ]

    def _ports(self) -> list[str]:
        arguments = ["-device", _option("virtio-serial-pci", bus="pcie.0", id="ports", ioeventfd="off")]
        for number, name in enumerate(self.ports, start=1):
            port = _option("virtserialport", bus="ports.0", nr=number, chardev=name, name=f"cxlab.{name}")
            arguments += ["-chardev", _option("socket", id=name, fd=self.ports[name]), "-device", port]
        return arguments

    def _state(self) -> list[str]:
        """Each page has its place in the file, and empty ones have none: as fast as the disk is."""
        if self.state is None and self.save is None:
            return []
        descriptor = self.state if self.save is None else self.save
        arguments = ["-add-fd", f"fd={descriptor},set={STATE_SET}"]
        for setting in ("mapped-ram=on", "store-global-state=off"):
            arguments += ["-global", f"migration.{setting}"]
        if self.monitor is not None:
            arguments += ["-chardev", _option("socket", id="monitor", fd=self.monitor)]
            arguments += ["-mon", _option("chardev=monitor", mode="control")]
        if self.state is not None:
            arguments += ["-incoming", STATE_URI]
        return arguments

    def _plugin(self) -> list[str]:
        if self.plugin is None:
            return []
        settings = {
            "ring": self.plugin.ring,
            "model": self.plugin.model,
            "detail": self.plugin.detail,
            "tsc": self.machine.tsc_hz,
        }
        settings |= {"idle": self.plugin.idle, "vcpus": self.cpus}
        if self.topology.windows:
            settings["windows"] = len(self.topology.windows)
        if self.plugin.counters is not None:
            settings["counters"] = self.plugin.counters
        if self.plugin.control is not None:
            settings["control"] = self.plugin.control
        if self.plugin.boot is not None:
            settings["boot"] = self.plugin.boot
        if self.disk is not None:
            drive = self.machine.drive
            assert drive is not None, "a machine without a drive is refused with a disk"
            figures = (drive.link_bytes_s, drive.dies, drive.die_ps, drive.controller_ps)
            settings["disk"] = ":".join(map(str, (self.disk.plugin, self.disk.file, *figures)))
        own = _option(str(self.plugin.path).replace(",", ",,"), **settings)
        answers = cpuid.answers(self.machine.processor, self.machine.cores, self.machine.tsc_hz)
        told = (f"cpuid={answer}" for answer in answers)
        return ["-plugin", ",".join((own, *told, *self.plugin.settings))]


def _in_table(bandwidth: float, most: float) -> int:
    """Round a bandwidth [MiB/s] to what the table can hold beside ``most``, its largest.

    An entry has 16 bits, 0 and 65535 are taken, and all share one unit (ACPI 6.5, table 5.149). QEMU takes
    the largest power of two that divides them all.
    """
    unit = 1
    while most / unit > LARGEST_ENTRY:
        unit *= 2
    return max(1, round(bandwidth / unit)) * unit


def _distance(ratio: float) -> int:
    """ACPI SLIT (6.5, section 5.2.17): 10 is local, 255 unreachable; Linux wants a remote node above 10."""
    return min(254, max(11, round(10 * ratio)))
