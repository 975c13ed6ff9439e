/* A key-value store in the design of KeyDB FLASH: hashes in memory up to `maxmemory`, all of them in RocksDB.
 *
 *   program serve PORT FOLDER WORKLOAD DISTRIBUTION RECORDS SPILLED FLASH SEED
 *   program misses DISTRIBUTION RECORDS SPILLED DRAWS SEED     prints the share of draws that miss, for tests
 *
 * SPILLED per cent of the records' bytes are more than what memory may hold. FLASH 0: no RocksDB after the load.
 * One thread runs an event loop, as each of KeyDB's does. A value that is not in memory is read from RocksDB, and the
 * loop waits for it (redisDbPersistentData::ensure of KeyDB 6). What a turn of the loop has changed is written as one batch
 * before the turn's answers leave (processChanges), to a log that is not synchronised (RocksDBStorageProvider).
 * Settings of RocksDB are those of KeyDB's rocksdbfactory.cpp: blocks of 16 KiB, no compression, no checksum. Two differ.
 * Reads are direct, and there is no cache of blocks. So a value that has left memory is on the drive. */
#include "../ycsb_client/generators.h"
#include "../ycsb_client/store.h"
#include "lru.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <rocksdb/c.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#define MOST_CLIENTS 128
#define INPUT_BYTES 16384
#define MOST_WORDS (2 + 2 * FIELDS)
#define BLOCK_BYTES 16384
/* An iterator of the load reads ahead. */
#define AHEAD_BYTES (2 << 20)
/* Draws for each record, after which the list of records by use is what the law makes of it. */
#define DRAWS_OF_RECORD 10
/* RocksDB's kNoChecksum and kDataBlockBinaryAndHash. */
#define NO_CHECKSUM 0
#define BINARY_AND_HASH 1

struct text {
    const char *bytes;
    size_t length;
};

/* A hash: fields with their names, each a string of its own, as in Redis. */
struct field {
    char *name, *bytes;
    uint32_t length;
};
struct hash {
    struct field fields[FIELDS];
    int count;
};

struct client {
    int socket;
    char input[INPUT_BYTES];
    size_t taken;
    char *answer;
    size_t length, room;
};

static struct lru lru;
static struct client *clients[MOST_CLIENTS];
static rocksdb_t *flash;
static rocksdb_readoptions_t *read_options;
static rocksdb_writeoptions_t *write_options;
/* Records that this turn of the loop has changed. */
static struct record *changed[MOST_CLIENTS * 8];
static int count_of_changed;
/* Names with their scores: the client asks how many there are, and nothing else. */
static uint64_t indexed;
static uint64_t lookups, misses;
static volatile sig_atomic_t ended;

static void fail(const char *form, ...) {
    va_list values;
    va_start(values, form);
    fputs("flash: ", stderr);
    vfprintf(stderr, form, values);
    fputc('\n', stderr);
    exit(1);
}

static void check(char *error) {
    if (error != NULL)
        fail("RocksDB: %s", error);
}

static void give_back(void *value) {
    struct hash *hash = value;
    for (int place = 0; place < hash->count; place++) {
        free(hash->fields[place].name);
        free(hash->fields[place].bytes);
    }
    free(hash);
}

static void set_field(struct hash *hash, struct text name, struct text value) {
    int place = 0;
    while (place < hash->count && (strncmp(hash->fields[place].name, name.bytes, name.length) != 0 ||
                                   hash->fields[place].name[name.length] != 0))
        place++;
    if (place == FIELDS)
        fail("a record has more than %d fields", FIELDS);
    struct field *field = &hash->fields[place];
    if (place == hash->count) {
        hash->count++;
        field->name = strndup(name.bytes, name.length);
    }
    if (field->bytes == NULL || field->length != value.length)
        field->bytes = realloc(field->bytes, value.length);
    memcpy(field->bytes, value.bytes, value.length);
    field->length = (uint32_t)value.length;
}

