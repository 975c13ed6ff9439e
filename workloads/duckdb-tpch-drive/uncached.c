/* Reads of the database leave nothing in Linux's page cache: SQL Server and other database servers read past it, with
 * O_DIRECT. DuckDB's buffers are not aligned as O_DIRECT wants them. So Linux reads nothing ahead, and the pages of a
 * read are dropped behind it.
 * Loaded ahead of libc, whose pread(2) it stands before. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

typedef ssize_t Read(int, void *, size_t, off_t);

ssize_t pread(int file, void *to, size_t bytes, off_t from) {
    static Read *own;
    if (!own)
        own = (Read *)dlsym(RTLD_NEXT, "pread");
    (void)posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
    ssize_t read = own(file, to, bytes, from);
    if (read > 0)
        (void)posix_fadvise(file, from, read, POSIX_FADV_DONTNEED);
    return read;
}
