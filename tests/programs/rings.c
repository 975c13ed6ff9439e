/* Timers of 100 us that ring while the program computes: rings COUNT. The kernel's own trace tells when each was due and when it rang. */
#define _GNU_SOURCE
#include "cxlab/marker.h"
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

static volatile int rang;

static void ring(int number) { (void)number, rang = 1; }

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    signal(SIGALRM, ring);
    CXLAB_REGION_BEGIN;
    for (int i = 0; i < atoi(argv[1]); i++) {
        const struct itimerval once = {.it_value = {.tv_usec = 100}};
        rang = 0;
        setitimer(ITIMER_REAL, &once, NULL);
        while (!rang) {}
    }
    CXLAB_REGION_END;
    return 0;
}