/* A record in RocksDB: its fields one after the other, each with two lengths of 16 bits before it. data.py writes it too. */
static size_t serialized(const struct hash *hash, char *to) {
    char *at = to;
    for (int place = 0; place < hash->count; place++) {
        const struct field *field = &hash->fields[place];
        uint16_t lengths[2] = {(uint16_t)strlen(field->name), (uint16_t)field->length};
        memcpy(at, lengths, sizeof lengths);
        memcpy(at + sizeof lengths, field->name, lengths[0]);
        memcpy(at + sizeof lengths + lengths[0], field->bytes, lengths[1]);
        at += sizeof lengths + lengths[0] + lengths[1];
    }
    return (size_t)(at - to);
}

static struct hash *hash_of(const char *bytes, size_t length) {
    struct hash *hash = calloc(1, sizeof *hash);
    for (const char *at = bytes; at < bytes + length;) {
        uint16_t lengths[2];
        memcpy(lengths, at, sizeof lengths);
        at += sizeof lengths;
        set_field(hash, (struct text){at, lengths[0]}, (struct text){at + lengths[0], lengths[1]});
        at += lengths[0] + lengths[1];
    }
    return hash;
}

static void open_flash(const char *folder) {
    rocksdb_options_t *options = rocksdb_options_create();
    rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
    rocksdb_block_based_options_set_block_size(table, BLOCK_BYTES);
    rocksdb_block_based_options_set_checksum(table, NO_CHECKSUM);
    rocksdb_block_based_options_set_format_version(table, 4);
    rocksdb_block_based_options_set_data_block_index_type(table, BINARY_AND_HASH);
    rocksdb_block_based_options_set_no_block_cache(table, 1);
    rocksdb_options_set_block_based_table_factory(options, table);
    rocksdb_options_set_compression(options, rocksdb_no_compression);
    rocksdb_options_set_enable_pipelined_write(options, 1);
    rocksdb_options_set_max_background_compactions(options, 4);
    rocksdb_options_set_max_background_flushes(options, 2);
    rocksdb_options_set_bytes_per_sync(options, 1 << 20);
    rocksdb_options_set_level_compaction_dynamic_level_bytes(options, 1);
    rocksdb_options_set_use_direct_reads(options, 1);
    char *error = NULL;
    flash = rocksdb_open(options, folder, &error);
    check(error);
    read_options = rocksdb_readoptions_create();
    write_options = rocksdb_writeoptions_create();
}

/* Writes what this turn has changed. */
static void commit(void) {
    if (count_of_changed == 0)
        return;
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    for (int place = 0; place < count_of_changed; place++) {
        struct record *record = changed[place];
        char bytes[REQUEST_BYTES];
        size_t length = serialized(record->value, bytes);
        rocksdb_writebatch_put(batch, record->name, strlen(record->name), bytes, length);
        record->changed = false;
    }
    count_of_changed = 0;
    char *error = NULL;
    rocksdb_write(flash, write_options, batch, &error);
    check(error);
    rocksdb_writebatch_destroy(batch);
    lru_evict(&lru);
}

/* The record with its value in memory; NULL: there is none. */
static struct record *ensure(struct text name) {
    struct record *record = lru_find(&lru, name.bytes, name.length);
    lookups++;
    if (record == NULL)
        return NULL;
    if (record->value != NULL) {
        lru_use(&lru, record);
        return record;
    }
    misses++;
    char *error = NULL;
    size_t length;
    char *bytes = rocksdb_get(flash, read_options, name.bytes, name.length, &length, &error);
    check(error);
    if (bytes == NULL)
        fail("%s is in no file", record->name);
    lru_hold(&lru, record, hash_of(bytes, length), length);
    free(bytes);
    return record;
}

