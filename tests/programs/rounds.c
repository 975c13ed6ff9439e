/* N threads, each on a processor of its own, read fresh lines: rounds N BYTES ROUNDS. For each round, which is BYTES of the first
 * thread: when it began and ended [ns since the first], and GB/s of all. A link that comes down meanwhile is seen from its round on. */
#define _GNU_SOURCE
#include "marker.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <x86intrin.h>

enum { LINE = 64, HUGE_PAGE = 2 << 20, MOST_ROUNDS = 256, MOST_THREADS = 8, STEP = 4096 };

static char *area;
static uint64_t threads, share, rounds;
/* bytes that each has read; what all had when a round began, and when that was */
static _Atomic uint64_t done[MOST_THREADS], sum;
static _Atomic uint64_t ready, go;
static uint64_t read_at[MOST_ROUNDS + 1], tsc_at[MOST_ROUNDS + 1];

static void look(uint64_t round) {
    tsc_at[round] = __rdtsc();
    for (uint64_t i = 0; i < threads; i++) read_at[round] += done[i];
}

static void *work(void *who) {
    const uint64_t me = (uint64_t)who;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(me, &one);
    sched_setaffinity(0, sizeof one, &one);
    atomic_fetch_add(&ready, 1);
    if (me == 0) {
        /* The others run on their processors before there is detail: no wake-up is timed. */
        while (ready < threads) _mm_pause();
        REGION_BEGIN;
        go = 1;
    }
    while (!go) _mm_pause();
    const char *from = area + me * share * rounds;
    uint64_t added = 0;
    for (uint64_t at = 0; at < share * rounds; at += STEP) {
        if (me == 0 && at % share == 0) look(at / share);
        for (uint64_t i = at; i < at + STEP; i += LINE) added += (uint64_t)from[i];
        atomic_store_explicit(&done[me], at + STEP, memory_order_relaxed);
    }
    if (me == 0) look(rounds);
    atomic_fetch_add(&sum, added);
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    threads = strtoull(argv[1], 0, 0), share = strtoull(argv[2], 0, 0), rounds = strtoull(argv[3], 0, 0);
    if (threads > MOST_THREADS || rounds > MOST_ROUNDS || share % STEP) return 2;
    const size_t bytes = threads * share * rounds;
    area = mmap(0, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    area += -(uintptr_t)area % HUGE_PAGE;
    madvise(area, bytes, MADV_HUGEPAGE);
    memset(area, 1, bytes);
    pthread_t others[MOST_THREADS];
    for (uint64_t i = 1; i < threads; i++) pthread_create(&others[i], 0, work, (void *)i);
    work(0);
    for (uint64_t i = 1; i < threads; i++) pthread_join(others[i], 0);
    REGION_END;
    for (uint64_t round = 0; round < rounds; round++) {
        const double begin = (double)(tsc_at[round] - tsc_at[0]) / 2.4, end = (double)(tsc_at[round + 1] - tsc_at[0]) / 2.4;
        printf("%.0f %.0f %.4f\n", begin, end, (double)(read_at[round + 1] - read_at[round]) / (end - begin));
    }
    return sum != bytes / LINE;
}
