/* crew N ROUNDS: N threads, each on a processor of its own. In each round a thread follows a random chain through memory of its
   own and then counts, the more the higher its number, so that all wait for the last at a barrier that sleeps. The chains
   are longer in every other round. Prints the time of all rounds by the program's clock [ns], and the sum. */
#define _GNU_SOURCE
#include "cxlab/marker.h"
#include "processor.h"
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ENTRIES (256u << 10)

static uint64_t threads, rounds, sums[64];
static pthread_barrier_t barrier;

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* A cycle through all entries: an odd step and a multiplier that is 1 modulo 4 (Hull and Dobell, 1962). */
static uint32_t *chain(uint64_t seed) {
    uint32_t *next = malloc(ENTRIES * sizeof *next);
    for (uint32_t i = 0; i < ENTRIES; i++) next[i] = (i * 1664525u + (uint32_t)(2 * seed + 1)) & (ENTRIES - 1);
    return next;
}

static void *work(void *who) {
    const uint64_t me = (uint64_t)who;
    stay_on((int)me);
    uint32_t *next = chain(me), at = 0;
    volatile uint64_t count = 0;
    pthread_barrier_wait(&barrier);
    for (uint64_t round = 0; round < rounds; round++) {
        const uint64_t loads = round & 1 ? 1500 : 500;
        for (uint64_t i = 0; i < loads; i++) at = next[at];
        for (uint64_t i = 0; i < 3000 + 3000 * me / threads; i++) count += at;
        pthread_barrier_wait(&barrier);
    }
    sums[me] = count;
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    threads = strtoull(argv[1], 0, 0), rounds = strtoull(argv[2], 0, 0);
    pthread_t others[64];
    pthread_barrier_init(&barrier, 0, (unsigned)threads);
    for (uint64_t i = 1; i < threads; i++) pthread_create(&others[i], 0, work, (void *)i);
    CXLAB_REGION_BEGIN;
    const uint64_t first = now();
    work(0);
    const uint64_t last = now();
    CXLAB_REGION_END;
    for (uint64_t i = 1; i < threads; i++) pthread_join(others[i], 0);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < threads; i++) sum += sums[i];
    printf("%llu %llu\n", (unsigned long long)(last - first), (unsigned long long)sum);
    return 0;
}
