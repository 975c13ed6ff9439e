/* A random pointer chase through working sets of several sizes, timed by itself: chase COUNT BYTES...
 * In anonymous memory, or in the file or device that CHASE_IN names; in pages of 2 MiB, or with CHASE_BASE_PAGES of 4 KiB. For each size: bytes, ns a load by clock_gettime, and by rdtsc at 2.4 GHz. */
#include "cxlab/marker.h"
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <x86intrin.h>

enum { LINE = 64, BASE_PAGE = 4096, HUGE_PAGE = 2 << 20 };

/* A full-period linear congruence (Hull and Dobell: odd increment, multiplier 1 mod 4) over a power of two. */
static void **link_lines(char *area, size_t lines) {
    size_t at = 0;
    for (size_t i = 0; i < lines; i++) {
        size_t next = (at * 0x5851f42d4c957f2dull + 0x14057b7ef767814full) % lines;
        *(void **)(area + at * LINE) = area + next * LINE;
        at = next;
    }
    return (void **)area;
}

static void **follow(void **at, size_t count) {
    while (count--) at = *at;
    return at;
}

static char *map(size_t bytes) {
    const char *file = getenv("CHASE_IN");
    const int flags = file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, in = file ? open(file, O_RDWR) : -1;
    char *area = mmap(0, bytes, PROT_READ | PROT_WRITE, flags, in, 0);
    if (area == MAP_FAILED) perror("mmap"), exit(1);
    return area;
}

int main(int argc, char **argv) {
    const size_t count = strtoull(argv[1], 0, 0);
    for (int i = 2; i < argc; i++) {
        const size_t bytes = strtoull(argv[i], 0, 0), lines = bytes / LINE;
        /* Whole pages of 2 MiB, or Linux gives pages of 4 KiB. */
        const size_t whole = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
        char *area = map(whole + HUGE_PAGE);
        area += -(uintptr_t)area % HUGE_PAGE;
        madvise(area, whole, getenv("CHASE_BASE_PAGES") ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
        void **at = link_lines(area, lines);
        const int base_pages = getenv("CHASE_BASE_PAGES") != 0;
        CXLAB_REGION_BEGIN;
        /* What fits a cache is there when the clock starts; set-up was not simulated. */
        if (bytes <= (32 << 20)) at = follow(at, lines);
        /* So are page tables: four loads for each line of eight entries, all but one in fifty are met. */
        else if (base_pages) at = follow(at, 4 * bytes / (8 * BASE_PAGE));
        struct timespec begin, end;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        const uint64_t first = __rdtsc();
        at = follow(at, count);
        __asm__ volatile("" ::"r"(at) : "memory");
        const uint64_t last = __rdtsc();
        clock_gettime(CLOCK_MONOTONIC, &end);
        CXLAB_REGION_END;
        const double ns = (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
        printf("%zu %.4f %.4f\n", bytes, ns / (double)count, (double)(last - first) / 2.4 / (double)count);
    }
    return 0;
}
