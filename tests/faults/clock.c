/* Moves the wall clock of whoever it is loaded into by the seconds that the file KW_CLOCK_FILE, named when this is compiled, holds. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile long long *moved;

__attribute__((constructor)) static void open_file(void) {
    int handle = open(KW_CLOCK_FILE, O_RDONLY | O_CLOEXEC);
    if (handle < 0) return;
    void *found = mmap(NULL, sizeof *moved, PROT_READ, MAP_SHARED, handle, 0);
    if (found != MAP_FAILED) moved = found;
    close(handle);
}

static long long offset(void) { return moved ? *moved : 0; }

int clock_gettime(clockid_t clock, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, at);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) at->tv_sec += offset();
    return failed;
}

int gettimeofday(struct timeval *at, void *zone) {
    struct timespec now;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &now)) return -1;
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}
