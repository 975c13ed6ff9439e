/* A key-value store whose records lie in CXL memory and whose index lies in DRAM: a hybrid store, as Viper is one
 * (Benson, Makait and Rabl, VLDB 2021). The design here is its own.
 *
 *   DRAM:  index, open addressing    [ tag | slot ] [ tag | slot ] ...      made anew from the pages when a store is opened
 *   CXL:   pages of 4 KiB            [ header line: bits of the slots in use ][ slot | slot | ... ]
 *   slot:                            [ sequence number | key | value ]
 *
 * Writes are in an order that a loss of power does not break. A put fills a slot, writes the lines back (clwb, sfence), and
 * then sets the slot's bit, which is one store of 8 bytes. An update puts the new record into another slot. Then it clears
 * the bit of the old one. A delete clears a bit. If two slots hold one key after a crash, the higher sequence number is right.
 *
 *   hybrid_store bench FILE BYTES KEY VALUE RECORDS OPERATIONS     ops/s of insert, get, update and delete, after RECORDS puts
 *   hybrid_store fill FILE BYTES KEY VALUE RECORDS OPERATIONS      the same, but the inserts are these puts
 *   hybrid_store write FILE BYTES KEY VALUE KEYS                   changes keys without end, and prints each change that is safe
 *   hybrid_store check FILE BYTES KEY VALUE                        recovers, and prints each key with its version
 *
 * FILE is /dev/daxX.Y, an ordinary file of BYTES bytes, or - for memory that ends with the program. KEY and VALUE are sizes: 16 and 200, or 100 and 900.
 *
 *   gcc -O2 -o hybrid_store examples/hybrid_store.c
 *   cxlab run --machine dmsim-ssd --cxl device --managed application --detail marker \
 *     -- ./hybrid_store bench /dev/dax0.0 0x10000000 16 200 100000 10000
 */
#include <cpuid.h>
#include <fcntl.h>
#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, LINE = 64, MOST_SLOTS = 63, MOST_KEY = 256, MOST_VALUE = 4096 - LINE - 8 - 8 };
#define MAGIC 0x31306562617473ULL

/* The first line of a page. */
struct header {
    uint64_t magic;
    uint64_t in_use; /* bit n: slot n holds a record */
    uint64_t key_bytes, value_bytes;
};

struct entry {
    uint64_t tag;  /* hash of the key; 0: never used */
    uint64_t slot; /* number of the slot + 1; 0: no key, or a deleted one */
};

struct store {
    char *area;
    uint64_t pages, slots_per_page, slot_bytes, key_bytes, value_bytes;
    struct entry *index;
    uint64_t mask, entries;
    uint32_t *free_slots; /* a stack */
    uint64_t free_count, sequence;
};

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void refuse(const char *why) {
    fprintf(stderr, "hybrid_store: %s\n", why);
    exit(2);
}

/* Writing lines back ------------------------------------------------------------------------------------------------ */

static enum { CLFLUSH, CLFLUSHOPT, CLWB } write_back;

static void choose_write_back(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return;
    write_back = b >> 24 & 1 ? CLWB : b >> 23 & 1 ? CLFLUSHOPT : CLFLUSH;
}

__attribute__((target("clwb,clflushopt"))) static void persist(const void *start, size_t bytes) {
    uintptr_t end = (uintptr_t)start + bytes;
    for (uintptr_t at = (uintptr_t)start & -(uintptr_t)LINE; at < end; at += LINE) {
        if (write_back == CLWB) _mm_clwb((void *)at);
        else if (write_back == CLFLUSHOPT) _mm_clflushopt((void *)at);
        else _mm_clflush((void *)at);
    }
    _mm_sfence();
}

/* Slots ------------------------------------------------------------------------------------------------------------- */

static struct header *header_of(const struct store *store, uint64_t slot) {
    return (struct header *)(store->area + slot / store->slots_per_page * PAGE);
}

static char *record(const struct store *store, uint64_t slot) {
    return (char *)header_of(store, slot) + LINE + slot % store->slots_per_page * store->slot_bytes;
}

static uint64_t sequence_of(const struct store *store, uint64_t slot) {
    uint64_t number;
    memcpy(&number, record(store, slot), 8);
    return number;
}

