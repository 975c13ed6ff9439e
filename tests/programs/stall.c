/* stall FILE: one thread holds a spin lock while it reads FILE for the first time, another waits for the lock on a processor
   of its own. Prints how long the lock was held, and how much later the other had it [ns]. */
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

static atomic_flag lock = ATOMIC_FLAG_INIT;
static _Atomic int ready;
static uint64_t had;

static void *wait_for_it(void *unused) {
    stay_on(1);
    ready = 1;
    while (atomic_flag_test_and_set(&lock)) _mm_pause();
    had = __rdtsc();
    return unused;
}

int main(int argc, char **argv) {
    char byte;
    stay_on(0);
    (void)atomic_flag_test_and_set(&lock);
    pthread_t other;
    pthread_create(&other, 0, wait_for_it, 0);
    while (!ready) _mm_pause();
    CXLAB_REGION_BEGIN;
    const uint64_t first = __rdtsc();
    const int file = open(argv[argc - 1], O_RDONLY);
    const long got = read(file, &byte, 1);
    const uint64_t last = __rdtsc();
    atomic_flag_clear(&lock);
    pthread_join(other, 0);
    CXLAB_REGION_END;
    printf("%.0f %.0f %ld\n", (double)(last - first) / 2.4, (double)(had - last) / 2.4, got);
    return 0;
}
