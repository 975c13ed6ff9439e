/* A hot set that begins on node 1, chased in rounds: hotset BYTES ROUNDS COUNT
 * Its pages are placed by a policy that is gone when the rounds begin, so that Linux may move them. For each round: ns a load;
 * then the area's line of numa_maps. */
#define _GNU_SOURCE
#include "cxlab/marker.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LINE = 64, HUGE_PAGE = 2 << 20, MPOL_DEFAULT = 0, MPOL_BIND = 2, MOST_ROUNDS = 64 };

static void policy(int mode, unsigned long nodes) {
    if (syscall(SYS_set_mempolicy, mode, nodes ? &nodes : NULL, nodes ? 65 : 0) != 0) perror("set_mempolicy"), exit(1);
}

/* A full-period linear congruence, as in chase.c. */
static void **link_lines(char *area, size_t lines) {
    size_t at = 0;
    for (size_t i = 0; i < lines; i++) {
        const size_t next = (at * 0x5851f42d4c957f2dull + 0x14057b7ef767814full) % lines;
        *(void **)(area + at * LINE) = area + next * LINE;
        at = next;
    }
    return (void **)area;
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    const size_t bytes = strtoull(argv[1], 0, 0), count = strtoull(argv[3], 0, 0);
    const int rounds = atoi(argv[2]);
    char *area = mmap(0, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    area += -(uintptr_t)area % HUGE_PAGE;
    policy(MPOL_BIND, 1ul << 1);
    void **at = link_lines(area, bytes / LINE);
    policy(MPOL_DEFAULT, 0);
    double ns[MOST_ROUNDS];
    CXLAB_REGION_BEGIN;
    for (int round = 0; round < rounds; round++) {
        struct timespec begin, end;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        for (size_t i = 0; i < count; i++) at = *at;
        __asm__ volatile("" ::"r"(at) : "memory");
        clock_gettime(CLOCK_MONOTONIC, &end);
        ns[round] = ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / (double)count;
    }
    CXLAB_REGION_END;
    for (int round = 0; round < rounds; round++) printf("%.1f ", ns[round]);
    printf("\n");
    char line[4096];
    FILE *maps = fopen("/proc/self/numa_maps", "r");
    while (fgets(line, sizeof line, maps))
        if (strstr(line, "anon=") && strtoull(line, 0, 16) <= (uintptr_t)area && strstr(line, " N"))
            if (strtoull(strstr(line, "anon=") + 5, 0, 10) >= bytes / 4096) fputs(line, stdout);
    return 0;
}
