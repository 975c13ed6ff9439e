/* called MS: sets up, calls begins(), works for MS milliseconds of its own clock, prints how long that was [ns], calls ends(), and
   goes on working until somebody ends it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void work(uint64_t rounds) {
    static volatile uint64_t sum;
    for (uint64_t round = 0; round < rounds; round++) sum += round;
}

__attribute__((noinline)) void begins(void) { __asm__ volatile(""); }
__attribute__((noinline)) void ends(void) { __asm__ volatile(""); }
__attribute__((noinline, used)) void never(void) { __asm__ volatile(""); }

int main(int count, char **arguments) {
    uint64_t wanted = count > 1 ? strtoull(arguments[1], NULL, 10) * 1000000 : 1000000;
    setvbuf(stdout, NULL, _IONBF, 0);
    work(1000000);
    // An end ahead of the beginning is none. What is called below is in memory from here on.
    ends();
    printf("set up %llu\n", (unsigned long long)now());
    begins();
    uint64_t start = now(), here = start;
    while ((here = now()) - start < wanted) work(1000);
    uint64_t took = here - start;
    printf("took %llu\n", (unsigned long long)took);
    begins();
    ends();
    for (;;) work(1000);
}
