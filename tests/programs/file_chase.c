/* A random chase through a file's pages in the page cache: file_chase FILE COUNT. Each line of 64 B of FILE begins with the offset of
 * the next. Prints ns a load, and the mapping's line of numa_maps. */
#include "cxlab/marker.h"
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

enum { PAGE = 4096 };

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    const size_t count = strtoull(argv[2], 0, 0);
    const int file = open(argv[1], O_RDONLY);
    struct stat about;
    if (file < 0 || fstat(file, &about) != 0) perror(argv[1]), exit(1);
    const char *area = mmap(0, (size_t)about.st_size, PROT_READ, MAP_SHARED, file, 0);
    if (area == MAP_FAILED) perror("mmap"), exit(1);
    uint64_t at = 0;
    for (off_t page = 0; page < about.st_size; page += PAGE) at += (uint64_t)*(volatile const char *)(area + page) & 0;
    struct timespec begin, end;
    CXLAB_REGION_BEGIN;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (size_t i = 0; i < count; i++) at = *(const uint64_t *)(area + at);
    __asm__ volatile("" ::"r"(at) : "memory");
    clock_gettime(CLOCK_MONOTONIC, &end);
    CXLAB_REGION_END;
    printf("%.2f\n", ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / (double)count);
    char line[4096], wanted[32];
    snprintf(wanted, sizeof wanted, "%lx ", (unsigned long)area);
    FILE *maps = fopen("/proc/self/numa_maps", "r");
    while (fgets(line, sizeof line, maps))
        if (strncmp(line, wanted, strlen(wanted)) == 0) fputs(line, stdout);
    return 0;
}
