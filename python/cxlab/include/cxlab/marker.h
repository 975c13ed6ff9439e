/* Markers of the region of detail, for `cxlab run --detail marker`: NOPs that the QEMU plugin knows.
 * Outside of CXLab they do nothing. The bytes are those of crates/marker. `cxlab marker` prints this file's folder. */
#ifndef CXLAB_MARKER_H
#define CXLAB_MARKER_H
#define CXLAB_MARKER(id) __asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00, " #id ", 0x00, 0xc5, 0x1a" ::: "memory")
#define CXLAB_REGION_BEGIN CXLAB_MARKER(1)
#define CXLAB_REGION_END CXLAB_MARKER(2)
#endif
