/* Clients of the social network, with the requests of DeathStarBench's scripts for wrk2.
 *
 *   client PORT COMPOSE USER HOME USERS WARM REQUESTS CONNECTIONS RATE SEED
 *   client local COMMAND...      runs a command whose memory is local, whatever placement the run has
 *
 * COMPOSE, USER and HOME are the shares of posts that are composed, and of both timelines that are read [%].
 * RATE is of all connections together [requests/s]; 0: each sends its next request at once. As in wrk2, a latency is from
 * the time that a request is due, so one that waits for its connection counts that too.
 * Source: Gan et al., An open-source benchmark suite for microservices, ASPLOS 2019 (its wrk2 scripts). */
#include "../ycsb_client/connections.h"
#include "../ycsb_client/generators.h"
#include "cxlab/marker.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define REQUEST_BYTES 4096
#define ANSWER_BYTES 65536
/* Of a post, and of the timelines that are read: ten posts from one of the first hundred places. */
#define TEXT_LETTERS 256
#define URL_LETTERS 64
#define MOST_MENTIONS 5
#define MOST_URLS 5
#define MOST_MEDIA 4
#define FIRST_PLACES 100
#define POSTS_READ 10

struct connection {
    int socket;
    bool idle;
    long due;
    size_t answered;
    char answer[ANSWER_BYTES];
};

struct clients {
    struct random draws;
    uint64_t users;
    int compose, user, poll, count;
    double rate;
    struct connection *connections;
};

static char *letters(struct random *draws, char *at, int count) {
    for (; count > 0; count--)
        *at++ = (char)('a' + next_below(draws, 26));
    return at;
}

/* A list of what a post shows, as a form has it: `word` is printed for each, with a number if `word` has a place for it. */
static char *list(char *at, uint64_t count, const char *name, const char *word, struct random *draws) {
    at += sprintf(at, "&%s=[", name);
    for (uint64_t place = 0; place < count; place++) {
        at += sprintf(at, place > 0 ? "," : "");
        at += sprintf(at, word, (unsigned long long)next_below(draws, 1000000000000000000));
    }
    return at + sprintf(at, "]");
}

static size_t compose(struct clients *clients, char *request) {
    struct random *draws = &clients->draws;
    unsigned long long user = next_below(draws, clients->users);
    char form[REQUEST_BYTES], *at = form;
    at += sprintf(at, "username=user%llu&user_id=%llu&text=", user, user);
    at = letters(draws, at, TEXT_LETTERS);
    for (uint64_t left = next_below(draws, MOST_MENTIONS + 1); left > 0; left--)
        at += sprintf(at, "+%%40user%llu", (unsigned long long)next_below(draws, clients->users));
    for (uint64_t left = next_below(draws, MOST_URLS + 1); left > 0; left--)
        at = letters(draws, at + sprintf(at, "+http%%3A%%2F%%2F"), URL_LETTERS);
    uint64_t media = next_below(draws, MOST_MEDIA + 1);
    at = list(at, media, "media_ids", "%llu", draws);
    at = list(at, media, "media_types", "%%22png%%22", draws);
    at += sprintf(at, "&post_type=0");
    return (size_t)sprintf(request,
                           "POST /wrk2-api/post/compose HTTP/1.1\r\nHost: localhost\r\n"
                           "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %ld\r\n\r\n%s",
                           (long)(at - form), form);
}

static size_t timeline(struct clients *clients, const char *kind, char *request) {
    unsigned long long user = next_below(&clients->draws, clients->users);
    unsigned long long start = next_below(&clients->draws, FIRST_PLACES + 1);
    return (size_t)sprintf(request,
                           "GET /wrk2-api/%s-timeline/read?user_id=%llu&start=%llu&stop=%llu HTTP/1.1\r\n"
                           "Host: localhost\r\n\r\n",
                           kind, user, start, start + POSTS_READ);
}

static void begin(struct clients *clients, struct connection *connection) {
    char request[2 * REQUEST_BYTES];
    int at = (int)next_below(&clients->draws, 100);
    size_t length = at < clients->compose                   ? compose(clients, request)
                    : at < clients->compose + clients->user ? timeline(clients, "user", request)
                                                            : timeline(clients, "home", request);
    connection->idle = false;
    connection->answered = 0;
    if (write(connection->socket, request, length) != (ssize_t)length)
        fail("write: %s", strerror(errno));
}

