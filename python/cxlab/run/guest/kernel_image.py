"""The guest's kernel: Debian's linux-image, unpacked into the cache, not installed.

Debian 13 has the series itself, Debian 12 in bookworm-backports.

``linux-image-amd64`` depends on the image of the day (``linux-image-6.12.95+deb12-amd64``, say). What is in
the cache is used as it is, without touching the network; ``cxlab doctor`` names it.
"""

from __future__ import annotations

import lzma
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from cxlab.run.errors import KernelImageError
from cxlab.run.guest import boot_image, cache

#: The series that the boot recipe and the tests were made with.
SERIES = "6.12"
#: Where a package has its modules: Debian 12's, Debian 13's.
ROOTS_OF_MODULES = ("lib/modules", "usr/lib/modules")
META_PACKAGE = "linux-image-amd64"
NEXT_STEP = (
    "Debian 13 has it: sudo apt-get update. On Debian 12, bookworm-backports must be among apt's sources:\n"
    "  echo 'deb http://deb.debian.org/debian bookworm-backports main' | "
    "sudo tee /etc/apt/sources.list.d/bookworm-backports.list && sudo apt-get update"
)


@dataclass(frozen=True)
class KernelImage:
    """An unpacked kernel package."""

    #: kernel release, as uname -r gives it
    release: str
    #: the package's files
    folder: Path

    @property
    def vmlinuz(self) -> Path:
        """The bootable image."""
        return self.folder / "boot" / f"vmlinuz-{self.release}"

    @property
    def vmlinux(self) -> Path:
        """The kernel in the bootable image, decompressed the first time.

        Raises:
            KernelImageError: the image is damaged.

        """
        name = f"vmlinux-{self.release}"

        def fill(folder: Path) -> None:
            (folder / name).write_bytes(boot_image.kernel_of(self.vmlinuz))

        return cache.entry(f"vmlinux/{self.release}", fill) / name

    def module(self, path: str) -> bytes:
        """A kernel module, decompressed; ``path`` is below ``kernel/``, without suffix: ``fs/9p/9p``."""
        for root in ROOTS_OF_MODULES:
            compressed = self.folder / root / self.release / "kernel" / f"{path}.ko.xz"
            if compressed.is_file():
                return lzma.decompress(compressed.read_bytes())
        looked = " and ".join(f"{self.folder / root}" for root in ROOTS_OF_MODULES)
        raise KernelImageError(f"the kernel {self.release} has no module {path}: looked in {looked}")


def cached() -> KernelImage | None:
    """The newest kernel in the cache, if there is one."""
    folders = (cache.folder() / "kernel").glob(f"{SERIES}.*")
    newest = max(folders, key=lambda f: [int(n) for n in re.findall(r"\d+", f.name)], default=None)
    return None if newest is None else KernelImage(newest.name, newest)


def ensure() -> KernelImage:
    """The kernel in the cache; downloaded and unpacked if there is none.

    Raises:
        KernelImageError: it cannot be downloaded or unpacked.

    """
    image = cached()
    if image is not None:
        return image
    package = _package()
    release = package.removeprefix("linux-image-")
    folder = cache.entry(f"kernel/{release}", lambda partial: _unpack(package, partial))
    return KernelImage(release, folder)


def _package() -> str:
    """The newest image package of the series that apt knows."""
    shown = _output(["apt-cache", "show", "--all-versions", META_PACKAGE])
    found: list[str] = re.findall(
        rf"^Depends:.*?(linux-image-{re.escape(SERIES)}\.[^ ]*-amd64)\b", shown, re.MULTILINE
    )
    if not found:
        raise KernelImageError(f"apt knows no {META_PACKAGE} of Linux {SERIES}. {NEXT_STEP}")
    return max(found, key=lambda p: [int(n) for n in re.findall(r"\d+", p)])


def _unpack(package: str, folder: Path) -> None:
    _output(["apt-get", "-o", "APT::Sandbox::User=", "download", package], cwd=folder)
    for archive in folder.glob("*.deb"):
        _output(["dpkg-deb", "--extract", str(archive), str(folder)])
        archive.unlink()


def _output(command: list[str], cwd: Path | None = None) -> str:
    try:
        done = subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise KernelImageError(
            f"{command[0]} is missing: CXLab takes its guest kernel from Debian's archive"
        ) from None
    except subprocess.CalledProcessError as error:
        said = error.stderr.strip() or f"exit status {error.returncode}"
        raise KernelImageError(f"{' '.join(command)}: {said}\n{NEXT_STEP}") from None
    return done.stdout