static void reply(struct client *client, const char *bytes, size_t length) {
    if (client->length + length > client->room) {
        client->room = 2 * (client->length + length);
        client->answer = realloc(client->answer, client->room);
    }
    memcpy(client->answer + client->length, bytes, length);
    client->length += length;
}

static void reply_head(struct client *client, char kind, uint64_t number) {
    char line[32];
    reply(client, line, (size_t)sprintf(line, "%c%llu\r\n", kind, (unsigned long long)number));
}

static void reply_text(struct client *client, const char *bytes, size_t length) {
    reply_head(client, '$', length);
    reply(client, bytes, length);
    reply(client, "\r\n", 2);
}

static void get_all(struct client *client, struct text name) {
    struct record *record = ensure(name);
    const struct hash *hash = record == NULL ? NULL : record->value;
    reply_head(client, '*', hash == NULL ? 0 : 2 * (uint64_t)hash->count);
    for (int place = 0; hash != NULL && place < hash->count; place++) {
        const struct field *field = &hash->fields[place];
        reply_text(client, field->name, strlen(field->name));
        reply_text(client, field->bytes, field->length);
    }
}

static void set_fields(struct client *client, const struct text *words, int count) {
    struct record *record = ensure(words[1]);
    if (record == NULL) {
        record = lru_add(&lru, words[1].bytes, words[1].length);
        size_t bytes = 0;
        for (int word = 2; word < count; word++)
            bytes += words[word].length + sizeof(uint16_t);
        lru_hold(&lru, record, calloc(1, sizeof(struct hash)), bytes);
    }
    for (int word = 2; word < count; word += 2)
        set_field(record->value, words[word], words[word + 1]);
    if (flash != NULL && !record->changed) {
        record->changed = true;
        changed[count_of_changed++] = record;
        if (count_of_changed == sizeof changed / sizeof *changed)
            commit();
    }
    reply(client, "+OK\r\n", 5);
}

static bool is(struct text word, const char *name) {
    return word.length == strlen(name) && strncasecmp(word.bytes, name, word.length) == 0;
}

static void execute(struct client *client, const struct text *words, int count) {
    if (is(words[0], "HGETALL") && count == 2) {
        get_all(client, words[1]);
    } else if (is(words[0], "HMSET") && count >= 4 && count % 2 == 0) {
        set_fields(client, words, count);
    } else if (is(words[0], "ZADD") && count == 4) {
        indexed++;
        reply(client, ":1\r\n", 4);
    } else if (is(words[0], "ZCARD") && count == 2) {
        reply_head(client, ':', indexed);
    } else {
        const char *error = "-ERR this store knows HGETALL, HMSET, ZADD and ZCARD\r\n";
        reply(client, error, strlen(error));
    }
}

/* RESP2: an array of texts. Returns the bytes of the first whole command; 0: more is to come. */
static size_t command_of(const char *bytes, const char *end, struct text *words, int *count) {
    const char *at = bytes;
    long left = 1;
    *count = 0;
    for (bool head = true; left > 0; head = false) {
        const char *line = at, *line_end = memchr(at, '\n', (size_t)(end - at));
        if (line_end == NULL)
            return 0;
        long number = strtol(line + 1, NULL, 10);
        at = line_end + 1;
        if (head) {
            if (*line != '*' || number < 1 || number > MOST_WORDS)
                fail("no command of this store: %.40s", line);
            left = number;
        } else {
            if (*line != '$' || number < 0)
                fail("no word: %.40s", line);
            if (end - at < number + 2)
                return 0;
            words[(*count)++] = (struct text){at, (size_t)number};
            at += number + 2;
            left--;
        }
    }
    return (size_t)(at - bytes);
}

