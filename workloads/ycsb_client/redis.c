/* YCSB's binding to Redis: a hash a record, and a sorted set of all records for scans. */
#include "generators.h"
#include "store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void name_of(char *name, uint64_t key) { sprintf(name, "user%" PRIu64, fnv_hash(key)); }

static void word(struct request *request, const char *bytes, size_t length) {
    request->length += (size_t)sprintf(request->bytes + request->length, "$%zu\r\n", length);
    memcpy(request->bytes + request->length, bytes, length);
    memcpy(request->bytes + request->length + length, "\r\n", 2);
    request->length += length + 2;
}

static void text(struct request *request, const char *of) { word(request, of, strlen(of)); }

static void command(struct request *request, int words, const char *name) {
    request->answers++;
    request->length += (size_t)sprintf(request->bytes + request->length, "*%d\r\n", words);
    text(request, name);
}

static void field_of(struct request *request, int field, const char *values) {
    char name[16];
    sprintf(name, "field%d", field);
    text(request, name);
    word(request, values + field, FIELD_BYTES);
}

/* Java's String.hashCode, which YCSB takes as the score. */
static void score_of(char *score, const char *name) {
    int32_t hash = 0;
    for (; *name; name++)
        hash = (int32_t)(31U * (uint32_t)hash + (unsigned char)*name);
    sprintf(score, "%" PRId32, hash);
}

static void insert(struct request *request, uint64_t key, const char *values) {
    char name[32], score[16];
    name_of(name, key);
    command(request, 2 + 2 * FIELDS, "HMSET");
    text(request, name);
    for (int field = 0; field < FIELDS; field++)
        field_of(request, field, values);
    score_of(score, name);
    command(request, 4, "ZADD");
    text(request, "_indices");
    text(request, score);
    text(request, name);
}

static void read_all(struct request *request, uint64_t key) {
    char name[32];
    name_of(name, key);
    command(request, 2, "HGETALL");
    text(request, name);
}

static void update(struct request *request, uint64_t key, int field, const char *values) {
    char name[32];
    name_of(name, key);
    command(request, 4, "HMSET");
    text(request, name);
    field_of(request, field, values);
}

static void scan(struct request *request, uint64_t key, int count) {
    char name[32], score[16], most[16];
    name_of(name, key);
    score_of(score, name);
    sprintf(most, "%d", count);
    command(request, 7, "ZRANGEBYSCORE");
    text(request, "_indices");
    text(request, score);
    text(request, "+inf");
    text(request, "LIMIT");
    text(request, "0");
    text(request, most);
}

static void count(struct request *request) {
    command(request, 2, "ZCARD");
    text(request, "_indices");
}

/* RESP2: an array of names, each with its length on a line of its own. */
static bool scanned(struct request *request, const char *answer, int place) {
    if (place >= atoi(answer + 1))
        return false;
    const char *at = strchr(answer, '\n') + 1;
    long length = strtol(at + 1, NULL, 10);
    for (; place > 0; place--) {
        at = strchr(at, '\n') + 1 + length + 2;
        length = strtol(at + 1, NULL, 10);
    }
    command(request, 2, "HGETALL");
    word(request, strchr(at, '\n') + 1, (size_t)length);
    return true;
}

/* RESP2: a line, and what follows it. No record of these workloads is empty. */
static long answer(const char *bytes, size_t length) {
    const char *end = memchr(bytes, '\n', length);
    if (end == NULL)
        return 0;
    long whole = end + 1 - bytes, number = strtol(bytes + 1, NULL, 10);
    switch (*bytes) {
    case '+':
    case ':':
        return whole;
    case '$':
        if (number < 0)
            return whole;
        whole += number + 2;
        return (size_t)whole <= length ? whole : 0;
    case '*':
        if (number < 1)
            return -1;
        for (long element = 0; element < number; element++) {
            long of_one = answer(bytes + whole, length - (size_t)whole);
            if (of_one <= 0)
                return of_one;
            whole += of_one;
        }
        return whole;
    default:
        return -1;
    }
}

const struct store redis = {"redis", insert, read_all, update, scan, scanned, count, answer};