static char *key_of(const struct store *store, uint64_t slot) { return record(store, slot) + 8; }
static char *value_of(const struct store *store, uint64_t slot) { return key_of(store, slot) + store->key_bytes; }

/* Whether a store of this shape has used the page. */
static bool is_prepared(const struct store *store, const struct header *header) {
    return header->magic == MAGIC && header->key_bytes == store->key_bytes && header->value_bytes == store->value_bytes;
}

/* A page of another shape, or a new one, becomes an empty one. */
static void prepare(const struct store *store, struct header *header) {
    *header = (struct header){0, 0, store->key_bytes, store->value_bytes};
    persist(header, sizeof *header);
    header->magic = MAGIC;
    persist(&header->magic, 8);
}

/* One store of 8 bytes: the moment at which a record is there, or no longer. */
static void set_in_use(const struct store *store, uint64_t slot, bool used) {
    struct header *header = header_of(store, slot);
    const uint64_t bit = 1ULL << slot % store->slots_per_page;
    const uint64_t now = used ? header->in_use | bit : header->in_use & ~bit;
    __atomic_store_n(&header->in_use, now, __ATOMIC_RELEASE);
    persist(&header->in_use, 8);
}

/* The index --------------------------------------------------------------------------------------------------------- */

/* FNV-1a, 64 bits, a byte at a time, with a last mix (Fowler, Noll and Vo; Murmur3's finalizer). */
static uint64_t hash(const char *key, uint64_t bytes) {
    uint64_t hash = 0xcbf29ce484222325ULL;
    for (uint64_t i = 0; i < bytes; i++) hash = (hash ^ (unsigned char)key[i]) * 0x100000001b3ULL;
    hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdULL;
    return (hash ^ hash >> 33) | 1;
}

/* The entry of the key, or one without a slot where it would be. */
static struct entry *find(const struct store *store, const char *key) {
    const uint64_t tag = hash(key, store->key_bytes);
    struct entry *deleted = NULL;
    for (uint64_t at = tag >> 1 & store->mask;; at = (at + 1) & store->mask) {
        struct entry *entry = &store->index[at];
        if (entry->tag == 0) return deleted ? deleted : entry;
        if (entry->slot == 0) {
            if (!deleted) deleted = entry;
        } else if (entry->tag == tag && memcmp(key_of(store, entry->slot - 1), key, store->key_bytes) == 0) {
            return entry;
        }
    }
}

static void insert(struct store *store, struct entry *free_entry, const char *key, uint64_t slot) {
    if (free_entry->tag == 0 && ++store->entries > store->mask / 4 * 3) refuse("the index is full");
    *free_entry = (struct entry){hash(key, store->key_bytes), slot + 1};
}

static void release(struct store *store, uint64_t slot) {
    set_in_use(store, slot, false);
    store->free_slots[store->free_count++] = (uint32_t)slot;
}

/* Requests ---------------------------------------------------------------------------------------------------------- */

/* Inserts the record, or replaces what the key had; it is safe when this returns. A new page is written to by its first put. */
static void put(struct store *store, const char *key, const char *value) {
    if (store->free_count == 0) refuse("no slot is free: give more BYTES");
    const uint64_t slot = store->free_slots[--store->free_count], sequence = ++store->sequence;
    struct header *header = header_of(store, slot);
    if (!is_prepared(store, header)) prepare(store, header);
    memcpy(record(store, slot), &sequence, 8);
    memcpy(key_of(store, slot), key, store->key_bytes);
    memcpy(value_of(store, slot), value, store->value_bytes);
    persist(record(store, slot), store->slot_bytes);
    set_in_use(store, slot, true);
    struct entry *entry = find(store, key);
    if (entry->slot == 0) {
        insert(store, entry, key, slot);
    } else {
        const uint64_t old = entry->slot - 1;
        entry->slot = slot + 1;
        release(store, old);
    }
}

static const char *get(const struct store *store, const char *key) {
    const struct entry *entry = find(store, key);
    return entry->slot == 0 ? NULL : value_of(store, entry->slot - 1);
}

/* Whether the key was there. */
static bool delete(struct store *store, const char *key) {
    struct entry *entry = find(store, key);
    if (entry->slot == 0) return false;
    const uint64_t slot = entry->slot - 1;
    entry->slot = 0;
    release(store, slot);
    return true;
}

/* Opening ----------------------------------------------------------------------------------------------------------- */

