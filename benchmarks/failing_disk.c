/* A disk that fails, for tests: preloaded, it lets the N-th call that would write below a folder fail.

   gcc -shared -fPIC -O1 -o failing_disk.so failing_disk.c -ldl

   disk_arm(folder, log, nth, error, stays) arms it in the process that calls it: the nth call (from 1; 0: none)
   fails with errno `error`, and where `stays` is not 0 every later one that needs room (a full disk stays full).
   Each failure is a line in `log`: errno, number of the call, its name, the path. disk_calls() says how many calls
   there were. Counted are write, pwrite, sendfile, fsync, fdatasync, rename and opening for creation. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char folder[PATH_MAX];
static int armed, failing_errno, stays, fired, log_to = -1;
static long nth, calls;

void disk_arm(const char *below, const char *log, long which, int error, int keeps) {
    strncpy(folder, below, sizeof folder - 1);
    log_to = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND, 0644);
    nth = which, failing_errno = error, stays = keeps, calls = 0, fired = 0, armed = 1;
}

long disk_calls(void) { return calls; }

static int fails(const char *name, const char *path, int needs_room) {
    if (!armed || strncmp(path, folder, strlen(folder)) != 0) return 0;
    calls++;
    if (!(nth && (calls == nth || (fired && stays && needs_room)))) return 0;
    if (stays && !needs_room) { nth++; return 0; } /* a full disk still makes names: the next one */
    fired = 1;
    char line[PATH_MAX + 64];
    int length = snprintf(line, sizeof line, "%d\t%ld\t%s\t%s\n", failing_errno, calls, name, path);
    syscall(SYS_write, log_to, line, length);
    errno = failing_errno;
    return 1;
}

static int fails_at(const char *name, int handle, int needs_room) {
    char link[64], path[PATH_MAX];
    if (!armed || handle <= 2 || handle == log_to) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return fails(name, path, needs_room);
}

static int fails_to_make(const char *name, const char *path, int flags) {
    char whole[PATH_MAX], here[PATH_MAX];
    if (!armed || !(flags & O_CREAT)) return 0;
    if (path[0] == '/' || !getcwd(here, sizeof here)) snprintf(whole, sizeof whole, "%s", path);
    else if (snprintf(whole, sizeof whole, "%s/%s", here, path) >= (int)sizeof whole) return 0;
    return fails(name, whole, 0);
}

#define REAL(name) \
    static typeof(name) *real; \
    if (!real) real = (typeof(name) *)dlsym(RTLD_NEXT, #name)

ssize_t write(int handle, const void *data, size_t size) {
    REAL(write);
    return fails_at("write", handle, 1) ? -1 : real(handle, data, size);
}

ssize_t pwrite(int handle, const void *data, size_t size, off_t at) {
    REAL(pwrite);
    return fails_at("pwrite", handle, 1) ? -1 : real(handle, data, size, at);
}

ssize_t pwrite64(int handle, const void *data, size_t size, off64_t at) {
    REAL(pwrite64);
    return fails_at("pwrite", handle, 1) ? -1 : real(handle, data, size, at);
}

ssize_t sendfile(int to, int from, off_t *at, size_t size);
ssize_t sendfile(int to, int from, off_t *at, size_t size) {
    REAL(sendfile);
    return fails_at("sendfile", to, 1) ? -1 : real(to, from, at, size);
}

ssize_t sendfile64(int to, int from, off64_t *at, size_t size);
ssize_t sendfile64(int to, int from, off64_t *at, size_t size) {
    REAL(sendfile64);
    return fails_at("sendfile", to, 1) ? -1 : real(to, from, at, size);
}

int fsync(int handle) {
    REAL(fsync);
    return fails_at("fsync", handle, 0) ? -1 : real(handle);
}

int fdatasync(int handle) {
    REAL(fdatasync);
    return fails_at("fdatasync", handle, 0) ? -1 : real(handle);
}

int rename(const char *from, const char *to) {
    REAL(rename);
    char path[PATH_MAX], here[PATH_MAX];
    if (from[0] == '/' || !getcwd(here, sizeof here)) snprintf(path, sizeof path, "%s", from);
    else if (snprintf(path, sizeof path, "%s/%s", here, from) >= (int)sizeof path) path[0] = 0;
    return fails("rename", path, 0) ? -1 : real(from, to);
}

#define OPENS(name) \
    int name(const char *path, int flags, ...) { \
        REAL(name); \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
        va_end(rest); \
        return fails_to_make("open", path, flags) ? -1 : real(path, flags, mode); \
    }
OPENS(open)
OPENS(open64)
