/* A client of a key-value store with YCSB's workloads A to F.
 *
 *   ycsb STORE PORT WORKLOAD DISTRIBUTION RECORDS WARM REQUESTS CONNECTIONS RATE SEED SETTLED
 *   ycsb draw DISTRIBUTION RECORDS INSERTS COUNT SEED      prints keys, for tests of the generators
 *
 * `ycsb serve` and `ycsb misses` are those of a store that is linked in.
 *
 * RECORDS records are inserted, or Redis has read them from a file. SETTLED requests follow. Then a region of detail
 * begins: WARM requests that are not counted, then REQUESTS.
 * Each connection has one request under way, as a thread of YCSB has. RATE is of all connections together
 * [requests/s]; 0: each sends its next request at once. As in YCSB, a latency is from sending to the answer.
 * Source: B. Cooper et al., Benchmarking Cloud Serving Systems with YCSB, SoCC 2010, and YCSB's core. */
#include "connections.h"
#include "cxlab/marker.h"
#include "generators.h"
#include "store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A scan answers with 100 names, a read with one record. */
#define ANSWER_BYTES 16384
/* Requests of the load that are under way. */
#define LOADING 32

enum operation { READ, UPDATE, INSERT, SCAN, READ_MODIFY_WRITE };

/* Shares of operations [%], from YCSB's workloads/workloada to workloadf. */
static const struct mix {
    char name;
    int share[5];
} MIXES[] = {
    {'a', {50, 50, 0, 0, 0}}, {'b', {95, 5, 0, 0, 0}}, {'c', {100, 0, 0, 0, 0}},
    {'d', {95, 0, 5, 0, 0}},  {'e', {0, 0, 5, 95, 0}}, {'f', {50, 0, 0, 0, 50}},
};

struct connection {
    int socket;
    enum operation operation;
    uint64_t key;
    int answers_to_come, scanned;
    long sent_at, due;
    bool idle;
    char answer[ANSWER_BYTES], names[ANSWER_BYTES];
    size_t answered;
};

static const struct store *store;
static const struct mix *mix;
static struct keys keys;
static struct random choices;
static struct connection connections[MOST_CONNECTIONS];
static int count_of_connections;
/* Letters that fields are cut from. */
static char letters[FIELD_BYTES + 4096];
/* Which inserts have been answered: a record can be asked for once all before it are there. */
static uint64_t first_insert, next_insert;
static bool *inserted;

static const char *random_letters(void) { return letters + next_below(&choices, 4096 - FIELDS); }

static void send_request(struct connection *connection, const struct request *request) {
    for (size_t sent = 0; sent < request->length;) {
        ssize_t now_sent = write(connection->socket, request->bytes + sent, request->length - sent);
        if (now_sent < 0)
            fail("write: %s", strerror(errno));
        sent += (size_t)now_sent;
    }
    connection->answers_to_come = request->answers;
}

/* Reads once; takes whole answers away. */
static void receive(struct connection *connection) {
    ssize_t got = read(connection->socket, connection->answer + connection->answered,
                       sizeof connection->answer - 1 - connection->answered);
    if (got <= 0)
        fail("the server closed a connection");
    connection->answered += (size_t)got;
    connection->answer[connection->answered] = 0;
    while (connection->answered > 0) {
        long length = store->answer(connection->answer, connection->answered);
        if (length < 0)
            fail("the server refused: %.60s", connection->answer);
        if (length == 0) {
            if (connection->answered == sizeof connection->answer - 1)
                fail("an answer is longer than %zu bytes", sizeof connection->answer - 1);
            return;
        }
        if (connection->operation == SCAN && connection->scanned == 0)
            memcpy(connection->names, connection->answer, (size_t)length + 1);
        connection->answered -= (size_t)length;
        memmove(connection->answer, connection->answer + length, connection->answered + 1);
        connection->answers_to_come--;
    }
}

