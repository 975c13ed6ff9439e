/* Embedding reduction, as MERCI measures it: rows of a table are gathered and added up to one row a query.
 *
 *   embedding ROWS QUERIES PER_QUERY THREADS WARM SKEW SEED
 *
 * A row is 64 floats. A query adds up PER_QUERY rows; SKEW is the exponent of Zipf's law that draws them, in
 * hundredths, and 0 draws all rows alike. Each thread has queries of its own, drawn before detail begins, as
 * MERCI reads its queries from a file. It runs WARM of them that are not counted. Threads begin together.
 * Source: Y. Lee et al., MERCI, ASPLOS 2021: EMBEDDING_DIM of its utils.h, and its reduction on one thread a core. */
#define _GNU_SOURCE
#include "cxlab/marker.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define DIMENSION 64
#define MOST_THREADS 64

typedef float lanes __attribute__((vector_size(32)));

struct thread {
    pthread_t handle;
    int number;
    uint32_t *rows;
    float *sums;
    double seconds;
};

static float *table;
static uint64_t rows, queries, per_query, warm;
static int threads;
static struct thread all[MOST_THREADS];
static pthread_barrier_t together;

static void fail(const char *what) {
    fprintf(stderr, "embedding: %s\n", what);
    exit(1);
}

static uint64_t next_bits(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

/* The inverse of Zipf's integral: rank x of n has a density of x^-skew. Ranks are spread over the table. */
static uint32_t draw(uint64_t *state, double skew) {
    uint64_t bits = next_bits(state);
    if (skew == 0)
        return (uint32_t)(((unsigned __int128)bits * rows) >> 64);
    double u = (double)(bits >> 11) * 0x1p-53, rest = 1 - skew;
    double rank = rest == 0 ? pow((double)rows + 1, u) : pow(1 + u * (pow((double)rows + 1, rest) - 1), 1 / rest);
    return (uint32_t)(((uint64_t)rank - 1) * 2654435761u % rows);
}

/* Whole numbers, so that every order of additions gives the same sum. */
static float value_of(uint64_t row, uint64_t place) { return (float)((row * 7 + place * 13) % 101); }

static void *pages(size_t bytes) {
    void *found = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED)
        fail(strerror(errno));
    return found;
}

static double seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static __attribute__((noinline)) void reduce(const uint32_t *asked, float *sum) {
    lanes sums[DIMENSION / 8] = {0};
    for (uint64_t item = 0; item < per_query; item++) {
        const lanes *row = (const lanes *)(table + (uint64_t)asked[item] * DIMENSION);
        for (int place = 0; place < DIMENSION / 8; place++)
            sums[place] += row[place];
    }
    memcpy(sum, sums, sizeof sums);
}

static void *work(void *argument) {
    struct thread *thread = argument;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(thread->number, &one);
    sched_setaffinity(0, sizeof one, &one);
    pthread_barrier_wait(&together);
    if (thread->number == 0)
        CXLAB_REGION_BEGIN;
    pthread_barrier_wait(&together);
    for (uint64_t query = 0; query < warm; query++)
        reduce(thread->rows + query * per_query, thread->sums);
    double begun = seconds();
    for (uint64_t query = 0; query < queries; query++)
        reduce(thread->rows + (warm + query) * per_query, thread->sums + query * DIMENSION);
    thread->seconds = seconds() - begun;
    pthread_barrier_wait(&together);
    if (thread->number == 0)
        CXLAB_REGION_END;
    return NULL;
}

/* Every sum of every thread, by the formula of the table. */
static void check(void) {
    for (int number = 0; number < threads; number++)
        for (uint64_t query = 0; query < queries; query += 7)
            for (uint64_t place = 0; place < DIMENSION; place += 9) {
                float expected = 0;
                for (uint64_t item = 0; item < per_query; item++)
                    expected += value_of(all[number].rows[(warm + query) * per_query + item], place);
                if (all[number].sums[query * DIMENSION + place] != expected)
                    fail("a sum is wrong");
            }
}

int main(int argc, char **argv) {
    if (argc != 8)
        fail("seven arguments are needed; the file says which");
    rows = strtoull(argv[1], NULL, 10), queries = strtoull(argv[2], NULL, 10);
    per_query = strtoull(argv[3], NULL, 10), threads = atoi(argv[4]), warm = strtoull(argv[5], NULL, 10);
    double skew = atof(argv[6]) / 100;
    uint64_t seed = strtoull(argv[7], NULL, 10);
    if (rows < 1 || rows > UINT32_MAX || queries < 1 || per_query < 1 || threads < 1 || threads > MOST_THREADS)
        fail("rows, queries and rows a query are 1 or more, threads 1 to 64");
    table = pages(rows * DIMENSION * sizeof *table);
    for (uint64_t row = 0; row < rows; row++)
        for (uint64_t place = 0; place < DIMENSION; place++)
            table[row * DIMENSION + place] = value_of(row, place);
    pthread_barrier_init(&together, NULL, (unsigned)threads);
    for (int number = 0; number < threads; number++) {
        struct thread *thread = &all[number];
        uint64_t state = seed * 1000 + (uint64_t)number, items = (warm + queries) * per_query;
        thread->number = number;
        thread->rows = pages(items * sizeof *thread->rows);
        thread->sums = pages((queries + 1) * DIMENSION * sizeof *thread->sums);
        memset(thread->sums, 0, (queries + 1) * DIMENSION * sizeof *thread->sums);
        for (uint64_t item = 0; item < items; item++)
            thread->rows[item] = draw(&state, skew);
    }
    for (int number = 1; number < threads; number++)
        pthread_create(&all[number].handle, NULL, work, &all[number]);
    work(&all[0]);
    double rate = 0, longest = 0;
    for (int number = 0; number < threads; number++) {
        if (number > 0)
            pthread_join(all[number].handle, NULL);
        rate += (double)queries / all[number].seconds;
        longest = all[number].seconds > longest ? all[number].seconds : longest;
    }
    check();
    printf("measure throughput %.9g\n", rate);
    printf("measure gathered %.9g\n", rate * (double)(per_query * DIMENSION * sizeof *table) / 1e9);
    printf("measure slowest_thread %.9g\n", longest * 1e6);
    return 0;
}
