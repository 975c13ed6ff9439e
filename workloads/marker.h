/* Markers of the region of detail: NOPs that the QEMU plugin knows (crates/access/src/record.rs). */
#ifndef MARKER_H
#define MARKER_H
#define MARKER(id) __asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00, " #id ", 0x00, 0xc5, 0x1a" ::: "memory")
#define REGION_BEGIN MARKER(1)
#define REGION_END MARKER(2)
#endif