/* Reads once; executes all whole commands. Returns false when the client has gone. */
static bool serve_client(struct client *client) {
    ssize_t got = read(client->socket, client->input + client->taken, sizeof client->input - 1 - client->taken);
    if (got <= 0)
        return false;
    client->taken += (size_t)got;
    client->input[client->taken] = 0;
    struct text words[MOST_WORDS];
    size_t done = 0, length;
    int count;
    while (done < client->taken &&
           (length = command_of(client->input + done, client->input + client->taken, words, &count)) > 0) {
        execute(client, words, count);
        done += length;
    }
    client->taken -= done;
    memmove(client->input, client->input + done, client->taken);
    if (client->taken == sizeof client->input - 1)
        fail("a command is longer than %zu bytes", sizeof client->input - 1);
    return true;
}

static void send_answers(struct client *client) {
    for (size_t sent = 0; sent < client->length;) {
        ssize_t now_sent = write(client->socket, client->answer + sent, client->length - sent);
        if (now_sent < 0)
            fail("write: %s", strerror(errno));
        sent += (size_t)now_sent;
    }
    client->length = 0;
}

static int listen_at(int port) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int made = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(made, (struct sockaddr *)&at, sizeof at) != 0 || listen(made, MOST_CLIENTS) != 0)
        fail("port %d: %s", port, strerror(errno));
    return made;
}

static void accept_client(int listening, int poll) {
    int place = 0, yes = 1, made = accept(listening, NULL, NULL);
    while (place < MOST_CLIENTS && clients[place] != NULL)
        place++;
    if (made < 0 || place == MOST_CLIENTS)
        fail("no more than %d clients", MOST_CLIENTS);
    setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    clients[place] = calloc(1, sizeof(struct client));
    clients[place]->socket = made;
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)place};
    epoll_ctl(poll, EPOLL_CTL_ADD, made, &event);
}

/* A turn serves each client that has sent something, writes what has changed, and answers. */
static void loop(int listening) {
    int poll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = MOST_CLIENTS}, events[MOST_CLIENTS];
    epoll_ctl(poll, EPOLL_CTL_ADD, listening, &event);
    while (!ended) {
        int found = epoll_wait(poll, events, MOST_CLIENTS, -1);
        for (int place = 0; place < found; place++) {
            uint32_t from = events[place].data.u32;
            if (from == MOST_CLIENTS) {
                accept_client(listening, poll);
            } else if (!serve_client(clients[from])) {
                close(clients[from]->socket);
                free(clients[from]->answer);
                free(clients[from]);
                clients[from] = NULL;
            }
        }
        commit();
        for (int place = 0; place < found; place++) {
            uint32_t from = events[place].data.u32;
            if (from < MOST_CLIENTS && clients[from] != NULL)
                send_answers(clients[from]);
        }
    }
}

struct use {
    uint64_t at, key;
};

static int by_use(const void *left, const void *right) {
    const struct use *one = left, *other = right;
    return one->at != other->at ? (one->at > other->at) - (one->at < other->at)
                                : (one->key > other->key) - (one->key < other->key);
}

/* Records from the one that was used longest ago, after DRAWS_OF_RECORD draws for each of them. */
static struct use *uses_of(struct keys *keys, uint64_t records) {
    struct use *uses = calloc(records, sizeof *uses);
    for (uint64_t key = 0; key < records; key++)
        uses[key] = (struct use){0, key};
    for (uint64_t draw = 1; draw <= DRAWS_OF_RECORD * records; draw++)
        uses[next_key(keys)].at = draw;
    qsort(uses, records, sizeof *uses, by_use);
    return uses;
}

