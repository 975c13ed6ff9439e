"""The kernel inside a boot image: QEMU starts it as it is linked, so that no guest has to decompress it.

::

    vmlinuz = setup | decompressor | payload        payload = compressed kernel | size of the kernel, 4 B

Linux, Documentation/arch/x86/boot.rst: setup_sects, header, payload_offset, payload_length. The size behind
it is scripts/Makefile.lib's. Debian's kernels are compressed with zstd or xz. QEMU enters the kernel
where its note XEN_ELFNOTE_PHYS32_ENTRY says (PVH).
"""

from __future__ import annotations

import lzma
import struct
from pathlib import Path

from cxlab import elf
from cxlab.run.errors import KernelImageError

SECTOR = 512
#: Of the header: how many sectors follow the first one before the decompressor, and what it begins with.
SETUP_SECTORS_AT, MAGIC_AT, MAGIC = 0x1F1, 0x202, b"HdrS"
#: payload_offset and payload_length
PAYLOAD_AT = 0x248
#: What is compressed with each begins with this.
ZSTD, XZ = b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\0"
SIZE = struct.Struct("<I")
#: Linux maps at most 1 GiB of itself (arch/x86/include/asm/page_64_types.h, KERNEL_IMAGE_SIZE).
LARGEST = 1 << 30
ANEW = "Remove its folder, and the next run gets it anew"


def kernel_of(image: Path) -> bytes:
    """Decompress the kernel of a boot image: an ELF file.

    Raises:
        KernelImageError: this is no boot image, or its kernel is compressed in another way.

    """
    data = image.read_bytes()
    if data[MAGIC_AT : MAGIC_AT + len(MAGIC)] != MAGIC or len(data) < PAYLOAD_AT + 2 * SIZE.size:
        raise KernelImageError(f"{image} is no boot image of Linux on x86: it has no header. {ANEW}")
    offset, length = struct.unpack_from("<II", data, PAYLOAD_AT)
    begin = (data[SETUP_SECTORS_AT] + 1) * SECTOR + offset
    payload = data[begin : begin + length]
    if len(payload) != length or length <= SIZE.size:
        raise KernelImageError(f"{image} is cut short. {ANEW}")
    if not payload.startswith((ZSTD, XZ)):
        raise KernelImageError(f"the kernel in {image} is compressed neither with zstd nor with xz")
    (size,) = SIZE.unpack(payload[-SIZE.size :])
    kernel = _decompressed(payload[: -SIZE.size], size) if size <= LARGEST else b""
    if len(kernel) != size or not kernel.startswith(elf.MAGIC):
        raise KernelImageError(f"the kernel in {image} is damaged. {ANEW}")
    return kernel


def _decompressed(compressed: bytes, size: int) -> bytes:
    """Nothing, if it is damaged."""
    import pyarrow as pa

    try:
        if compressed.startswith(XZ):
            return lzma.LZMADecompressor().decompress(compressed, size)
        return bytes(pa.decompress(compressed, size, codec="zstd", asbytes=True))
    except (OSError, lzma.LZMAError, pa.ArrowException):
        return b""
