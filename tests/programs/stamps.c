/* 100,000 reads of the time-stamp counter, with loads that miss between some of them; prints the span. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <x86intrin.h>

int main(void) {
    volatile char *area = malloc(64 << 20);
    const uint64_t first = __rdtsc();
    uint64_t last = first, backwards = 0;
    for (int i = 1; i < 100000; i++) {
        if (i % 16 == 0) area[(uint64_t)i * 7919 * 64 % (64 << 20)] = 1;
        const uint64_t read = __rdtsc();
        backwards += read < last;
        last = read;
    }
    printf("%llu %llu\n", (unsigned long long)(last - first), (unsigned long long)backwards);
    return 0;
}
