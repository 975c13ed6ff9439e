// Sets memory up, says so, then walks over it and reads two files.
//   walk_later NEW KNOWN: prints "ready", then the sum that it has found and the first line of each file.
// NEW is never named before "ready"; KNOWN is looked at and not read. Status 4: KNOWN cannot be read.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PAGES = 4096, PAGE = 4096, ROUNDS = 4 };

static void first_line(const char *path, char *line, int size, int otherwise) {
    FILE *file = fopen(path, "r");
    if (file == NULL || fgets(line, size, file) == NULL) exit(otherwise);
}

int main(int argc, char **argv) {
    unsigned char *bytes = aligned_alloc(PAGE, (size_t)PAGES * PAGE);
    if (argc != 3 || bytes == NULL || access(argv[2], R_OK) != 0) return 2;
    for (size_t at = 0; at < (size_t)PAGES * PAGE; at++) bytes[at] = at / PAGE % 251;
    puts("ready");
    fflush(stdout);
    unsigned long sum = 0;
    for (int round = 0; round < ROUNDS; round++)
        for (size_t page = 0; page < PAGES; page++) sum += bytes[page * PAGE + (page * 7 + round) % 64 * 64];
    char new[80], known[80];
    first_line(argv[1], new, sizeof new, 3);
    first_line(argv[2], known, sizeof known, 4);
    printf("sum %lu\n%s%s", sum, new, known);
    return 0;
}
