/* Brings COUNT pages back from swap, in the rounds of disk_rounds.h. Prints the ns of each round, and how many pages were
   wrong: swap_in COUNT MORE. Touching MORE bytes, more than there is memory, puts all that was touched before out. */
#define _GNU_SOURCE
#include "cxlab/marker.h"
#include "disk_rounds.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Linux reads ahead pages that went out together, as long as it finds them used. So only every 16th comes back, in another
   order than the one that it went out in. */
enum { APART = 16 };

struct part {
    volatile char *area;
    size_t first, step, count, wrong;
};

static void *bring(void *argument) {
    struct part *part = argument;
    for (size_t i = part->first; i < part->count; i += part->step) {
        const size_t page = scattered(i, part->count) * APART;
        part->wrong += part->area[page * PAGE] != (char)(page / APART | 1);
    }
    return 0;
}

static volatile char *small_pages(size_t bytes) {
    void *area = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(area, bytes, MADV_NOHUGEPAGE);
    return area;
}

static void put_out(size_t more) {
    volatile char *area = small_pages(more);
    for (size_t at = 0; at < more; at += PAGE) area[at] = 1;
    munmap((void *)area, more);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    const size_t count = strtoull(argv[1], 0, 0);
    volatile char *areas[ROUNDS - 1];
    for (int i = 0; i < ROUNDS - 1; i++) {
        areas[i] = small_pages(count * APART * PAGE);
        for (size_t page = 0; page < count * APART; page++) areas[i][page * PAGE] = (char)(page / APART | 1);
    }
    put_out(strtoull(argv[2], 0, 0));
    struct part alone = {areas[0], 0, 1, count, 0}, beside = {areas[2], 0, 1, count, 0}, each[THREADS];
    struct parts parts = {.alone = &alone, .beside = &beside};
    for (size_t i = 0; i < THREADS; i++) {
        each[i] = (struct part){areas[1], i, THREADS, count, 0};
        parts.each[i] = &each[i];
    }
    double took[ROUNDS];
    CXLAB_REGION_BEGIN;
    four_rounds(bring, parts, count, took);
    CXLAB_REGION_END;
    size_t wrong = alone.wrong + beside.wrong;
    for (size_t i = 0; i < THREADS; i++) wrong += each[i].wrong;
    for (int i = 0; i < ROUNDS; i++) printf("%.0f ", took[i]);
    printf("%zu\n", wrong);
    return 0;
}