static char *map(const char *path, uint64_t bytes) {
    const bool is_file = strcmp(path, "-") != 0;
    const int file = is_file ? open(path, O_RDWR) : -1;
    if (is_file && file < 0) fail(path);
    const int kind = is_file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    char *area = mmap(NULL, bytes, PROT_READ | PROT_WRITE, kind, file, 0);
    if (area == MAP_FAILED) fail("mmap");
    if (is_file) close(file);
    return area;
}

/* A record that is in use: into the index. Of two records of a key the newer one stays. */
static void recover(struct store *store, uint64_t slot) {
    const uint64_t sequence = sequence_of(store, slot);
    if (sequence > store->sequence) store->sequence = sequence;
    struct entry *entry = find(store, key_of(store, slot));
    if (entry->slot == 0) {
        insert(store, entry, key_of(store, slot), slot);
        return;
    }
    uint64_t older = slot;
    if (sequence_of(store, entry->slot - 1) < sequence) {
        older = entry->slot - 1;
        entry->slot = slot + 1;
    }
    release(store, older);
}

static struct store open_store(const char *path, uint64_t bytes, uint64_t key_bytes, uint64_t value_bytes) {
    struct store store = {.key_bytes = key_bytes, .value_bytes = value_bytes};
    store.slot_bytes = (8 + key_bytes + value_bytes + 7) / 8 * 8;
    store.slots_per_page = (PAGE - LINE) / store.slot_bytes;
    if (store.slots_per_page > MOST_SLOTS) store.slots_per_page = MOST_SLOTS;
    store.pages = bytes / PAGE;
    const uint64_t slots = store.pages * store.slots_per_page;
    if (slots == 0 || slots > UINT32_MAX) refuse("BYTES; valid: 4096 to some TB");
    uint64_t size = 1024;
    while (size < 2 * slots) size *= 2;
    store.mask = size - 1;
    store.index = calloc(size, sizeof *store.index);
    store.free_slots = calloc(slots, sizeof *store.free_slots);
    if (!store.index || !store.free_slots) fail("calloc");
    store.area = map(path, bytes);
    for (uint64_t page = store.pages; page-- > 0;) {
        const struct header *header = (const struct header *)(store.area + page * PAGE);
        const uint64_t in_use = is_prepared(&store, header) ? header->in_use : 0;
        for (uint64_t nth = store.slots_per_page; nth-- > 0;) {
            const uint64_t slot = page * store.slots_per_page + nth;
            if (in_use >> nth & 1) recover(&store, slot);
            else store.free_slots[store.free_count++] = (uint32_t)slot;
        }
    }
    return store;
}

/* Records that can be checked ---------------------------------------------------------------------------------------- */

static void make_key(char *key, uint64_t bytes, uint64_t number) {
    memset(key, 'k', bytes);
    memcpy(key, &number, 8);
}

/* The version, then bytes that follow from it and the key. */
static void make_value(char *value, uint64_t bytes, uint64_t number, uint64_t version) {
    memset(value, (int)((number * 31 + version * 7) & 0xff), bytes);
    memcpy(value, &version, 8);
}

static uint64_t version_of(const char *value) {
    uint64_t version;
    memcpy(&version, value, 8);
    return version;
}

static bool is_whole(const struct store *store, uint64_t number, const char *value) {
    char wanted[MOST_VALUE];
    make_value(wanted, store->value_bytes, number, version_of(value));
    return memcmp(wanted, value, store->value_bytes) == 0;
}

/* xorshift64* (Vigna, 2016). */
static uint64_t draw(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1dULL;
}

/* Commands ---------------------------------------------------------------------------------------------------------- */

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

enum phase { INSERT, GET, UPDATE, DELETE };

/* Inserts take new keys, deletes take keys evenly spread and each once, the others any. */
static uint64_t key_number(enum phase phase, uint64_t i, uint64_t drawn, uint64_t records, uint64_t operations) {
    if (phase == INSERT) return records + i;
    return phase == DELETE ? i * (records / operations) : drawn % records;
}

