/* Reads of the server go past Linux's page cache, as those of SQL Server and other database servers do: with O_DIRECT.
 * PostgreSQL 15 cannot, its buffers are not aligned for it, and it leaves it to Linux to read ahead. So a read goes to a
 * buffer here, and is copied. Reads of a file in a row read ahead as far as Linux does by default: 128 KiB.
 * PostgreSQL's processes have one thread each, and open their files themselves: nobody else sees the flag. While queries
 * run, nobody changes tables: what was read ahead stays true.
 * Loaded ahead of libc, whose pread(2), pwrite(2) and close(2) it stands before. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define ALIGNMENT 4096
#define AHEAD (128 * 1024)
/* Files of a process: PostgreSQL keeps at most 1000 open (max_files_per_process). */
#define FILES 1024

typedef ssize_t Read(int, void *, size_t, off_t);
typedef ssize_t Write(int, const void *, size_t, off_t);
typedef int Close(int);

/* What was last read ahead, of which file. */
static struct {
    int file;
    off_t from;
    ssize_t bytes;
    _Alignas(ALIGNMENT) char data[AHEAD];
} ahead = {.file = -1};

/* Where the last read of each file ended. */
static off_t end[FILES];

static ssize_t read_own(int file, void *to, size_t bytes, off_t from) {
    static Read *own;
    if (!own)
        own = (Read *)dlsym(RTLD_NEXT, "pread");
    return own(file, to, bytes, from);
}

/* To an aligned buffer. */
static ssize_t read_direct(int file, char *to, size_t bytes, off_t from) {
    int flags = fcntl(file, F_GETFL);
    if (flags < 0 || fcntl(file, F_SETFL, flags | O_DIRECT) < 0)
        return -1;
    ssize_t read = read_own(file, to, bytes, from);
    return fcntl(file, F_SETFL, flags) < 0 ? -1 : read;
}

static int is_ahead(int file, size_t bytes, off_t from) {
    return ahead.file == file && from >= ahead.from && from + (off_t)bytes <= ahead.from + ahead.bytes;
}

ssize_t pread(int file, void *to, size_t bytes, off_t from) {
    static _Alignas(ALIGNMENT) char one[AHEAD];
    if (bytes > AHEAD || bytes % ALIGNMENT || from % ALIGNMENT || file < 0 || file >= FILES)
        return read_own(file, to, bytes, from);
    int in_a_row = end[file] == from;
    end[file] = from + (off_t)bytes;
    if (in_a_row && !is_ahead(file, bytes, from)) {
        ahead.file = -1;
        ahead.bytes = read_direct(file, ahead.data, AHEAD, from);
        if (ahead.bytes < 0)
            return -1;
        ahead.file = file;
        ahead.from = from;
    }
    if (is_ahead(file, bytes, from)) {
        memcpy(to, ahead.data + (from - ahead.from), bytes);
        return (ssize_t)bytes;
    }
    ssize_t read = read_direct(file, one, bytes, from);
    if (read > 0)
        memcpy(to, one, (size_t)read);
    return read;
}

ssize_t pwrite(int file, const void *of, size_t bytes, off_t to) {
    static Write *own;
    if (!own)
        own = (Write *)dlsym(RTLD_NEXT, "pwrite");
    if (ahead.file == file)
        ahead.file = -1;
    return own(file, of, bytes, to);
}

int close(int file) {
    static Close *own;
    if (!own)
        own = (Close *)dlsym(RTLD_NEXT, "close");
    if (ahead.file == file)
        ahead.file = -1;
    if (file >= 0 && file < FILES)
        end[file] = 0;
    return own(file);
}
