/* Where a thread of a test program runs; who includes this has defined _GNU_SOURCE first. */
#ifndef PROCESSOR_H
#define PROCESSOR_H
#include <sched.h>

static inline void stay_on(int cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}
#endif
