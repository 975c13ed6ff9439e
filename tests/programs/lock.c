/* lock KIND N TIMES: N threads, each on a processor of its own, add to one counter under a spin lock, TIMES each; who waits
   executes PAUSE (spin) or not (hard). Or they work and meet at a barrier that spins, TIMES each (barrier). Or one thread produces numbers for another through a ring (ring), one alone for
   itself. Prints the counter, and the mean time of a turn [ns], from when all have met until the last is done. */
#define _GNU_SOURCE
#include "cxlab/marker.h"
#include "processor.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

#define RING 64
/* Lines of their own: who waits on one disturbs no other. */
static struct {
    _Alignas(64) atomic_flag lock;
    _Alignas(64) uint64_t counter;
    _Alignas(64) _Atomic uint64_t head;
    _Atomic uint64_t tail;
    _Alignas(64) _Atomic uint64_t ready;
    _Alignas(64) _Atomic uint64_t done;
} shared = {.lock = ATOMIC_FLAG_INIT};
static uint64_t times, threads, ring[RING];
static int polite = 1;
static uint64_t first, last;

static void await(_Atomic uint64_t *count, uint64_t wanted) {
    while (atomic_load(count) != wanted) _mm_pause();
}

/* Linux starts and ends threads in a time of its own, which is no turn. The end of one interrupts the others: its stack
   is unmapped. So thread 0 reads the clock when all are there, and again before any ends. */
static void meet_on(uint64_t cpu) {
    stay_on((int)cpu);
    atomic_fetch_add(&shared.ready, 1);
    await(&shared.ready, threads);
    if (cpu == 0) first = __rdtsc();
}

static void *part_from(uint64_t cpu) {
    atomic_fetch_add(&shared.done, 1);
    await(&shared.done, threads);
    if (cpu == 0) last = __rdtsc();
    return 0;
}

static void *add(void *who) {
    meet_on((uint64_t)who);
    for (uint64_t i = 0; i < times; i++) {
        while (atomic_flag_test_and_set(&shared.lock))
            if (polite) _mm_pause();
        shared.counter++;
        atomic_flag_clear(&shared.lock);
        for (int work = 0; work < 50; work++) __asm__ volatile("add $1, %%rax" ::: "rax");
    }
    return part_from((uint64_t)who);
}

/* MERCI's barrier (utils.h): the last to come resets the count and lets the others pass. */
static void *meet_often(void *who) {
    meet_on((uint64_t)who);
    for (uint64_t i = 0; i < times; i++) {
        for (int work = 0; work < 500; work++) __asm__ volatile("add $1, %%rax" ::: "rax");
        const uint64_t before = atomic_load(&shared.tail);
        if (atomic_fetch_add(&shared.head, 1) == threads - 1) {
            shared.counter += threads;
            atomic_store(&shared.head, 0);
            atomic_store(&shared.tail, before + 1);
        } else
            while (atomic_load(&shared.tail) == before) _mm_pause();
    }
    return part_from((uint64_t)who);
}

static inline void put(uint64_t i) {
    while (atomic_load(&shared.head) - atomic_load(&shared.tail) == RING) _mm_pause();
    ring[i % RING] = i;
    atomic_fetch_add(&shared.head, 1);
}

static inline void take(uint64_t i) {
    while (atomic_load(&shared.head) == atomic_load(&shared.tail)) _mm_pause();
    shared.counter += ring[i % RING] == i;
    atomic_fetch_add(&shared.tail, 1);
}

static void *produce(void *who) {
    meet_on((uint64_t)who);
    for (uint64_t i = 0; i < times; i++) put(i);
    return part_from((uint64_t)who);
}

static void *consume(void *who) {
    meet_on((uint64_t)who);
    for (uint64_t i = 0; i < times; i++) {
        if (threads == 1) put(i);
        take(i);
    }
    return part_from((uint64_t)who);
}

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    const char *kind = argv[argc - 3];
    void *(*mine)(void *) = strcmp(kind, "ring") == 0 ? consume : add;
    void *(*theirs)(void *) = strcmp(kind, "ring") == 0 ? produce : add;
    if (strcmp(kind, "barrier") == 0) mine = theirs = meet_often;
    polite = strcmp(kind, "hard") != 0;
    threads = strtoull(argv[argc - 2], 0, 0), times = strtoull(argv[argc - 1], 0, 0);
    pthread_t others[64];
    for (uint64_t i = 1; i < threads; i++) pthread_create(&others[i], 0, theirs, (void *)i);
    CXLAB_REGION_BEGIN;
    mine((void *)0);
    for (uint64_t i = 1; i < threads; i++) pthread_join(others[i], 0);
    CXLAB_REGION_END;
    printf("%llu %.2f\n", (unsigned long long)shared.counter, (double)(last - first) / 2.4 / (double)times);
    return 0;
}
