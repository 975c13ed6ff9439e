/* Touches BYTES of small pages, then reads COUNT of them at random: pressure BYTES COUNT. Prints ns a read. */
#include "cxlab/marker.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { PAGE = 4096 };

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    const size_t bytes = strtoull(argv[1], 0, 0), pages = bytes / PAGE, count = strtoull(argv[2], 0, 0);
    volatile char *area = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise((void *)area, bytes, MADV_NOHUGEPAGE);
    for (size_t page = 0; page < pages; page++) area[page * PAGE] = (char)(page | 1);
    uint64_t draw = 1, wrong = 0;
    struct timespec begin, end;
    CXLAB_REGION_BEGIN;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (size_t i = 0; i < count; i++) {
        draw = draw * 0x5851f42d4c957f2dull + 0x14057b7ef767814full;
        const size_t page = (draw >> 33) % pages;
        wrong += area[page * PAGE] != (char)(page | 1);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    CXLAB_REGION_END;
    const double ns = (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
    printf("%.1f %llu\n", ns / (double)count, (unsigned long long)wrong);
    return 0;
}
