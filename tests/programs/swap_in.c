/* Brings COUNT pages back from swap: one after the other, then with four threads, then beside a computation.
   Prints the ns of these and, in the third place, of the computation alone: swap_in COUNT MORE. Touching MORE bytes, more than
   there is memory, puts all that was touched before out. */
#define _GNU_SOURCE
#include "cxlab/marker.h"
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

/* Linux reads ahead pages that went out together, as long as it finds them used. So only every 16th comes back, in another
   order than the one that it went out in. */
enum { PAGE = 4096, APART = 16, THREADS = 4, ROUNDS = 4 };

struct part {
    volatile char *area;
    size_t first, step, count, wrong;
};

static size_t scattered(size_t i, size_t count) { return i * 619 % count; } /* 619 is prime */

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void *bring(void *argument) {
    struct part *part = argument;
    for (size_t i = part->first; i < part->count; i += part->step) {
        const size_t page = scattered(i, part->count) * APART;
        part->wrong += part->area[page * PAGE] != (char)(page / APART | 1);
    }
    return 0;
}

static sem_t begun;

static void *bring_beside(void *part) {
    sem_post(&begun);
    return bring(part);
}

static volatile char *small_pages(size_t bytes) {
    void *area = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(area, bytes, MADV_NOHUGEPAGE);
    return area;
}

static void put_out(size_t more) {
    volatile char *area = small_pages(more);
    for (size_t at = 0; at < more; at += PAGE) area[at] = 1;
    munmap((void *)area, more);
}

static volatile uint64_t sink;

static void compute(size_t count) {
    uint64_t x = 1;
    for (size_t i = 0; i < count * 80000; i++) x = x * 0x5851f42d4c957f2dull + 1;
    sink = x;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    const size_t count = strtoull(argv[1], 0, 0);
    volatile char *areas[ROUNDS - 1];
    for (int i = 0; i < ROUNDS - 1; i++) {
        areas[i] = small_pages(count * APART * PAGE);
        for (size_t page = 0; page < count * APART; page++) areas[i][page * PAGE] = (char)(page / APART | 1);
    }
    put_out(strtoull(argv[2], 0, 0));
    struct part alone = {areas[0], 0, 1, count, 0}, beside = {areas[2], 0, 1, count, 0}, parts[THREADS];
    pthread_t threads[THREADS];
    CXLAB_REGION_BEGIN;
    double at[ROUNDS + 1] = {now_ns()};
    bring(&alone);
    at[1] = now_ns();
    for (size_t i = 0; i < THREADS; i++) {
        parts[i] = (struct part){areas[1], i, THREADS, count, 0};
        pthread_create(&threads[i], 0, bring, &parts[i]);
    }
    for (size_t i = 0; i < THREADS; i++) pthread_join(threads[i], 0);
    at[2] = now_ns();
    compute(count);
    at[3] = now_ns();
    sem_init(&begun, 0, 0);
    pthread_create(&threads[0], 0, bring_beside, &beside);
    /* Who comes back from the disk goes first. Linux may leave a new thread waiting for the next tick, as long as its
       maker runs: 4 ms, which is all of the computation. So its maker sleeps until it has begun. */
    const struct sched_param none = {0};
    sched_setscheduler(0, SCHED_IDLE, &none);
    sem_wait(&begun);
    compute(count);
    pthread_join(threads[0], 0);
    at[4] = now_ns();
    CXLAB_REGION_END;
    size_t wrong = alone.wrong + beside.wrong;
    for (size_t i = 0; i < THREADS; i++) wrong += parts[i].wrong;
    for (int i = 0; i < ROUNDS; i++) printf("%.0f ", at[i + 1] - at[i]);
    printf("%zu\n", wrong);
    return 0;
}
