/* A program whose parts are functions: it sets up, serves three rounds and finishes. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT (1 << 17)

__attribute__((noinline)) static uint64_t *set_up(void) {
    uint64_t *values = malloc(COUNT * sizeof *values);
    for (uint64_t i = 0; i < COUNT; i++) values[i] = i * 2654435761u % COUNT;
    return values;
}

__attribute__((noinline)) uint64_t serve(const uint64_t *values) {
    uint64_t at = 0;
    for (int step = 0; step < 20000; step++) at = values[at] ^ (uint64_t)step % COUNT;
    return at;
}

__attribute__((noinline)) void finish(uint64_t sum) { printf("%lu\n", (unsigned long)sum); }

int main(void) {
    uint64_t *values = set_up(), sum = 0;
    for (int round = 0; round < 3; round++) sum += serve(values);
    finish(sum);
}
