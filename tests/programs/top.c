/* Two lists in memory of their own, one of them far larger than the caches: top LOADS. Who waits for what is known. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINE = 64 };

__attribute__((noinline)) static char *make_cold(size_t bytes) { return malloc(bytes); }

/* A full-period linear congruence (Hull and Dobell) over a power of two. */
__attribute__((noinline)) static void link_cold(char *area, size_t lines) {
    size_t at = 0;
    for (size_t i = 0; i < lines; i++) {
        const size_t next = (at * 0x5851f42d4c957f2dull + 0x14057b7ef767814full) % lines;
        *(void **)(area + at * LINE) = area + next * LINE;
        at = next;
    }
}

__attribute__((noinline)) static void **wait_for_cold(void **at, size_t count) {
    while (count--) at = *at;
    return at;
}

static uint64_t warm[64];

__attribute__((noinline)) static uint64_t use_warm(size_t count) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) sum += warm[sum % 64] + i;
    return sum;
}

int main(int argc, char **argv) {
    const size_t count = argc > 1 ? strtoull(argv[1], 0, 0) : 1000, lines = 1 << 16;
    char *cold = make_cold(lines * LINE);
    link_cold(cold, lines);
    for (size_t i = 0; i < lines; i++) __builtin_ia32_clflush(cold + i * LINE);
    void **end = wait_for_cold((void **)cold, count);
    printf("%d %d\n", end != 0, use_warm(count) != 0);
    return 0;
}
