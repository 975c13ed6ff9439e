/* qsort [WORD] COUNT: sorts so many numbers by the C library's qsort: cache-friendly work. It prints WORD before that. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int compare(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    const size_t count = strtoull(argv[argc - 1], 0, 0);
    uint32_t *numbers = malloc(count * sizeof *numbers), at = 1;
    for (size_t i = 0; i < count; i++) numbers[i] = at = at * 1664525 + 1013904223;
    if (argc > 2) {
        puts(argv[1]);
        fflush(stdout);
    }
    qsort(numbers, count, sizeof *numbers, compare);
    for (size_t i = 1; i < count; i++)
        if (numbers[i - 1] > numbers[i]) return 1;
    puts("sorted");
    return 0;
}
