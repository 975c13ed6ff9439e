/* ledger N MOVES: N threads, each on a processor of its own, move money between accounts MOVES times each. An account's
   stripe has a spin lock, and who waits for it executes PAUSE. An eighth of the moves are from the first stripe. Prints the
   sum of all accounts, which stays what it was. */
#define _GNU_SOURCE
#include "cxlab/marker.h"
#include "processor.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <x86intrin.h>

#define ACCOUNTS (1u << 20)
#define STRIPES 16

static uint64_t threads, moves;
static uint64_t *accounts;
static struct {
    _Alignas(64) atomic_flag taken;
} locks[STRIPES];
static pthread_barrier_t together;

static uint64_t next(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    return z ^ (z >> 31);
}

static void take(uint64_t stripe) {
    while (atomic_flag_test_and_set_explicit(&locks[stripe].taken, memory_order_acquire)) _mm_pause();
}

static void give(uint64_t stripe) { atomic_flag_clear_explicit(&locks[stripe].taken, memory_order_release); }

static void move(uint64_t *state) {
    uint64_t bits = next(state), from = bits % ACCOUNTS, to = (bits >> 32) % ACCOUNTS;
    if ((bits >> 60) < 2) from -= from % STRIPES;
    uint64_t low = from % STRIPES, high = to % STRIPES;
    if (low > high) low = to % STRIPES, high = from % STRIPES;
    take(low);
    if (high != low) take(high);
    const uint64_t amount = accounts[from] / 7;
    accounts[from] -= amount, accounts[to] += amount;
    if (high != low) give(high);
    give(low);
}

static void *work(void *who) {
    uint64_t me = (uint64_t)who, state = me;
    stay_on((int)me);
    pthread_barrier_wait(&together);
    if (me == 0) CXLAB_REGION_BEGIN;
    pthread_barrier_wait(&together);
    for (uint64_t i = 0; i < moves; i++) move(&state);
    pthread_barrier_wait(&together);
    if (me == 0) CXLAB_REGION_END;
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    threads = strtoull(argv[1], 0, 0), moves = strtoull(argv[2], 0, 0);
    accounts = malloc(ACCOUNTS * sizeof *accounts);
    for (uint64_t i = 0; i < ACCOUNTS; i++) accounts[i] = 1000;
    pthread_barrier_init(&together, 0, (unsigned)threads);
    pthread_t others[64];
    for (uint64_t i = 1; i < threads; i++) pthread_create(&others[i], 0, work, (void *)i);
    work(0);
    for (uint64_t i = 1; i < threads; i++) pthread_join(others[i], 0);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < ACCOUNTS; i++) sum += accounts[i];
    printf("%llu\n", (unsigned long long)sum);
    return sum == 1000ull * ACCOUNTS ? 0 : 1;
}
