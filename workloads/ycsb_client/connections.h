/* Connections to a server on this machine, and the latencies of what was asked on them. */
#ifndef CONNECTIONS_H
#define CONNECTIONS_H

#include <stdint.h>
#include <sys/epoll.h>

#define MOST_CONNECTIONS 64
#define SECOND 1000000000L

/* Prints why, and ends the program. */
void fail(const char *form, ...) __attribute__((format(printf, 1, 2), noreturn));

/* [ns] */
long now(void);

/* The client's own memory is local, whatever placement the server has. */
void leave_placement(void);

int connect_to(int port);

/* Waits for answers, until `until` at most; 0: for as long as there are none. How many there are. */
int wait_for(int poll, struct epoll_event *events, long until);

/* Prints the measures of `count` requests, whose latencies are sorted for it [ns]. */
void report(long *latencies, uint64_t count, double seconds);

#endif