/* Sends all records, some of them under way. */
static void insert_all(struct connection *connection, uint64_t records) {
    for (uint64_t key = 0; key < records; key++) {
        struct request request = {.length = 0};
        int under_way = connection->answers_to_come;
        store->insert(&request, key, random_letters());
        send_request(connection, &request);
        connection->answers_to_come += under_way;
        while (connection->answers_to_come > (key + 1 < records ? LOADING : 0))
            receive(connection);
    }
}

/* Waits until the store has read its file: Redis answers LOADING before that, or is not there. */
static void wait_for_records(struct connection *connection, uint64_t records) {
    uint64_t found = 0;
    for (int tries = 0; tries < 6000 && found == 0; tries++) {
        struct request request = {.length = 0};
        char answer[256];
        store->count(&request);
        send_request(connection, &request);
        ssize_t got = read(connection->socket, answer, sizeof answer - 1);
        answer[got > 0 ? got : 0] = 0;
        if (answer[0] == ':')
            found = strtoull(answer + 1, NULL, 10);
        else
            usleep(50000);
    }
    connection->answers_to_come = 0;
    if (found != records)
        fail("the store has %llu records, not %llu", (unsigned long long)found, (unsigned long long)records);
}

static void load(uint64_t records) {
    if (store->count == NULL)
        insert_all(&connections[0], records);
    else
        wait_for_records(&connections[0], records);
}

static enum operation choose(void) {
    int at = (int)next_below(&choices, 100);
    for (int operation = 0;; operation++) {
        if (at < mix->share[operation])
            return (enum operation)operation;
        at -= mix->share[operation];
    }
}

static void begin(struct connection *connection) {
    struct request request = {.length = 0};
    connection->operation = choose();
    connection->scanned = 0;
    connection->idle = false;
    connection->key = connection->operation == INSERT ? next_insert++ : next_key(&keys);
    switch (connection->operation) {
    case READ:
    case READ_MODIFY_WRITE:
        store->read(&request, connection->key);
        break;
    case UPDATE:
        store->update(&request, connection->key, (int)next_below(&choices, FIELDS), random_letters());
        break;
    case INSERT:
        store->insert(&request, connection->key, random_letters());
        break;
    case SCAN:
        store->scan(&request, connection->key, 1 + (int)next_below(&choices, MOST_SCANNED));
        break;
    }
    connection->sent_at = now();
    send_request(connection, &request);
}

/* What an operation sends once it has an answer; false: it is complete. */
static bool goes_on(struct connection *connection) {
    struct request request = {.length = 0};
    if (connection->operation == SCAN) {
        if (!store->scanned(&request, connection->names, connection->scanned++))
            return false;
    } else if (connection->operation == READ_MODIFY_WRITE) {
        connection->operation = UPDATE;
        store->update(&request, connection->key, (int)next_below(&choices, FIELDS), random_letters());
    } else {
        return false;
    }
    send_request(connection, &request);
    return true;
}

static void completed(struct connection *connection) {
    if (connection->operation != INSERT)
        return;
    inserted[connection->key - first_insert] = true;
    while (keys.count < next_insert && inserted[keys.count - first_insert])
        key_added(&keys);
}

/* `requests` operations, each connection one at a time; their latencies [ns]. */
static void run(uint64_t requests, double rate, int poll, long *latencies) {
    long started = now(), period = rate > 0 ? (long)(count_of_connections / rate * SECOND) : 0;
    uint64_t begun = 0, done = 0;
    for (int place = 0; place < count_of_connections; place++) {
        connections[place].idle = true;
        connections[place].due = started + period * place / count_of_connections;
    }
    while (done < requests) {
        long time = now(), soonest = 0;
        for (int place = 0; place < count_of_connections; place++) {
            struct connection *connection = &connections[place];
            if (!connection->idle || begun == requests)
                continue;
            if (connection->due <= time) {
                begun++;
                connection->due += period;
                begin(connection);
            } else if (soonest == 0 || connection->due < soonest) {
                soonest = connection->due;
            }
        }
        struct epoll_event events[MOST_CONNECTIONS];
        for (int found = wait_for(poll, events, soonest); found > 0; found--) {
            struct connection *connection = events[found - 1].data.ptr;
            receive(connection);
            if (connection->answers_to_come > 0 || goes_on(connection))
                continue;
            latencies[done++] = now() - connection->sent_at;
            completed(connection);
            connection->idle = true;
        }
    }
}

