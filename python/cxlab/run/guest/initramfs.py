"""The guest's first root: init, the modules that it loads, a console; cached by its content's hash."""

from __future__ import annotations

import hashlib
from pathlib import Path

from cxlab.run.guest import cache, cpio
from cxlab.run.guest.kernel_image import KernelImage

#: By what they are for, in the order in which they need each other; virtio_pci, virtio_console, cxl_core and
#: cxl_port are built into Debian's kernel.
MODULES = {
    "tree": ("fs/netfs/netfs", "net/9p/9pnet", "net/9p/9pnet_virtio", "fs/9p/9p", "fs/overlayfs/overlay"),
    "cxl": (
        *("drivers/cxl/cxl_acpi", "drivers/cxl/cxl_pci", "drivers/cxl/cxl_mem"),
        *("drivers/dax/device_dax", "drivers/dax/dax_cxl"),
    ),
    "pmem": (
        *("drivers/nvdimm/libnvdimm", "drivers/nvdimm/nd_btt", "drivers/nvdimm/nd_pmem"),
        *("drivers/dax/dax_pmem", "drivers/cxl/cxl_pmem"),
    ),
    "kmem": ("drivers/dax/kmem",),
    "disk": ("drivers/block/virtio_blk",),
    # crc32c is what ext4 checks its metadata with. Every processor here has the instruction.
    "files": (
        *("arch/x86/crypto/crc32c-intel", "lib/crc16", "fs/mbcache"),
        *("fs/jbd2/jbd2", "fs/ext4/ext4"),
    ),
}
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


def _archive(image: KernelImage, init: Path) -> bytes:
    archive = cpio.Archive()
    for folder in FOLDERS:
        archive.folder(folder)
    # Without it the kernel starts init with no descriptors 0, 1, 2.
    archive.character_device("dev/console", 5, 1)
    for purpose, modules in MODULES.items():
        archive.folder(f"modules/{purpose}")
        for order, module in enumerate(modules):
            name = module.rpartition("/")[2]
            archive.file(f"modules/{purpose}/{order}-{name}.ko", image.module(module))
    archive.file("init", init.read_bytes(), executable=True)
    return archive.closed()
