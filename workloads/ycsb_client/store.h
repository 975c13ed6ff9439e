/* What YCSB's bindings send to a store, and where the answer to a request ends. */
#ifndef STORE_H
#define STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* YCSB's CoreWorkload: fieldcount, fieldlength, and what 10 fields with their names are. */
#define FIELDS 10
#define FIELD_BYTES 100
#define MOST_SCANNED 100
#define REQUEST_BYTES 4096

struct request {
    char bytes[REQUEST_BYTES];
    size_t length;
    /* Answers that the store gives to it. */
    int answers;
};

/* A store's dialect. The field's value begins at a random place of a block of letters. */
struct store {
    const char *name;
    void (*insert)(struct request *, uint64_t key, const char *values);
    void (*read)(struct request *, uint64_t key);
    void (*update)(struct request *, uint64_t key, int field, const char *values);
    /* Asks for the names of records from `key` on. NULL: the store cannot scan. */
    void (*scan)(struct request *, uint64_t key, int count);
    /* Asks for a record of a scan's answer; false: there are no more. */
    bool (*scanned)(struct request *, const char *answer, int place);
    /* Asks for the number of records, of a store that reads them from a file. NULL: the client inserts them. */
    void (*count)(struct request *);
    /* Length of the first whole answer; 0: more is to come, -1: the store refused. */
    long (*answer)(const char *bytes, size_t length);
};

extern const struct store redis, memcached;

/* "user" and the hash of the record's number, as YCSB's hashed insert order has it. */
void name_of(char *name, uint64_t key);

#endif
