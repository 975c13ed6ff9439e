/* N threads, each on a processor of its own, read fresh lines: rounds N BYTES ROUNDS. For each round, which is BYTES of each thread:
 * when the first thread began and ended it [ns since its first], and GB/s of all, which do the same. A link that comes down
 * meanwhile is seen from its round on. */
#define _GNU_SOURCE
#include "cxlab/marker.h"
#include "processor.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <x86intrin.h>

enum { LINE = 64, HUGE_PAGE = 2 << 20, MOST_ROUNDS = 256, MOST_THREADS = 8 };

static char *area;
static uint64_t threads, share, rounds, at[MOST_ROUNDS + 1];
static _Atomic uint64_t ready, go, sum;

static void *work(void *who) {
    const uint64_t me = (uint64_t)who;
    stay_on((int)me);
    atomic_fetch_add(&ready, 1);
    if (me == 0) {
        /* The others are on their processors before there is detail: no wake-up is timed. */
        while (ready < threads) _mm_pause();
        CXLAB_REGION_BEGIN;
        go = 1;
    }
    while (!go) _mm_pause();
    const char *from = area + me * share * rounds;
    uint64_t read = 0;
    for (uint64_t round = 0; round < rounds; round++) {
        if (me == 0) at[round] = __rdtsc();
        for (uint64_t i = 0; i < share; i += LINE) read += (uint64_t)from[round * share + i];
    }
    if (me == 0) at[rounds] = __rdtsc();
    atomic_fetch_add(&sum, read);
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    threads = strtoull(argv[1], 0, 0), share = strtoull(argv[2], 0, 0), rounds = strtoull(argv[3], 0, 0);
    if (threads > MOST_THREADS || rounds > MOST_ROUNDS) return 2;
    const size_t bytes = threads * share * rounds;
    area = mmap(0, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    area += -(uintptr_t)area % HUGE_PAGE;
    madvise(area, bytes, MADV_HUGEPAGE);
    memset(area, 1, bytes);
    pthread_t others[MOST_THREADS];
    for (uint64_t i = 1; i < threads; i++) pthread_create(&others[i], 0, work, (void *)i);
    work(0);
    for (uint64_t i = 1; i < threads; i++) pthread_join(others[i], 0);
    CXLAB_REGION_END;
    for (uint64_t round = 0; round < rounds; round++) {
        const double begin = (double)(at[round] - at[0]) / 2.4, end = (double)(at[round + 1] - at[0]) / 2.4;
        printf("%.0f %.0f %.4f\n", begin, end, (double)(threads * share) / (end - begin));
    }
    return sum != bytes / LINE;
}