/* Reads once: whether the answer is whole. */
static bool receive(struct connection *connection) {
    ssize_t got = read(connection->socket, connection->answer + connection->answered, ANSWER_BYTES - 1 - connection->answered);
    if (got <= 0)
        fail("the front end closed a connection");
    connection->answered += (size_t)got;
    connection->answer[connection->answered] = 0;
    const char *end = strstr(connection->answer, "\r\n\r\n"), *length = strstr(connection->answer, "Content-Length: ");
    if (end == NULL)
        return false;
    if (strncmp(connection->answer, "HTTP/1.1 200 ", 13) != 0 || length == NULL || length > end)
        fail("the front end refused: %.200s", connection->answer);
    size_t whole = (size_t)(end + 4 - connection->answer) + strtoul(length + 16, NULL, 10);
    if (whole >= ANSWER_BYTES)
        fail("an answer is longer than %d bytes", ANSWER_BYTES);
    return connection->answered >= whole;
}

/* Sends what is due; the next time that something is, or 0. */
static long send_due(struct clients *clients, uint64_t *begun, uint64_t requests) {
    long time = now(), soonest = 0;
    for (int place = 0; place < clients->count && *begun < requests; place++) {
        struct connection *connection = &clients->connections[place];
        if (!connection->idle)
            continue;
        if (clients->rate == 0)
            connection->due = time;
        if (connection->due <= time) {
            ++*begun;
            begin(clients, connection);
        } else if (soonest == 0 || connection->due < soonest) {
            soonest = connection->due;
        }
    }
    return soonest;
}

/* `requests` of them; their latencies [ns]. */
static void run(struct clients *clients, uint64_t requests, long *latencies) {
    long started = now(), period = clients->rate > 0 ? (long)(clients->count / clients->rate * SECOND) : 0;
    for (int place = 0; place < clients->count; place++) {
        clients->connections[place].idle = true;
        clients->connections[place].due = started + period * place / clients->count;
    }
    for (uint64_t begun = 0, done = 0; done < requests;) {
        long soonest = send_due(clients, &begun, requests);
        struct epoll_event events[MOST_CONNECTIONS];
        for (int found = wait_for(clients->poll, events, soonest); found > 0; found--) {
            struct connection *connection = events[found - 1].data.ptr;
            if (!receive(connection))
                continue;
            latencies[done++] = now() - connection->due;
            connection->due += period;
            connection->idle = true;
        }
    }
}

int main(int argc, char **argv) {
    leave_placement();
    if (argc > 2 && strcmp(argv[1], "local") == 0) {
        execvp(argv[2], argv + 2);
        fail("%s: %s", argv[2], strerror(errno));
    }
    if (argc != 11)
        fail("ten arguments are needed; the file says which");
    int port = atoi(argv[1]), compose_percent = atoi(argv[2]), user_percent = atoi(argv[3]);
    uint64_t warm = strtoull(argv[6], NULL, 10), requests = strtoull(argv[7], NULL, 10);
    struct clients clients = {.draws = {strtoull(argv[10], NULL, 10)},
                              .users = strtoull(argv[5], NULL, 10),
                              .compose = compose_percent,
                              .user = user_percent,
                              .poll = epoll_create1(0),
                              .count = atoi(argv[8]),
                              .rate = atof(argv[9])};
    if (compose_percent + user_percent + atoi(argv[4]) != 100)
        fail("the shares of requests are not 100 %% together");
    if (requests < 1 || clients.users < 1 || clients.count < 1 || clients.count > MOST_CONNECTIONS)
        fail("users and requests are 1 or more, connections 1 to %d", MOST_CONNECTIONS);
    clients.connections = calloc((size_t)clients.count, sizeof *clients.connections);
    long *latencies = calloc(warm > requests ? warm : requests, sizeof *latencies);
    for (int place = 0; place < clients.count; place++) {
        struct connection *connection = &clients.connections[place];
        connection->socket = connect_to(port);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
        epoll_ctl(clients.poll, EPOLL_CTL_ADD, connection->socket, &event);
    }
    CXLAB_REGION_BEGIN;
    run(&clients, warm, latencies);
    long started = now();
    run(&clients, requests, latencies);
    double seconds = (double)(now() - started) / SECOND;
    CXLAB_REGION_END;
    report(latencies, requests, seconds);
    return 0;
}
