/* stall FILE...: for each FILE, one thread holds a spin lock while it reads FILE for the first time, another waits for the lock
   on a processor of its own. Linux gives the files' interrupts to processor 1, which is the holder's: one who waits and handles
   them sees the lock when that is done. Prints, a line for each FILE, how long the lock was held, how much later the other had it
   [ns], and how many bytes were read. */
#define _GNU_SOURCE
#include "cxlab/marker.h"
#include "processor.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <x86intrin.h>

#define MOST 64

static atomic_flag lock = ATOMIC_FLAG_INIT;
/* the round that the holder has begun, and the one in which the other waits for the lock */
static _Atomic int begun, waits;
static _Atomic int done;
static uint64_t had;
static int rounds;

static void *wait_for_it(void *unused) {
    stay_on(0);
    for (int round = 1; round <= rounds; round++) {
        while (begun < round) _mm_pause();
        waits = round;
        while (atomic_flag_test_and_set(&lock)) _mm_pause();
        had = __rdtsc();
        atomic_flag_clear(&lock);
        done = round;
    }
    return unused;
}

int main(int argc, char **argv) {
    static double held[MOST + 1], later[MOST + 1];
    static long got[MOST + 1];
    char byte;
    rounds = argc - 1 < MOST ? argc - 1 : MOST;
    stay_on(1);
    pthread_t other;
    pthread_create(&other, 0, wait_for_it, 0);
    CXLAB_REGION_BEGIN;
    for (int round = 1; round <= rounds; round++) {
        (void)atomic_flag_test_and_set(&lock);
        begun = round;
        while (waits < round) _mm_pause();
        const uint64_t first = __rdtsc();
        const int file = open(argv[round], O_RDONLY);
        got[round] = read(file, &byte, 1);
        const uint64_t last = __rdtsc();
        atomic_flag_clear(&lock);
        while (done < round) _mm_pause();
        held[round] = (double)(last - first) / 2.4;
        later[round] = ((double)had - (double)last) / 2.4;
    }
    pthread_join(other, 0);
    CXLAB_REGION_END;
    for (int round = 1; round <= rounds; round++) printf("%.0f %.0f %ld\n", held[round], later[round], got[round]);
    return 0;
}
