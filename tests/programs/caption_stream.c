/* STREAM's triad, a[i] = b[i] + 3 c[i], over arrays of BYTES each: PASSES over them, then they are allocated anew, for ever
 * or ROUNDS times. In pages of 4 KiB: with those of 2 MiB, a share is no finer than the number of pages. */
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static double *array(size_t bytes) {
    void *area = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED || madvise(area, bytes, MADV_NOHUGEPAGE)) perror("mmap"), exit(1);
    return area;
}

__attribute__((target("avx2,fma"))) static void triad(double *a, const double *b, const double *c, size_t n) {
    const __m256d three = _mm256_set1_pd(3.0);
    for (size_t i = 0; i < n; i += 8) {
        _mm256_store_pd(a + i, _mm256_fmadd_pd(three, _mm256_load_pd(c + i), _mm256_load_pd(b + i)));
        _mm256_store_pd(a + i + 4, _mm256_fmadd_pd(three, _mm256_load_pd(c + i + 4), _mm256_load_pd(b + i + 4)));
    }
}

int main(int argc, char **argv) {
    if (argc < 3) return fprintf(stderr, "usage: caption_stream BYTES PASSES [ROUNDS]\n"), 2;
    const size_t bytes = strtoull(argv[1], 0, 0), passes = strtoull(argv[2], 0, 0), n = bytes / sizeof(double);
    const size_t rounds = argc > 3 ? strtoull(argv[3], 0, 0) : SIZE_MAX;
    for (size_t round = 0; round < rounds; round++) {
        double *a = array(bytes), *b = array(bytes), *c = array(bytes);
        for (size_t i = 0; i < n; i += 512) a[i] = 0, b[i] = 1, c[i] = 2;
        for (size_t pass = 0; pass < passes; pass++) triad(a, b, c, n);
        if (passes && a[0] != 7) return 1;
        munmap(a, bytes), munmap(b, bytes), munmap(c, bytes);
    }
    return 0;
}