/* Operations of one kind on keys at random; inserts take new keys. Returns how many a second. */
static double run(struct store *store, enum phase phase, uint64_t records, uint64_t operations) {
    char key[MOST_KEY], value[MOST_VALUE];
    uint64_t random = 88172645463325252ULL + phase;
    const double begun = seconds();
    for (uint64_t i = 0; i < operations; i++) {
        const uint64_t number = key_number(phase, i, draw(&random), records, operations);
        make_key(key, store->key_bytes, number);
        if (phase == GET) {
            const char *found = get(store, key);
            if (!found) refuse("a record is lost");
            memcpy(value, found, store->value_bytes);
            if (version_of(value) != 1) refuse("a record has a version that nobody wrote");
        } else if (phase == DELETE) {
            if (!delete(store, key)) refuse("a record that should be deleted is lost");
        } else {
            make_value(value, store->value_bytes, number, phase == UPDATE ? 2 : 1);
            put(store, key, value);
        }
    }
    return (double)operations / (seconds() - begun);
}

/* Records are put before the timed phases, or are the inserts themselves. */
static int bench(struct store *store, uint64_t records, uint64_t operations, bool fill) {
    if (operations > records) refuse("OPERATIONS; valid: at most RECORDS");
    if (!fill) run(store, INSERT, 0, records);
    /* The markers of the region of detail (crates/access/src/marker.rs): what is timed is simulated in detail. */
    double speeds[4];
    __asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00, 1, 0x00, 0xc5, 0x1a" ::: "memory");
    speeds[INSERT] = fill ? run(store, INSERT, 0, records) : run(store, INSERT, records, operations);
    for (enum phase phase = GET; phase <= DELETE; phase++) speeds[phase] = run(store, phase, records, operations);
    __asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00, 2, 0x00, 0xc5, 0x1a" ::: "memory");
    printf("%.1f %.1f %.1f %.1f\n", speeds[INSERT], speeds[GET], speeds[UPDATE], speeds[DELETE]);
    return 0;
}

/* Changes keys until it is killed: a line for each change, after it is safe. Version 0 is a deleted key. */
_Noreturn static void write_on(struct store *store, uint64_t keys) {
    char key[MOST_KEY], value[MOST_VALUE];
    uint64_t random = 88172645463325252ULL;
    for (uint64_t version = 1;; version++) {
        const uint64_t number = draw(&random) % keys, kind = draw(&random) % 4;
        make_key(key, store->key_bytes, number);
        printf("begin %lu %lu\n", number, kind == 0 ? 0 : version);
        fflush(stdout);
        if (kind == 0) {
            delete(store, key);
        } else {
            make_value(value, store->value_bytes, number, version);
            put(store, key, value);
        }
        printf("safe %lu %lu\n", number, kind == 0 ? 0 : version);
        fflush(stdout);
    }
}

static int check(const struct store *store) {
    for (uint64_t at = 0; at <= store->mask; at++) {
        if (store->index[at].slot == 0) continue;
        const uint64_t slot = store->index[at].slot - 1;
        uint64_t number;
        memcpy(&number, key_of(store, slot), 8);
        if (!is_whole(store, number, value_of(store, slot))) refuse("a record is torn");
        printf("%lu %lu\n", number, version_of(value_of(store, slot)));
    }
    return 0;
}

static uint64_t number(const char *text) {
    char *end;
    const uint64_t value = strtoull(text, &end, 0);
    if (*end != '\0' || end == text) refuse("a size is not a number");
    return value;
}

int main(int argc, char **argv) {
    const char *usage = "usage: hybrid_store bench|fill|write|check FILE BYTES KEY VALUE [RECORDS OPERATIONS | KEYS]";
    if (argc < 6) refuse(usage);
    choose_write_back();
    const uint64_t key_bytes = number(argv[4]), value_bytes = number(argv[5]);
    if (key_bytes < 8 || key_bytes > MOST_KEY || value_bytes < 8 || key_bytes + value_bytes > PAGE - LINE - 16)
        refuse("KEY and VALUE; valid: 8 to 256, and 8 to what a page of 4096 has room for");
    struct store store = open_store(argv[2], number(argv[3]), key_bytes, value_bytes);
    const bool fill = strcmp(argv[1], "fill") == 0;
    if ((fill || strcmp(argv[1], "bench") == 0) && argc == 8) return bench(&store, number(argv[6]), number(argv[7]), fill);
    if (strcmp(argv[1], "write") == 0 && argc == 7) write_on(&store, number(argv[6]));
    if (strcmp(argv[1], "check") == 0 && argc == 6) return check(&store);
    refuse(usage);
}
