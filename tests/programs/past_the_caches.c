/* Stores and loads that say what caches should do, over LINES lines: past_the_caches flush|stream LINES.
 * flush: each line is stored to, flushed and loaded again; ns a load is printed, one load at a time.
 * stream: each line is stored past the caches, whole in the first half, its first 8 bytes in the second. */
#include "cxlab/marker.h"
#include <emmintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <x86intrin.h>

enum { LINE = 64, HUGE_PAGE = 2 << 20 };

static double flush(char *area, size_t lines) {
    uint64_t took = 0, sum = 0;
    unsigned processor;
    for (size_t i = 0; i < lines; i++) *(volatile uint64_t *)(area + i * LINE) = i;
    for (size_t i = 0; i < lines; i++) _mm_clflush(area + i * LINE);
    _mm_mfence();
    for (size_t i = 0; i < lines; i++) {
        const uint64_t first = __rdtscp(&processor);
        sum += *(volatile uint64_t *)(area + i * LINE);
        _mm_lfence();
        took += __rdtscp(&processor) - first;
    }
    if (sum != lines * (lines - 1) / 2) abort();
    return (double)took / 2.4 / (double)lines;
}

static void stream(char *area, size_t lines) {
    const __m128i zero = _mm_setzero_si128();
    for (size_t i = 0; i < lines; i++) {
        char *line = area + i * LINE;
        if (i < lines / 2)
            for (int part = 0; part < LINE; part += 16) _mm_stream_si128((__m128i *)(line + part), zero);
        else
            _mm_stream_si64((long long *)line, 0);
    }
    _mm_mfence();
}

int main(int argc, char **argv) {
    const size_t lines = strtoull(argv[argc - 1], 0, 0), bytes = lines * LINE;
    char *area = mmap(0, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    area += -(uintptr_t)area % HUGE_PAGE;
    madvise(area, bytes, MADV_HUGEPAGE);
    memset(area, 1, bytes);
    double ns = 0;
    CXLAB_REGION_BEGIN;
    if (strcmp(argv[1], "flush") == 0)
        ns = flush(area, lines);
    else
        stream(area, lines);
    CXLAB_REGION_END;
    printf("%.1f\n", ns);
    return 0;
}
