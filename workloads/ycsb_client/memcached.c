/* YCSB's binding to memcached: a record is one value, JSON of all fields; an update replaces it. */
#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put(struct request *request, const char *verb, uint64_t key, const char *values, int first, int end) {
    char name[32], value[REQUEST_BYTES];
    size_t length = 0;
    name_of(name, key);
    for (int field = first; field < end; field++) {
        const char *before = field == first ? "{" : ",";
        length += (size_t)sprintf(value + length, "%s\"field%d\":\"", before, field);
        memcpy(value + length, values + field, FIELD_BYTES);
        length += FIELD_BYTES;
        value[length++] = '"';
    }
    value[length++] = '}';
    char *to = request->bytes + request->length;
    size_t head = (size_t)sprintf(to, "%s %s 0 0 %zu\r\n", verb, name, length);
    memcpy(to + head, value, length);
    memcpy(to + head + length, "\r\n", 2);
    request->length += head + length + 2;
    request->answers++;
}

static void insert(struct request *request, uint64_t key, const char *values) {
    put(request, "add", key, values, 0, FIELDS);
}

static void read_all(struct request *request, uint64_t key) {
    char name[32];
    name_of(name, key);
    request->length += (size_t)sprintf(request->bytes + request->length, "get %s\r\n", name);
    request->answers++;
}

/* YCSB replaces the whole value by the fields that it writes: one. */
static void update(struct request *request, uint64_t key, int field, const char *values) {
    put(request, "replace", key, values, field, field + 1);
}

static long answer(const char *bytes, size_t length) {
    const char *end = memchr(bytes, '\n', length);
    if (end == NULL)
        return 0;
    long whole = end + 1 - bytes;
    if (strncmp(bytes, "STORED", 6) == 0)
        return whole;
    if (strncmp(bytes, "VALUE ", 6) != 0)
        return -1;
    const char *last = end - 2;
    while (last > bytes && *last != ' ')
        last--;
    whole += strtol(last, NULL, 10) + 2 + (long)strlen("END\r\n");
    return (size_t)whole <= length ? whole : 0;
}

const struct store memcached = {"memcached", insert, read_all, update, NULL, NULL, NULL, answer};
