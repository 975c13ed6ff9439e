/* guarded KIND N TIMES STEPS [RESTS]: N threads, each on a processor of its own, take one lock TIMES each. Under it each makes STEPS
   loads of its own memory, each of which needs the one before. No two are under the lock at once, so all take at least N times as
   long as one thread. Who waits executes PAUSE (spin) or not (hard), and gives the lock back with a plain store. Or the lock is a
   mutex, and who waits sleeps (mutex). Behind each turn a thread executes RESTS PAUSEs, so that others have theirs. Prints the time
   from when all have met until the last is done, and with RESTS the mean time from the end of a turn to the next thread's [ns]. */
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

#define LINES (1u << 18)
struct line {
    _Alignas(64) struct line *next;
};
static struct {
    _Alignas(64) atomic_flag lock;
    _Alignas(64) _Atomic uint64_t ready;
    _Alignas(64) _Atomic uint64_t done;
} shared = {.lock = ATOMIC_FLAG_INIT};
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static enum { SPIN, HARD, MUTEX } kind;
static uint64_t threads, times, steps, rests, firsts[64], last;
/* by the clocks of all threads, which are one */
static struct turn {
    uint64_t begin, end, who;
} *turns;
static _Atomic uint64_t kept;
static struct line *begins[64];

/* A cycle through all lines, in an order that no prefetcher knows (Sattolo). */
static struct line *cycle(uint64_t seed) {
    struct line *lines = aligned_alloc(64, LINES * sizeof *lines);
    uint32_t *order = malloc(LINES * sizeof *order);
    if (!lines || !order) exit(1);
    for (uint32_t i = 0; i < LINES; i++) order[i] = i;
    for (uint32_t i = LINES - 1; i > 0; i--) {
        seed = seed * 6364136223846793005 + 1442695040888963407;
        const uint32_t with = (uint32_t)((seed >> 33) % i), kept_at = order[i];
        order[i] = order[with], order[with] = kept_at;
    }
    for (uint32_t i = 0; i < LINES; i++) lines[order[i]].next = &lines[order[(i + 1) % LINES]];
    free(order);
    return lines;
}

static void meet(_Atomic uint64_t *count) {
    atomic_fetch_add(count, 1);
    while (atomic_load(count) != threads) _mm_pause();
}

static void take(void) {
    if (kind == MUTEX) {
        pthread_mutex_lock(&mutex);
        return;
    }
    while (atomic_flag_test_and_set(&shared.lock))
        if (kind == SPIN) _mm_pause();
}

static void give(void) {
    if (kind == MUTEX)
        pthread_mutex_unlock(&mutex);
    else
        atomic_flag_clear_explicit(&shared.lock, memory_order_release);
}

static void *work(void *who) {
    const uint64_t me = (uint64_t)who;
    stay_on((int)me);
    struct line *at = begins[me];
    meet(&shared.ready);
    firsts[me] = __rdtsc();
    for (uint64_t i = 0; i < times; i++) {
        struct turn *turn = &turns[me * times + i];
        take();
        if (rests) *turn = (struct turn){.begin = __rdtsc(), .who = me};
        for (uint64_t step = 0; step < steps; step++) at = at->next;
        /* The store waits for the last load, as one of what was found would. */
        __asm__ volatile("" : "+r"(at)::"memory");
        unsigned cpu;
        if (rests) turn->end = __rdtscp(&cpu);
        give();
        for (uint64_t rest = 0; rest < rests; rest++) _mm_pause();
    }
    meet(&shared.done);
    if (me == 0) last = __rdtsc();
    kept += (uint64_t)at;
    return 0;
}

static int by_begin(const void *one, const void *other) {
    const uint64_t a = ((const struct turn *)one)->begin, b = ((const struct turn *)other)->begin;
    return (a > b) - (a < b);
}

/* The mean time from the end of a turn to the beginning of another thread's [ns]. */
static double handed_over(void) {
    uint64_t sum = 0, count = 0;
    qsort(turns, threads * times, sizeof *turns, by_begin);
    for (uint64_t i = 1; i < threads * times; i++) {
        if (turns[i].who == turns[i - 1].who) continue;
        sum += turns[i].begin - turns[i - 1].end;
        count++;
    }
    return (double)sum / 2.4 / (double)count;
}

int main(int argc, char **argv) {
    if (argc != 5 && argc != 6) return 2;
    kind = strcmp(argv[1], "mutex") == 0 ? MUTEX : strcmp(argv[1], "hard") == 0 ? HARD : SPIN;
    threads = strtoull(argv[2], 0, 0), times = strtoull(argv[3], 0, 0), steps = strtoull(argv[4], 0, 0);
    if (argc == 6) rests = strtoull(argv[5], 0, 0);
    turns = calloc(threads * times, sizeof *turns);
    if (!turns) return 1;
    /* Touched here, so that no turn waits for a page. */
    memset(turns, 1, threads * times * sizeof *turns);
    pthread_t others[64];
    for (uint64_t i = 0; i < threads; i++) begins[i] = cycle(i + 1);
    for (uint64_t i = 1; i < threads; i++) pthread_create(&others[i], 0, work, (void *)i);
    CXLAB_REGION_BEGIN;
    work((void *)0);
    for (uint64_t i = 1; i < threads; i++) pthread_join(others[i], 0);
    CXLAB_REGION_END;
    uint64_t first = firsts[0];
    for (uint64_t i = 1; i < threads; i++) first = firsts[i] < first ? firsts[i] : first;
    printf("%.1f\n", (double)(last - first) / 2.4);
    if (rests) printf("%.1f\n", handed_over());
    return 0;
}
