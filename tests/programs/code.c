/* Runs a loop of COUNT rounds whose code lies in a page of its own, where the memory policy puts it; code COUNT [DEVICE OFFSET]: in a
 * range of that device. Prints the loop's result and the node of its page, -1 where a page of a device has none. */
#define _GNU_SOURCE
#include "cxlab/marker.h"
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { HUGE_PAGE = 2 << 20 };

/* uint64_t loop(uint64_t rounds): xor eax, eax; again: add rax, rdi; call next; next: pop rdx; dec rdi; jnz again; ret */
static const unsigned char LOOP[] = {0x31, 0xc0, 0x48, 0x01, 0xf8, 0xe8, 0, 0, 0, 0, 0x5a, 0x48, 0xff, 0xcf, 0x75, 0xf2, 0xc3};

static char *map(int argc, char **argv) {
    const int access = PROT_READ | PROT_WRITE | PROT_EXEC;
    if (argc < 4) return mmap(0, HUGE_PAGE, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const size_t offset = strtoull(argv[3], 0, 0), page = offset / HUGE_PAGE * HUGE_PAGE;
    char *area = mmap(0, HUGE_PAGE, access, MAP_SHARED, open(argv[2], O_RDWR), (off_t)page);
    return area == MAP_FAILED ? area : area + offset - page;
}

int main(int argc, char **argv) {
    const uint64_t count = strtoull(argv[1], 0, 0);
    char *area = map(argc, argv);
    if (area == MAP_FAILED) perror("mmap"), exit(1);
    memcpy(area, LOOP, sizeof LOOP);
    uint64_t (*loop)(uint64_t) = (uint64_t(*)(uint64_t))(void *)area;
    CXLAB_REGION_BEGIN;
    const uint64_t sum = loop(count);
    CXLAB_REGION_END;
    void *page = (void *)((uintptr_t)area & ~(uintptr_t)4095);
    int node = -1;
    syscall(SYS_move_pages, 0, 1ul, &page, NULL, &node, 0);
    printf("%d %d\n", sum == count * (count + 1) / 2, node < 0 ? -1 : node);
    return 0;
}
