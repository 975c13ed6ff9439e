/* triad [TIMES] BYTES: a[i] = b[i] + 3 c[i], over arrays of BYTES each, so many times over; how long it took [ns]. */
#include "cxlab/marker.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

int main(int argc, char **argv) {
    const int times = argc > 2 ? atoi(argv[1]) : 1;
    const size_t bytes = strtoull(argv[argc - 1], 0, 0), n = bytes / sizeof(double);
    double *a = aligned_alloc(2 << 20, bytes), *b = aligned_alloc(2 << 20, bytes), *c = aligned_alloc(2 << 20, bytes);
    memset(a, 0, bytes);
    for (size_t i = 0; i < n; i++) b[i] = (double)i, c[i] = 1.0;
    CXLAB_REGION_BEGIN;
    const uint64_t first = __rdtsc();
    for (int time = 0; time < times; time++) {
        for (size_t i = 0; i < n; i++) a[i] = b[i] + 3.0 * c[i];
        __asm__ volatile("" ::: "memory");
    }
    const uint64_t last = __rdtsc();
    CXLAB_REGION_END;
    printf("%.1f %.1f\n", (double)(last - first) / 2.4, a[n - 1] - (double)(n - 1));
    return 0;
}
