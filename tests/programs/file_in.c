/* Reads COUNT pages of FILE from the disk itself (O_DIRECT): one after the other, then with four threads, then beside a
   computation. Then it writes COUNT pages, one after the other. Prints the ns of the first two, of the computation
   alone, of both together and of the writes, and how many pages were wrong: file_in FILE COUNT. Page i of FILE has i in its
   first four bytes. */
#define _GNU_SOURCE
#include "cxlab/marker.h"
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, THREADS = 4, ROUNDS = 4 };

struct part {
    int file;
    size_t first, step, count, wrong;
};

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void *aligned(void) {
    void *page = aligned_alloc(PAGE, PAGE);
    if (!page) exit(3);
    return memset(page, 1, PAGE);
}

static void *bring(void *argument) {
    struct part *part = argument;
    uint32_t *page = aligned();
    for (size_t i = part->first; i < part->count; i += part->step) {
        const size_t place = i * 619 % part->count; /* 619 is prime */
        const ssize_t got = pread(part->file, page, PAGE, (off_t)(place * PAGE));
        part->wrong += got != PAGE || *page != place;
    }
    free(page);
    return 0;
}

static sem_t begun;

static void *bring_beside(void *part) {
    sem_post(&begun);
    return bring(part);
}

static volatile uint64_t sink;

static void compute(size_t count) {
    uint64_t x = 1;
    for (size_t i = 0; i < count * 80000; i++) x = x * 0x5851f42d4c957f2dull + 1;
    sink = x;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    const size_t count = strtoull(argv[2], 0, 0);
    const int file = open(argv[1], O_RDWR | O_DIRECT);
    if (file < 0) {
        perror(argv[1]);
        return 1;
    }
    struct part alone = {file, 0, 1, count, 0}, beside = alone, parts[THREADS];
    pthread_t threads[THREADS];
    uint32_t *page = aligned();
    sem_init(&begun, 0, 0);
    CXLAB_REGION_BEGIN;
    double at[ROUNDS + 2] = {now_ns()};
    bring(&alone);
    at[1] = now_ns();
    for (size_t i = 0; i < THREADS; i++) {
        parts[i] = (struct part){file, i, THREADS, count, 0};
        pthread_create(&threads[i], 0, bring, &parts[i]);
    }
    for (size_t i = 0; i < THREADS; i++) pthread_join(threads[i], 0);
    at[2] = now_ns();
    compute(count);
    at[3] = now_ns();
    /* It may be made to wait for the next tick; both begin together when it runs. */
    pthread_create(&threads[0], 0, bring_beside, &beside);
    sem_wait(&begun);
    /* The reader goes first, and whenever its page has come: with equal shares Linux may let it wait for a tick. */
    if (sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0}) != 0) return 5;
    sched_yield();
    const double began = now_ns();
    compute(count);
    pthread_join(threads[0], 0);
    at[4] = now_ns();
    for (size_t i = 0; i < count; i++) {
        *page = (uint32_t)i;
        if (pwrite(file, page, PAGE, (off_t)(i * PAGE)) != PAGE) return 4;
    }
    at[5] = now_ns();
    CXLAB_REGION_END;
    size_t wrong = alone.wrong + beside.wrong;
    for (size_t i = 0; i < THREADS; i++) wrong += parts[i].wrong;
    printf("%.0f %.0f %.0f %.0f %.0f %zu\n", at[1] - at[0], at[2] - at[1], at[3] - at[2], at[4] - began, at[5] - at[4], wrong);
    return 0;
}
