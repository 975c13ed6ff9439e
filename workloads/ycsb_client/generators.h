/* YCSB's generators of keys: uniform, zipfian, scrambled zipfian and latest.
 *
 * Zipfian: J. Gray et al., Quickly generating billion-record synthetic databases, SIGMOD 1994, as YCSB's
 * ZipfianGenerator has it. Constants: YCSB's ScrambledZipfianGenerator. */
#ifndef GENERATORS_H
#define GENERATORS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Exponent of the distribution, and the number of items that YCSB's scrambled generator draws from. */
#define ZIPFIAN_CONSTANT 0.99
#define SCRAMBLED_ITEMS 10000000000ULL
/* Sum of i^-0.99 over SCRAMBLED_ITEMS items. */
#define SCRAMBLED_ZETA 26.46902820178302

/* SplitMix64: G. Steele et al., Fast splittable pseudorandom number generators, OOPSLA 2014. */
struct random {
    uint64_t state;
};

static inline uint64_t next_bits(struct random *random) {
    uint64_t z = random->state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

/* In [0, 1). */
static inline double next_double(struct random *random) { return (double)(next_bits(random) >> 11) * 0x1p-53; }

/* In [0, count). */
static inline uint64_t next_below(struct random *random, uint64_t count) {
    return (uint64_t)(((unsigned __int128)next_bits(random) * count) >> 64);
}

/* YCSB's Utils.fnvhash64: FNV-1a over the eight bytes, without the sign. */
static inline uint64_t fnv_hash(uint64_t value) {
    uint64_t hash = 0xcbf29ce484222325;
    for (int byte = 0; byte < 8; byte++) {
        hash = (hash ^ (value & 0xff)) * 1099511628211ULL;
        value >>= 8;
    }
    int64_t of_sign = (int64_t)hash;
    return of_sign < 0 ? -hash : hash;
}

/* Sum of i^-0.99 for i in (from, to], which zeta(0, from) is added to. */
static inline double zeta(uint64_t from, uint64_t to, double already) {
    for (uint64_t i = from + 1; i <= to; i++)
        already += pow((double)i, -ZIPFIAN_CONSTANT);
    return already;
}

struct zipfian {
    uint64_t items;
    double zeta, eta;
};

static inline struct zipfian zipfian_of(uint64_t items, double zeta_of_items) {
    double zeta_of_two = 1 + pow(0.5, ZIPFIAN_CONSTANT);
    double eta = (1 - pow(2.0 / (double)items, 1 - ZIPFIAN_CONSTANT)) / (1 - zeta_of_two / zeta_of_items);
    return (struct zipfian){items, zeta_of_items, eta};
}

/* In [0, items), the lowest most often. */
static inline uint64_t next_zipfian(const struct zipfian *zipfian, struct random *random) {
    double u = next_double(random), scaled = u * zipfian->zeta;
    if (scaled < 1)
        return 0;
    if (scaled < 1 + pow(0.5, ZIPFIAN_CONSTANT))
        return 1;
    double alpha = 1 / (1 - ZIPFIAN_CONSTANT);
    return (uint64_t)((double)zipfian->items * pow(zipfian->eta * u - zipfian->eta + 1, alpha));
}

enum distribution { UNIFORM, ZIPFIAN, LATEST };

struct keys {
    enum distribution distribution;
    struct random random;
    /* Records that are there, and of the scrambled generator also those that are expected. */
    uint64_t count, expected;
    struct zipfian zipfian;
};

/* A law by its name: uniform, zipfian, latest, or ycsb for the workload's own. `NAME:ITEMS` is a scrambled law that
 * draws from so many items, 0 for YCSB's number. */
struct law {
    enum distribution distribution;
    uint64_t items;
};

/* False: there is no law of this name. */
static inline bool law_of(struct law *law, const char *name, char workload) {
    static const char *names[] = {"uniform", "zipfian", "latest", "ycsb"};
    const char *colon = strchr(name, ':');
    size_t length = colon != NULL ? (size_t)(colon - name) : strlen(name);
    law->items = colon != NULL ? strtoull(colon + 1, NULL, 10) : 0;
    for (int place = 0; place < 4; place++)
        if (strlen(names[place]) == length && strncmp(name, names[place], length) == 0) {
            enum distribution own = workload == 'd' ? LATEST : ZIPFIAN;
            law->distribution = place == 3 ? own : (enum distribution)place;
            return true;
        }
    return false;
}

static inline struct keys keys_of(struct law law, uint64_t count, uint64_t inserts, uint64_t seed) {
    enum distribution distribution = law.distribution;
    struct keys keys = {.distribution = distribution, .random = {seed}, .count = count, .expected = count};
    if (distribution == ZIPFIAN) {
        /* CoreWorkload: twice as many as the inserts that are asked for. */
        keys.expected += 2 * inserts;
        if (law.items == 0)
            keys.zipfian = zipfian_of(SCRAMBLED_ITEMS, SCRAMBLED_ZETA);
        else
            keys.zipfian = zipfian_of(law.items, zeta(0, law.items, 0));
    } else if (distribution == LATEST) {
        keys.zipfian = zipfian_of(count, zeta(0, count, 0));
    }
    return keys;
}

/* The next record to be asked for. */
static inline uint64_t next_key(struct keys *keys) {
    if (keys->distribution == UNIFORM)
        return next_below(&keys->random, keys->count);
    if (keys->distribution == LATEST)
        return keys->count - 1 - next_zipfian(&keys->zipfian, &keys->random);
    uint64_t key;
    do
        key = fnv_hash(next_zipfian(&keys->zipfian, &keys->random)) % keys->expected;
    while (key >= keys->count);
    return key;
}

/* A record has been added. */
static inline void key_added(struct keys *keys) {
    keys->count++;
    if (keys->distribution == LATEST)
        keys->zipfian = zipfian_of(keys->count, zeta(keys->count - 1, keys->count, keys->zipfian.zeta));
}

#endif
