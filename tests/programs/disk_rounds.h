/* Rounds of work that waits for the disk: alone, on four threads, and beside a computation; who includes this has
   defined _GNU_SOURCE first. */
#ifndef DISK_ROUNDS_H
#define DISK_ROUNDS_H
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum { PAGE = 4096, THREADS = 4, ROUNDS = 4 };

/* Another order than that of the places; 619 is prime. */
static inline size_t scattered(size_t i, size_t count) { return i * 619 % count; }

static inline double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static volatile uint64_t sink;

static inline void compute(size_t count) {
    uint64_t x = 1;
    for (size_t i = 0; i < count * 80000; i++) x = x * 0x5851f42d4c957f2dull + 1;
    sink = x;
}

/* Work of a thread, and a word that it has begun. */
struct begun {
    void *(*bring)(void *);
    void *part;
    sem_t word;
};

static inline void *bring_beside(void *argument) {
    struct begun *begun = argument;
    sem_post(&begun->word);
    return begun->bring(begun->part);
}

/* Parts of the work: of the first round, of each thread of the second, of the last. */
struct parts {
    void *alone, *each[THREADS], *beside;
};

/* The ns of each round: alone, on four threads, the computation, and both. */
static inline void four_rounds(void *(*bring)(void *), struct parts parts, size_t count, double took[ROUNDS]) {
    pthread_t threads[THREADS];
    double at[ROUNDS + 1] = {now_ns()};
    bring(parts.alone);
    at[1] = now_ns();
    for (size_t i = 0; i < THREADS; i++) pthread_create(&threads[i], 0, bring, parts.each[i]);
    for (size_t i = 0; i < THREADS; i++) pthread_join(threads[i], 0);
    at[2] = now_ns();
    compute(count);
    at[3] = now_ns();
    struct begun begun = {.bring = bring, .part = parts.beside};
    sem_init(&begun.word, 0, 0);
    pthread_create(&threads[0], 0, bring_beside, &begun);
    /* Who comes back from the disk goes first. Linux may leave a new thread waiting for the next tick, as long as its
       maker runs: 4 ms, which is all of the computation. So its maker sleeps until it has begun. */
    const struct sched_param none = {0};
    sched_setscheduler(0, SCHED_IDLE, &none);
    sem_wait(&begun.word);
    compute(count);
    pthread_join(threads[0], 0);
    at[4] = now_ns();
    for (int i = 0; i < ROUNDS; i++) took[i] = at[i + 1] - at[i];
}
#endif
