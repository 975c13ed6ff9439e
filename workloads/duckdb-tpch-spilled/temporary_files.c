/* Temporary files go to the drive as soon as they are written, and are read from there: the memory that DuckDB may not
 * have is not to be had from Linux's page cache. Only what is not yet on the drive is read from memory. DuckDB's
 * buffers are not aligned as O_DIRECT wants them.
 * Loaded ahead of libc, whose pread(2) and pwrite(2) it stands before. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

typedef ssize_t Read(int, void *, size_t, off_t);
typedef ssize_t Write(int, const void *, size_t, off_t);

ssize_t pread(int file, void *to, size_t bytes, off_t from) {
    static Read *own;
    if (!own)
        own = (Read *)dlsym(RTLD_NEXT, "pread");
    (void)posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
    // What has been written is dropped here: it cannot be before it is on the drive.
    (void)posix_fadvise(file, from, (off_t)bytes, POSIX_FADV_DONTNEED);
    ssize_t read = own(file, to, bytes, from);
    if (read > 0)
        (void)posix_fadvise(file, from, read, POSIX_FADV_DONTNEED);
    return read;
}

ssize_t pwrite(int file, const void *of, size_t bytes, off_t to) {
    static Write *own;
    if (!own)
        own = (Write *)dlsym(RTLD_NEXT, "pwrite");
    ssize_t written = own(file, of, bytes, to);
    if (written > 0)
        (void)sync_file_range(file, to, written, SYNC_FILE_RANGE_WRITE);
    return written;
}
