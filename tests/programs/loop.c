/* COUNT rounds of exactly 4 instructions, between markers or as a whole. */
#include "cxlab/marker.h"
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    long count = atol(argv[argc - 1]);
    CXLAB_REGION_BEGIN;
    __asm__ volatile("1: add $1, %%rax\n add $2, %%rdx\n dec %0\n jnz 1b" : "+r"(count)::"rax", "rdx", "cc");
    CXLAB_REGION_END;
    puts("done");
    return 0;
}
