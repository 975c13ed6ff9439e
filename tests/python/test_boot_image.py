"""The kernel inside a boot image, whose layout is written down in Linux's boot.rst."""

from __future__ import annotations

import lzma
import struct
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from cxlab.run.errors import KernelImageError
from cxlab.run.guest import boot_image, kernel_image

KERNEL = b"\x7fELF\x02\x01" + bytes(range(256)) * 40


def compressed(data: bytes, codec: str) -> bytes:
    if codec == "xz":
        # scripts/xz_wrap.sh of Linux: 32-bit checksums, and a filter for code of x86
        filters = [{"id": lzma.FILTER_X86}, {"id": lzma.FILTER_LZMA2, "dict_size": 1 << 20}]
        return lzma.compress(data, check=lzma.CHECK_CRC32, filters=filters)
    return bytes(pa.compress(data, codec=codec, asbytes=True))


def image_of(kernel: bytes, codec: str = "zstd") -> bytearray:
    """A boot image with three sectors of setup and 16 bytes of a decompressor before the payload."""
    payload = compressed(kernel, codec) + len(kernel).to_bytes(4, "little")
    image = bytearray(4 * 512 + 16)
    image[0x1F1] = 3
    image[0x202:0x206] = b"HdrS"
    image[0x248:0x250] = struct.pack("<II", 16, len(payload))
    return image + payload


@pytest.mark.parametrize("codec", ["zstd", "xz"])
def test_a_boot_images_kernel_is_found(tmp_path: Path, codec: str) -> None:
    file = tmp_path / "vmlinuz"
    file.write_bytes(image_of(KERNEL, codec) + b"what follows the payload")
    assert boot_image.kernel_of(file) == KERNEL


def cut(image: bytearray) -> bytearray:
    return image[:-1]


def without_header(image: bytearray) -> bytearray:
    image[0x202:0x206] = bytes(4)
    return image


def changed(image: bytearray) -> bytearray:
    # the frame's header descriptor, behind its magic number (RFC 8878, 3.1.1)
    image[4 * 512 + 16 + 4] ^= 0xFF
    return image


def huge(image: bytearray) -> bytearray:
    image[-4:] = b"\xff\xff\xff\xff"
    return image


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda _: image_of(KERNEL, "gzip"), "is compressed neither with zstd nor with xz"),
        (lambda _: image_of(b"no kernel"), "is damaged"),
        (lambda _: bytearray(b"short"), "is no boot image"),
        (cut, "is cut short"),
        (without_header, "is no boot image of Linux on x86: it has no header"),
        (changed, "is damaged"),
        (huge, "is damaged"),
    ],
)
def test_another_file_is_refused(
    tmp_path: Path, damage: Callable[[bytearray], bytearray], message: str
) -> None:
    file = tmp_path / "vmlinuz"
    file.write_bytes(damage(image_of(KERNEL)))
    with pytest.raises(KernelImageError, match=message):
        boot_image.kernel_of(file)


def test_debians_kernel_is_decompressed_once() -> None:
    image = kernel_image.ensure()
    kernel = image.vmlinux
    assert f"Linux version {image.release}".encode() in kernel.read_bytes()
    before = kernel.stat()
    assert image.vmlinux.stat() == before
