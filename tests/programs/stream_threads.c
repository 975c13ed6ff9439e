/* stream_threads N BYTES: STREAM's triad (McCalpin) on N threads, each on a processor of its own, over three arrays of BYTES
   in all, one behind the other as stream.c has them. Prints MB/s as STREAM counts, 24 bytes an element, and how many
   elements are wrong. */
#define _GNU_SOURCE
#include "cxlab/marker.h"
#include "processor.h"
#include <immintrin.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

static double *a, *b, *c;
static uint64_t n, threads;
static _Atomic uint64_t arrived;

static void meet(uint64_t times) {
    atomic_fetch_add(&arrived, 1);
    while (atomic_load(&arrived) < threads * times) _mm_pause();
}

__attribute__((target("avx"))) static void triad(uint64_t from, uint64_t to) {
    const __m256d three = _mm256_set1_pd(3.0);
    for (uint64_t i = from; i < to; i += 4)
        _mm256_store_pd(a + i, _mm256_add_pd(_mm256_load_pd(b + i), _mm256_mul_pd(three, _mm256_load_pd(c + i))));
}

static uint64_t first, last;

static void *work(void *who) {
    const uint64_t me = (uint64_t)who, share = n / threads;
    stay_on((int)me);
    meet(1);
    if (me == 0) first = __rdtsc();
    triad(me * share, (me + 1) * share);
    meet(2);
    if (me == 0) last = __rdtsc();
    return 0;
}

int main(int argc, char **argv) {
    threads = strtoull(argv[argc - 2], 0, 0);
    const size_t share = 64 * threads, bytes = strtoull(argv[argc - 1], 0, 0) / 3 / share * share;
    n = bytes / sizeof(double);
    char *all = aligned_alloc(2 << 20, (3 * bytes + (2 << 20) - 1) & ~((size_t)(2 << 20) - 1));
    double **arrays[] = {&a, &b, &c};
    for (size_t i = 0; i < 3; i++) *arrays[i] = memset(all + i * bytes, (int)i, bytes);
    pthread_t others[64];
    CXLAB_REGION_BEGIN;
    for (uint64_t i = 1; i < threads; i++) pthread_create(&others[i], 0, work, (void *)i);
    work(0);
    CXLAB_REGION_END;
    for (uint64_t i = 1; i < threads; i++) pthread_join(others[i], 0);
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < n; i++) wrong += a[i] != b[i] + 3.0 * c[i];
    printf("%.1f %llu\n", 3.0 * (double)bytes / ((double)(last - first) / 2.4e3), (unsigned long long)wrong);
    return 0;
}
