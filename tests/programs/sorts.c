/* sorts N NUMBERS: N threads sort so many numbers each, side by side. They share nothing, and none waits for another one. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static size_t numbers;

static int order(const void *left, const void *right) {
    const int a = *(const int *)left, b = *(const int *)right;
    return (a > b) - (a < b);
}

static void *work(void *who) {
    int *all = malloc(numbers * sizeof *all);
    uint64_t state = (uint64_t)who + 1;
    /* Knuth's MMIX generator. */
    for (size_t i = 0; i < numbers; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        all[i] = (int)(state >> 33);
    }
    qsort(all, numbers, sizeof *all, order);
    free(all);
    return 0;
}

int main(int argc, char **argv) {
    const uint64_t threads = argc == 3 ? strtoull(argv[1], 0, 0) : 0;
    numbers = argc == 3 ? strtoull(argv[2], 0, 0) : 0;
    if (threads < 1 || threads > 64 || numbers < 1) {
        fputs("sorts: N NUMBERS; 1 to 64 threads\n", stderr);
        return 2;
    }
    pthread_t others[64];
    for (uint64_t i = 1; i < threads; i++) pthread_create(&others[i], 0, work, (void *)i);
    work(0);
    for (uint64_t i = 1; i < threads; i++) pthread_join(others[i], 0);
    return 0;
}
