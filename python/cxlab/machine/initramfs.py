"""The guest's first root: init, five modules, a console; cached under the hash of its content."""

from __future__ import annotations

import hashlib
from pathlib import Path

from cxlab.machine import cache, cpio, guest
from cxlab.machine.kernel_image import KernelImage

#: In the order in which they need each other; virtio_pci and virtio_console are built into Debian's kernel.
MODULES = ("fs/netfs/netfs", "net/9p/9pnet", "net/9p/9pnet_virtio", "fs/9p/9p", "fs/overlayfs/overlay")
#: init's mount points.
FOLDERS = ("dev", "host", "layer", "modules", "proc", "root", "sys")


def ensure(image: KernelImage, init: Path) -> Path:
    """The archive of this kernel and this init."""
    digest = hashlib.sha256(f"{image.release} {MODULES} {FOLDERS}".encode())
    digest.update(init.read_bytes())
    digest.update(Path(cpio.__file__).read_bytes())

    def fill(folder: Path) -> None:
        (folder / "initramfs.cpio").write_bytes(_archive(image, init))

    return cache.entry(f"initramfs/{digest.hexdigest()[:32]}", fill) / "initramfs.cpio"


def with_run(base: Path, run: bytes) -> bytes:
    """The archive ``base`` and behind it another with the run: the kernel unpacks one after the other."""
    archive = cpio.Archive()
    archive.file(guest.RUN_FILE, run)
    return base.read_bytes() + archive.closed()


def _archive(image: KernelImage, init: Path) -> bytes:
    archive = cpio.Archive()
    for folder in FOLDERS:
        archive.folder(folder)
    # Without it the kernel starts init with no descriptors 0, 1, 2.
    archive.character_device("dev/console", 5, 1)
    for order, module in enumerate(MODULES):
        archive.file(f"modules/{order}-{module.rpartition('/')[2]}.ko", image.module(module))
    archive.file("init", init.read_bytes(), executable=True)
    return archive.closed()
