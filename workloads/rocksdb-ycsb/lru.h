/* Records by name, and the values of those used last, as many as fit into `most` bytes.
 *
 * KeyDB's `maxmemory` with `allkeys-lru`. A name stays when its value leaves, as in KeyDB's StorageCache. KeyDB
 * samples five records and takes the oldest of them; here the list of all records by use is exact. */
#ifndef LRU_H
#define LRU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct record {
    char *name;
    /* NULL: the value is not in memory. */
    void *value;
    size_t bytes;
    /* In the list of its bucket, and in the list of records with a value by their last use. */
    struct record *next, *older, *newer;
    /* The value has to be written. */
    bool changed;
};

struct lru {
    struct record **buckets, *newest, *oldest;
    uint64_t count, mask;
    size_t bytes, most;
    void (*give_back)(void *value);
};

static inline struct lru lru_of(uint64_t records, size_t most, void (*give_back)(void *)) {
    uint64_t buckets = 1;
    while (buckets < records)
        buckets *= 2;
    return (struct lru){.buckets = calloc(buckets, sizeof(struct record *)),
                        .mask = buckets - 1,
                        .most = most,
                        .give_back = give_back};
}

/* FNV-1a: Redis takes SipHash, whose key is random. */
static inline struct record **bucket_of(struct lru *lru, const char *name, size_t length) {
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t place = 0; place < length; place++)
        hash = (hash ^ (unsigned char)name[place]) * 1099511628211ULL;
    return &lru->buckets[(hash ^ (hash >> 32)) & lru->mask];
}

static inline struct record *lru_find(struct lru *lru, const char *name, size_t length) {
    struct record *record = *bucket_of(lru, name, length);
    while (record != NULL && (strncmp(record->name, name, length) != 0 || record->name[length] != 0))
        record = record->next;
    return record;
}

/* Adds a record that has no value yet. */
static inline struct record *lru_add(struct lru *lru, const char *name, size_t length) {
    struct record *record = calloc(1, sizeof *record), **bucket = bucket_of(lru, name, length);
    record->name = strndup(name, length);
    record->next = *bucket;
    lru->count++;
    return *bucket = record;
}

static inline void lru_leave(struct lru *lru, struct record *record) {
    *(record->newer != NULL ? &record->newer->older : &lru->newest) = record->older;
    *(record->older != NULL ? &record->older->newer : &lru->oldest) = record->newer;
    record->older = record->newer = NULL;
}

static inline void lru_enter(struct lru *lru, struct record *record) {
    record->older = lru->newest;
    *(lru->newest != NULL ? &lru->newest->newer : &lru->oldest) = record;
    lru->newest = record;
}

/* The record, whose value is in memory, is used. */
static inline void lru_use(struct lru *lru, struct record *record) {
    if (lru->newest == record)
        return;
    lru_leave(lru, record);
    lru_enter(lru, record);
}

/* Takes the values of the oldest records out of memory, until the rest fits. A changed one is written first, by
 * its owner, and stays till then. */
static inline void lru_evict(struct lru *lru) {
    struct record *record = lru->oldest;
    while (lru->bytes > lru->most && record != NULL && record != lru->newest) {
        struct record *newer = record->newer;
        if (!record->changed) {
            lru_leave(lru, record);
            lru->give_back(record->value);
            lru->bytes -= record->bytes;
            record->value = NULL;
        }
        record = newer;
    }
}

/* The record's value comes into memory. */
static inline void lru_hold(struct lru *lru, struct record *record, void *value, size_t bytes) {
    record->value = value;
    record->bytes = bytes;
    lru->bytes += bytes;
    lru_enter(lru, record);
    lru_evict(lru);
}

#endif
