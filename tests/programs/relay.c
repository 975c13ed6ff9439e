/* relay [alone] ROUNDS: two threads on two processors hand a number to and fro, each with the clock that its sender has
   read; alone, one thread does the work of both. Prints the rounds, those in which a receiver's clock was behind, and the
   mean time of a round [ns]. */
#define _GNU_SOURCE
#include "cxlab/marker.h"
#include "processor.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <x86intrin.h>

static _Atomic uint64_t turn;
static uint64_t sent, rounds, behind[2], threads = 2;

static void *hand_over(void *who) {
    const uint64_t me = (uint64_t)who;
    stay_on((int)me);
    uint64_t before = 0;
    for (uint64_t round = me; round < 2 * rounds; round += threads) {
        while (atomic_load(&turn) != round) _mm_pause();
        const uint64_t now = __rdtsc();
        behind[me] += now < sent || now < before;
        before = sent = now;
        atomic_store(&turn, round + 1);
    }
    return 0;
}

int main(int argc, char **argv) {
    rounds = strtoull(argv[argc - 1], 0, 0);
    if (argc > 2) threads = 1;
    pthread_t other;
    if (threads == 2) pthread_create(&other, 0, hand_over, (void *)1);
    CXLAB_REGION_BEGIN;
    const uint64_t first = __rdtsc();
    hand_over(0);
    if (threads == 2) pthread_join(other, 0);
    const uint64_t last = __rdtsc();
    CXLAB_REGION_END;
    printf("%llu %llu %.1f\n", (unsigned long long)rounds, (unsigned long long)(behind[0] + behind[1]),
           (double)(last - first) / 2.4 / (double)rounds);
    return 0;
}
