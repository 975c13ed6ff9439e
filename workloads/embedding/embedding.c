/* Embedding reduction, as MERCI measures it: rows of a table are gathered and added up to one row a query.
 *
 *   embedding ROWS QUERIES PER_QUERY THREADS WARM SKEW EXPONENTIAL FILL SEED [spin | NODE,...]
 *
 * A row is 64 floats. A query adds up PER_QUERY rows; SKEW is the exponent of Zipf's law that draws them, in
 * hundredths, and 0 draws all rows alike. EXPONENTIAL is the share of draws, in percent, that are by another law: how
 * often a row is asked for is exponential over the rows. Each thread has queries of its own, drawn before detail
 * begins, as MERCI reads its queries from a file. Before detail begins, the threads of a table run FILL queries, which
 * fill the caches. Each then runs WARM queries in detail that are not counted. Threads begin together. With `spin` they
 * wait for each other as MERCI's do, in a loop around a load and a PAUSE, and its turns at the end are counted.
 *
 * Nodes, by Linux's numbers, have a table each, and a group of as many of the threads. Only the group without a node is
 * counted, whose pages are where the run puts them. The others gather until it has ended.
 * Source: Y. Lee et al., MERCI, ASPLOS 2021: EMBEDDING_DIM of its utils.h, and its reduction on one thread a core. */
#define _GNU_SOURCE
#include "cxlab/marker.h"

#include <errno.h>
#include <immintrin.h>
#include <linux/mempolicy.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define DIMENSION 64
#define MOST_THREADS 64
#define MOST_GROUPS 8
#define MOST_NODES 64

typedef float lanes __attribute__((vector_size(32)));

struct thread {
    pthread_t handle;
    int number, group;
    uint32_t *rows;
    float *sums;
    double seconds;
    uint64_t waited;
};

static float *tables[MOST_GROUPS];
static int groups = 1, nodes[MOST_GROUPS];
static uint64_t rows, queries, per_query, warm, fill, exponential;
static int threads;
static struct thread all[MOST_THREADS];
static pthread_barrier_t together;
static bool spins;
static atomic_int arrived, passed, counted;

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

/* Rank x of n has a density of x^-skew (the inverse of Zipf's integral), or of ln(n / x): that is the density of a
 * product of two uniform numbers, and the x-th largest of n exponential ones. Ranks are spread over the table. */
static uint32_t draw(uint64_t *state, double skew) {
    uint64_t bits = next_bits(state);
    if (exponential > 0 && next_bits(state) % 100 < exponential) {
        double product = (double)(bits >> 11) * 0x1p-53 * ((double)(next_bits(state) >> 11) * 0x1p-53);
        return (uint32_t)((uint64_t)(product * (double)rows) * 2654435761u % rows);
    }
    if (skew == 0)
        return (uint32_t)(((unsigned __int128)bits * rows) >> 64);
    double u = (double)(bits >> 11) * 0x1p-53, rest = 1 - skew;
    double rank = rest == 0 ? pow((double)rows + 1, u) : pow(1 + u * (pow((double)rows + 1, rest) - 1), 1 / rest);
    return (uint32_t)(((uint64_t)rank - 1) * 2654435761u % rows);
}

/* Whole numbers, so that every order of additions gives the same sum. */
static float value_of(uint64_t row, uint64_t place) { return (float)((row * 7 + place * 13) % 101); }

/* Pages of a group: of the first where the run puts them, of another on its node. */
static void *pages(size_t bytes, int group) {
    void *found = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned long mask = 1ul << nodes[group];
    if (found == MAP_FAILED)
        fail(strerror(errno));
    if (group > 0 && syscall(SYS_mbind, found, bytes, MPOL_BIND, &mask, MOST_NODES, 0) != 0)
        fail("Linux has no node of one of these numbers");
    return found;
}

static double seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static __attribute__((noinline)) void reduce(const float *table, const uint32_t *asked, float *sum) {
    lanes sums[DIMENSION / 8] = {0};
    for (uint64_t item = 0; item < per_query; item++) {
        const lanes *row = (const lanes *)(table + (uint64_t)asked[item] * DIMENSION);
        for (int place = 0; place < DIMENSION / 8; place++)
            sums[place] += row[place];
    }
    memcpy(sum, sums, sizeof sums);
}

/* Waits for all threads. Returns how often a thread that spins has looked. */
static uint64_t meet(void) {
    if (!spins) {
        pthread_barrier_wait(&together);
        return 0;
    }
    const int before = atomic_load_explicit(&passed, memory_order_relaxed);
    uint64_t looks = 0;
    if (atomic_fetch_add(&arrived, 1) == threads - 1) {
        atomic_store(&arrived, 0);
        atomic_store_explicit(&passed, before + 1, memory_order_release);
        return 0;
    }
    for (; atomic_load_explicit(&passed, memory_order_acquire) == before; looks++)
        _mm_pause();
    return looks;
}

