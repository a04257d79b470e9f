/* Makes the disk fail for one file, on command.
 *
 * Preloaded into the binary under test. While the file named by FAULT_SWITCH exists, writes to
 * files whose path contains FAULT_PATH fail with what the file says: "full" (no space left),
 * "write" (input/output error), "sync" (syncing fails). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int mode(void) {
    const char *path = getenv("FAULT_SWITCH");
    if (!path) return 0;
    int (*real_open)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
    ssize_t (*real_read)(int, void *, size_t) = dlsym(RTLD_NEXT, "read");
    int fd = real_open(path, O_RDONLY);
    if (fd < 0) return 0;
    char first = 0;
    ssize_t got = real_read(fd, &first, 1);
    close(fd);
    return got == 1 ? first : 0;
}

static int concerns(int fd) {
    char link[64], path[4096];
    const char *part = getenv("FAULT_PATH");
    if (!part) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return strstr(path, part) != NULL;
}

static int write_fails(int fd) {
    int now = mode();
    if ((now != 'f' && now != 'w') || !concerns(fd)) return 0;
    errno = now == 'f' ? ENOSPC : EIO;
    return 1;
}

static int sync_fails(int fd) {
    if (mode() != 's' || !concerns(fd)) return 0;
    errno = EIO;
    return 1;
}

ssize_t write(int fd, const void *data, size_t count) {
    ssize_t (*real)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    return write_fails(fd) ? -1 : real(fd, data, count);
}

ssize_t pwrite(int fd, const void *data, size_t count, off_t at) {
    ssize_t (*real)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite");
    return write_fails(fd) ? -1 : real(fd, data, count, at);
}

ssize_t pwrite64(int fd, const void *data, size_t count, off_t at) {
    ssize_t (*real)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite64");
    return write_fails(fd) ? -1 : real(fd, data, count, at);
}

int ftruncate(int fd, off_t size) {
    int (*real)(int, off_t) = dlsym(RTLD_NEXT, "ftruncate");
    return write_fails(fd) ? -1 : real(fd, size);
}

int fsync(int fd) {
    int (*real)(int) = dlsym(RTLD_NEXT, "fsync");
    return sync_fails(fd) ? -1 : real(fd);
}

int fdatasync(int fd) {
    int (*real)(int) = dlsym(RTLD_NEXT, "fdatasync");
    return sync_fails(fd) ? -1 : real(fd);
}
