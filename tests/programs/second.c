/* second: a thread on processor 0 counts until it is told to stop, by one on processor 1 that marks a region meanwhile and
   waits in it for so many more. Prints what was counted in the region. */
#define _GNU_SOURCE
#include "cxlab/marker.h"
#include "processor.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <x86intrin.h>

#define MORE 10000
static _Atomic uint64_t counted, stop;

static void *count(void *unused) {
    stay_on(0);
    while (!stop) counted++;
    return unused;
}

int main(void) {
    stay_on(1);
    pthread_t other;
    pthread_create(&other, 0, count, 0);
    while (!counted) _mm_pause();
    CXLAB_REGION_BEGIN;
    const uint64_t before = counted;
    while (counted < before + MORE) _mm_pause();
    const uint64_t after = counted;
    stop = 1;
    pthread_join(other, 0);
    CXLAB_REGION_END;
    printf("%lu\n", after - before);
    return 0;
}