static struct law law_named(const char *name, char workload) {
    struct law law;
    if (!law_of(&law, name, workload))
        fail("no distribution %s; valid: ycsb, uniform, zipfian, latest", name);
    return law;
}

static void draw(char **words) {
    struct keys drawn = keys_of(law_named(words[0], 'c'), strtoull(words[1], NULL, 10),
                                strtoull(words[2], NULL, 10), strtoull(words[4], NULL, 10));
    for (uint64_t left = strtoull(words[3], NULL, 10); left > 0; left--) {
        char name[32];
        uint64_t key = next_key(&drawn);
        name_of(name, key);
        printf("%llu %s\n", (unsigned long long)key, name);
    }
}

/* The store of a workload that has its own: workloads/rocksdb-ycsb/flash.c. */
int serve(int argc, char **argv) __attribute__((weak));

int main(int argc, char **argv) {
    if (serve != NULL && argc > 1 && (strcmp(argv[1], "serve") == 0 || strcmp(argv[1], "misses") == 0))
        return serve(argc, argv);
    if (argc == 7 && strcmp(argv[1], "draw") == 0) {
        draw(argv + 2);
        return 0;
    }
    if (argc != 12)
        fail("eleven arguments are needed; the file says which");
    leave_placement();
    store = strcmp(argv[1], "redis") == 0 ? &redis : &memcached;
    int port = atoi(argv[2]);
    for (size_t place = 0; place < sizeof MIXES / sizeof *MIXES; place++)
        if (MIXES[place].name == *argv[3])
            mix = &MIXES[place];
    if (mix == NULL || (mix->share[SCAN] > 0 && store->scan == NULL))
        fail("%s has no workload %s", argv[1], argv[3]);
    uint64_t records = strtoull(argv[5], NULL, 10), warm = strtoull(argv[6], NULL, 10);
    uint64_t requests = strtoull(argv[7], NULL, 10), seed = strtoull(argv[10], NULL, 10);
    uint64_t settled = strtoull(argv[11], NULL, 10), most = settled > warm ? settled : warm;
    count_of_connections = atoi(argv[8]);
    if (records < 1 || requests < 1 || count_of_connections < 1 || count_of_connections > MOST_CONNECTIONS)
        fail("records and requests are 1 or more, connections 1 to %d", MOST_CONNECTIONS);
    choices.state = seed ^ 0x5bd1e995;
    for (size_t place = 0; place < sizeof letters; place++)
        letters[place] = (char)('a' + next_below(&choices, 26));
    first_insert = next_insert = records;
    inserted = calloc(settled + warm + requests, sizeof *inserted);
    long *latencies = calloc(most > requests ? most : requests, sizeof *latencies);
    int poll = epoll_create1(0);
    for (int place = 0; place < count_of_connections; place++) {
        struct connection *connection = &connections[place];
        connection->socket = connect_to(port);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
        epoll_ctl(poll, EPOLL_CTL_ADD, connection->socket, &event);
    }
    load(records);
    uint64_t inserts = (settled + warm + requests) * (uint64_t)mix->share[INSERT] / 100;
    keys = keys_of(law_named(argv[4], mix->name), records, inserts, seed);
    run(settled, 0, poll, latencies);
    CXLAB_REGION_BEGIN;
    run(warm, atof(argv[9]), poll, latencies);
    long started = now();
    run(requests, atof(argv[9]), poll, latencies);
    double seconds = (double)(now() - started) / SECOND;
    CXLAB_REGION_END;
    report(latencies, requests, seconds);
    return 0;
}