/* Takes all records from RocksDB, and the values of those that were used last into memory. */
static void load(struct use *uses, uint64_t records, int spilled) {
    lru = lru_of(records, SIZE_MAX, give_back);
    uint64_t outside = records * (uint64_t)spilled / 100;
    struct record **in_order = calloc(records, sizeof(struct record *));
    for (uint64_t place = 0; place < records; place++) {
        char name[32];
        name_of(name, uses[place].key);
        in_order[place] = lru_add(&lru, name, strlen(name));
        /* Until the load ends, the mark of a record whose value stays outside. */
        in_order[place]->changed = place < outside;
    }
    rocksdb_readoptions_t *options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_readahead_size(options, AHEAD_BYTES);
    rocksdb_iterator_t *at = rocksdb_create_iterator(flash, options);
    size_t bytes_of_all = 0;
    for (rocksdb_iter_seek_to_first(at); rocksdb_iter_valid(at); rocksdb_iter_next(at)) {
        size_t key_length, length;
        const char *key = rocksdb_iter_key(at, &key_length), *bytes = rocksdb_iter_value(at, &length);
        struct record *record = lru_find(&lru, key, key_length);
        if (record == NULL)
            fail("%.*s is no record of YCSB", (int)key_length, key);
        bytes_of_all += length;
        if (!record->changed)
            lru_hold(&lru, record, hash_of(bytes, length), length);
        record->changed = false;
        indexed++;
    }
    rocksdb_iter_destroy(at);
    for (uint64_t place = outside; place < records; place++)
        lru_use(&lru, in_order[place]);
    free(in_order);
    lru.most = bytes_of_all - bytes_of_all * (size_t)spilled / 100;
    lru_evict(&lru);
}

static void end(int signal_number) {
    (void)signal_number;
    ended = 1;
}

/* Keys by the client's law; the draws are others than the client's. */
static struct keys keys_named(const char *distribution, char workload, uint64_t records, uint64_t seed) {
    struct law law;
    if (!law_of(&law, distribution, workload))
        fail("no distribution %s", distribution);
    return keys_of(law, records, 0, seed + 1000003);
}

static void nothing(void *value) { (void)value; }

/* The share of draws that miss, of the same list, whose values are all one byte. */
static void print_misses(char **words) {
    uint64_t records = strtoull(words[1], NULL, 10), draws = strtoull(words[3], NULL, 10), missed = 0;
    struct keys keys = keys_named(words[0], 'c', records, strtoull(words[4], NULL, 10));
    struct use *uses = uses_of(&keys, records);
    struct record *all = calloc(records, sizeof *all);
    lru = lru_of(records, records - records * strtoull(words[2], NULL, 10) / 100, nothing);
    for (uint64_t place = 0; place < records; place++)
        lru_hold(&lru, &all[uses[place].key], all, 1);
    for (uint64_t draw = 0; draw < draws; draw++) {
        struct record *record = &all[next_key(&keys)];
        missed += record->value == NULL;
        if (record->value != NULL)
            lru_use(&lru, record);
        else
            lru_hold(&lru, record, all, 1);
    }
    printf("%.9g\n", (double)missed / (double)draws);
}

int serve(int argc, char **argv) {
    if (argc == 7 && strcmp(argv[1], "misses") == 0) {
        print_misses(argv + 2);
        return 0;
    }
    if (argc != 10)
        fail("eight arguments are needed; the file says which");
    uint64_t records = strtoull(argv[6], NULL, 10);
    int spilled = atoi(argv[7]), has_flash = atoi(argv[8]);
    if (spilled > 0 && !has_flash)
        fail("without RocksDB nothing can be spilled");
    if (spilled > 99)
        fail("spilled is a share of 0 to 99 %%");
    struct sigaction action = {.sa_handler = end};
    sigaction(SIGTERM, &action, NULL);
    int listening = listen_at(atoi(argv[2]));
    open_flash(argv[3]);
    struct keys keys = keys_named(argv[5], *argv[4], records, strtoull(argv[9], NULL, 10));
    struct use *uses = uses_of(&keys, records);
    load(uses, records, spilled);
    free(uses);
    if (!has_flash) {
        rocksdb_close(flash);
        flash = NULL;
    }
    loop(listening);
    printf("measure misses %.9g\n", lookups == 0 ? 0 : 100 * (double)misses / (double)lookups);
    fflush(stdout);
    _exit(0);
}
