/* Connections to a server on this machine, and the latencies of what was asked on them. */
#include "connections.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void fail(const char *form, ...) {
    va_list values;
    va_start(values, form);
    fputs("client: ", stderr);
    vfprintf(stderr, form, values);
    fputc('\n', stderr);
    exit(1);
}

long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * SECOND + time.tv_nsec;
}

void leave_placement(void) {
    if (syscall(SYS_set_mempolicy, 0, NULL, 0) != 0)
        fail("set_mempolicy: %s", strerror(errno));
}

int connect_to(int port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int tries = 0; tries < 200; tries++) {
        int made = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
        if (connect(made, (struct sockaddr *)&to, sizeof to) == 0) {
            setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
            return made;
        }
        close(made);
        usleep(50000);
    }
    fail("no server listens on port %d", port);
    return -1;
}

int wait_for(int poll, struct epoll_event *events, long until) {
    struct timespec left = {0, 0};
    if (until > 0) {
        long time = until - now();
        if (time > 0)
            left = (struct timespec){time / SECOND, time % SECOND};
    }
    long found = syscall(SYS_epoll_pwait2, poll, events, MOST_CONNECTIONS, until > 0 ? &left : NULL, NULL, 0);
    if (found < 0)
        fail("epoll_pwait2: %s", strerror(errno));
    return (int)found;
}

static int by_size(const void *left, const void *right) {
    long one = *(const long *)left, other = *(const long *)right;
    return (one > other) - (one < other);
}

/* Nearest rank: the least latency that `percent` of all do not exceed [us]. */
static double percentile(const long *sorted, uint64_t count, double percent) {
    uint64_t rank = (uint64_t)ceil(percent / 100 * (double)count);
    return (double)sorted[(rank > 0 ? rank : 1) - 1] / 1e3;
}

void report(long *latencies, uint64_t count, double seconds) {
    double sum = 0;
    for (uint64_t place = 0; place < count; place++)
        sum += (double)latencies[place];
    qsort(latencies, count, sizeof *latencies, by_size);
    printf("measure throughput %.9g\n", (double)count / seconds);
    printf("measure latency_mean %.9g\n", sum / (double)count / 1e3);
    printf("measure latency_p50 %.9g\n", percentile(latencies, count, 50));
    printf("measure latency_p99 %.9g\n", percentile(latencies, count, 99));
}
