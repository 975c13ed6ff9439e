/* N independent chases at once: what the fill buffers overlap. streams BYTES STEPS N...: for each N, ns a load. Each goes on
 * where it was before, so no line is visited twice while the numbers times STEPS are below lines / MOST. */
#include "cxlab/marker.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <x86intrin.h>

enum { LINE = 64, MOST = 32 };

int main(int argc, char **argv) {
    const size_t lines = strtoull(argv[1], 0, 0) / LINE, steps = strtoull(argv[2], 0, 0);
    char *area = mmap(0, lines * LINE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void **heads[MOST];
    size_t at = 0, head = 0;
    for (size_t i = 0; i < lines; i++) {
        size_t next = (at * 0x5851f42d4c957f2dull + 0x14057b7ef767814full) % lines;
        /* At no regular distance: low bits of the generator have short periods, and chases are not to meet in one bank. */
        if (head < MOST && i == head * (lines / MOST) + head * 997) heads[head++] = (void **)(area + at * LINE);
        *(void **)(area + at * LINE) = area + next * LINE;
        at = next;
    }
    for (int arg = 3; arg < argc; arg++) {
        const int streams = atoi(argv[arg]);
        CXLAB_REGION_BEGIN;
        const uint64_t first = __rdtsc();
        for (size_t step = 0; step < steps; step++)
            for (int i = 0; i < streams; i++) heads[i] = *heads[i];
        __asm__ volatile("" ::"r"(heads) : "memory");
        const uint64_t last = __rdtsc();
        CXLAB_REGION_END;
        printf("%d %.4f\n", streams, (double)(last - first) / 2.4 / (double)(steps * streams));
    }
    return 0;
}