static void *work(void *argument) {
    struct thread *thread = argument;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(thread->number, &one);
    sched_setaffinity(0, sizeof one, &one);
    const uint32_t *asked = thread->rows;
    const float *table = tables[thread->group];
    for (uint64_t query = 0; query < fill; query++, asked += per_query)
        reduce(table, asked, thread->sums);
    pthread_barrier_wait(&together);
    if (thread->number == 0)
        CXLAB_REGION_BEGIN;
    meet();
    for (uint64_t query = 0; query < warm; query++, asked += per_query)
        reduce(table, asked, thread->sums);
    double begun = seconds();
    for (uint64_t query = 0; query < queries; query++, asked += per_query)
        reduce(table, asked, thread->sums + query * DIMENSION);
    thread->seconds = seconds() - begun;
    atomic_fetch_add(&counted, thread->group == 0);
    for (uint64_t query = 0; groups > 1 && atomic_load(&counted) < threads / groups; query = (query + 1) % queries)
        reduce(table, thread->rows + (fill + warm + query) * per_query, thread->sums + query * DIMENSION);
    thread->waited = meet();
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
                    expected += value_of(all[number].rows[(fill + warm + query) * per_query + item], place);
                if (all[number].sums[query * DIMENSION + place] != expected)
                    fail("a sum is wrong");
            }
}

int main(int argc, char **argv) {
    if (argc != 10 && argc != 11)
        fail("nine arguments are needed, and perhaps `spin` or nodes; the file says which");
    spins = argc == 11 && strcmp(argv[10], "spin") == 0;
    for (char *node = argc == 11 && !spins ? strtok(argv[10], ",") : NULL; node != NULL; node = strtok(NULL, ",")) {
        char *end;
        long number = strtol(node, &end, 10);
        if (groups == MOST_GROUPS || end == node || *end != '\0' || number < 0 || number >= MOST_NODES)
            fail("nodes are at most seven numbers of 0 to 63, as 3,4,5");
        nodes[groups++] = (int)number;
    }
    rows = strtoull(argv[1], NULL, 10), queries = strtoull(argv[2], NULL, 10);
    per_query = strtoull(argv[3], NULL, 10), threads = atoi(argv[4]), warm = strtoull(argv[5], NULL, 10);
    double skew = atof(argv[6]) / 100;
    exponential = strtoull(argv[7], NULL, 10), fill = strtoull(argv[8], NULL, 10);
    uint64_t seed = strtoull(argv[9], NULL, 10);
    if (rows < 1 || rows > UINT32_MAX || queries < 1 || per_query < 1 || threads < 1 || threads > MOST_THREADS)
        fail("rows, queries and rows a query are 1 or more, threads 1 to 64");
    if (exponential > 100)
        fail("draws by the exponential law are 0 to 100 percent");
    if (threads % groups != 0)
        fail("threads are a multiple of the groups: one, and one for each node");
    fill /= (uint64_t)(threads / groups);
    for (int group = 0; group < groups; group++) {
        tables[group] = pages(rows * DIMENSION * sizeof *tables[group], group);
        for (uint64_t row = 0; row < rows; row++)
            for (uint64_t place = 0; place < DIMENSION; place++)
                tables[group][row * DIMENSION + place] = value_of(row, place);
    }
    pthread_barrier_init(&together, NULL, (unsigned)threads);
    for (int number = 0; number < threads; number++) {
        struct thread *thread = &all[number];
        uint64_t state = seed * 1000 + (uint64_t)number, items = (fill + warm + queries) * per_query;
        thread->number = number, thread->group = number / (threads / groups);
        thread->rows = pages(items * sizeof *thread->rows, thread->group);
        thread->sums = pages((queries + 1) * DIMENSION * sizeof *thread->sums, thread->group);
        memset(thread->sums, 0, (queries + 1) * DIMENSION * sizeof *thread->sums);
        for (uint64_t item = 0; item < items; item++)
            thread->rows[item] = draw(&state, skew);
    }
    for (int number = 1; number < threads; number++)
        pthread_create(&all[number].handle, NULL, work, &all[number]);
    work(&all[0]);
    double rate = 0, longest = 0;
    uint64_t waited = 0;
    for (int number = 0; number < threads; number++) {
        if (number > 0)
            pthread_join(all[number].handle, NULL);
        waited += all[number].waited;
        if (all[number].group > 0)
            continue;
        rate += (double)queries / all[number].seconds;
        longest = all[number].seconds > longest ? all[number].seconds : longest;
    }
    check();
    printf("measure throughput %.9g\n", rate);
    printf("measure gathered %.9g\n", rate * (double)(per_query * DIMENSION * sizeof *tables[0]) / 1e9);
    printf("measure slowest_thread %.9g\n", longest * 1e6);
    if (spins)
        printf("looks in the last barrier %llu\n", (unsigned long long)waited);
    return 0;
}
