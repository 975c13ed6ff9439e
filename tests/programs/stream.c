/* Reads an area of BYTES once, a load a line; then prints its line of numa_maps. */
#include "cxlab/marker.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int main(int argc, char **argv) {
    const size_t bytes = strtoull(argv[argc - 1], 0, 0);
    char *area = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(area, 1, bytes);
    uint64_t sum = 0;
    CXLAB_REGION_BEGIN;
    for (size_t i = 0; i < bytes; i += 64) sum += (uint64_t)area[i];
    CXLAB_REGION_END;
    char line[4096], wanted[32];
    snprintf(wanted, sizeof wanted, "anon=%zu ", bytes / 4096);
    FILE *maps = fopen("/proc/self/numa_maps", "r");
    while (fgets(line, sizeof line, maps))
        if (strstr(line, wanted)) fputs(line, stdout);
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
