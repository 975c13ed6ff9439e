/* STREAM's four kernels in plain C, for one thread: what `cxlab-memo stream` is compared with.
 *
 *   stream BYTES_OF_AN_ARRAY REPEATS 4KiB|2MiB      prints "copy 12345.6" ... in MB/s: the best of the repeats but the first
 *
 * Build with gcc -O3 -fno-tree-loop-distribute-patterns: without that flag gcc makes copy a call of memcpy, which stores past the
 * caches and is then no longer STREAM's copy.
 * Source: J. D. McCalpin, STREAM 5.10 (kernels, counting of bytes, run rules). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { COPY, SCALE, ADD, TRIAD, KERNELS };

static const char *const NAMES[KERNELS] = {"copy", "scale", "add", "triad"};
static const double BYTES[KERNELS] = {16, 16, 24, 24};
static const double SCALAR = 3.0;

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

static double *array(size_t elements, int advice, double value) {
    size_t huge = 2 << 20, bytes = (elements * sizeof(double) + huge - 1) / huge * huge;
    double *made = aligned_alloc(huge, bytes);
    if (!made || madvise(made, bytes, advice)) {
        perror("stream: memory");
        exit(1);
    }
    for (size_t i = 0; i < elements; i++)
        made[i] = value;
    return made;
}

__attribute__((noinline)) static void run(int kernel, size_t n, double *restrict a, double *restrict b, double *restrict c) {
    switch (kernel) {
    case COPY:
        for (size_t i = 0; i < n; i++)
            c[i] = a[i];
        break;
    case SCALE:
        for (size_t i = 0; i < n; i++)
            b[i] = SCALAR * c[i];
        break;
    case ADD:
        for (size_t i = 0; i < n; i++)
            c[i] = a[i] + b[i];
        break;
    default:
        for (size_t i = 0; i < n; i++)
            a[i] = b[i] + SCALAR * c[i];
    }
}

int main(int count, char **arguments) {
    if (count != 4) {
        fputs("usage: stream BYTES_OF_AN_ARRAY REPEATS 4KiB|2MiB\n", stderr);
        return 2;
    }
    size_t n = strtoull(arguments[1], NULL, 10) / sizeof(double);
    int repeats = atoi(arguments[2]);
    int advice = strcmp(arguments[3], "2MiB") ? MADV_NOHUGEPAGE : MADV_HUGEPAGE;
    double *a = array(n, advice, 1), *b = array(n, advice, 2), *c = array(n, advice, 0);
    double best[KERNELS] = {0};
    for (int repeat = 0; repeat < repeats; repeat++)
        for (int kernel = 0; kernel < KERNELS; kernel++) {
            double began = seconds();
            run(kernel, n, a, b, c);
            double rate = BYTES[kernel] * n / (seconds() - began) / 1e6;
            if (repeat > 0 && rate > best[kernel])
                best[kernel] = rate;
        }
    for (int kernel = 0; kernel < KERNELS; kernel++)
        printf("%s %.1f\n", NAMES[kernel], best[kernel]);
    return 0;
}
