/* Reads COUNT pages of FILE from the disk itself (O_DIRECT), in the rounds of disk_rounds.h. Then it writes COUNT pages,
   one after the other. Prints the ns of each round and of the writes, and how many pages were wrong: file_in FILE COUNT.
   With `read` behind COUNT it writes nothing, in no time.
   Page i of FILE has i in its first four bytes. */
#define _GNU_SOURCE
#include "cxlab/marker.h"
#include "disk_rounds.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct part {
    int file;
    size_t first, step, count, wrong;
};

static void *aligned(void) {
    void *page = aligned_alloc(PAGE, PAGE);
    if (!page) exit(3);
    return memset(page, 1, PAGE);
}

static void *bring(void *argument) {
    struct part *part = argument;
    uint32_t *page = aligned();
    for (size_t i = part->first; i < part->count; i += part->step) {
        const size_t place = scattered(i, part->count);
        const ssize_t got = pread(part->file, page, PAGE, (off_t)(place * PAGE));
        part->wrong += got != PAGE || *page != place;
    }
    free(page);
    return 0;
}

int main(int argc, char **argv) {
    const int writes = argc == 3;
    if (!writes && (argc != 4 || strcmp(argv[3], "read"))) return 2;
    const size_t count = strtoull(argv[2], 0, 0);
    const int file = open(argv[1], (writes ? O_RDWR : O_RDONLY) | O_DIRECT);
    if (file < 0) {
        perror(argv[1]);
        return 1;
    }
    struct part alone = {file, 0, 1, count, 0}, beside = alone, each[THREADS];
    struct parts parts = {.alone = &alone, .beside = &beside};
    for (size_t i = 0; i < THREADS; i++) {
        each[i] = (struct part){file, i, THREADS, count, 0};
        parts.each[i] = &each[i];
    }
    uint32_t *page = aligned();
    double took[ROUNDS];
    CXLAB_REGION_BEGIN;
    four_rounds(bring, parts, count, took);
    const double began = now_ns();
    for (size_t i = 0; i < count && writes; i++) {
        *page = (uint32_t)i;
        if (pwrite(file, page, PAGE, (off_t)(i * PAGE)) != PAGE) return 4;
    }
    const double written = now_ns() - began;
    CXLAB_REGION_END;
    size_t wrong = alone.wrong + beside.wrong;
    for (size_t i = 0; i < THREADS; i++) wrong += each[i].wrong;
    for (int i = 0; i < ROUNDS; i++) printf("%.0f ", took[i]);
    printf("%.0f %zu\n", written, wrong);
    return 0;
}
