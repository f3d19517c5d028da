/* SPDX-License-Identifier: Apache-2.0 */
/* test_point_records.c - a slow call leaves a record that says so, whatever the reason; and the counts of allocations
 * are exact. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "names.h"
#include "recorded_process.h"

enum {
    LATE_MS = 60,
    AT_LEAST_MS = 30, /* a late wake-up makes a wait longer, never shorter */
};

/* ---- somebody who acts late: a thread that passes no point ---- */

static int late_fd;
static void (*late_act)(void);

static void *act_late(void *unused)
{
    child_pause_ms(LATE_MS);
    late_act();
    return unused;
}

static pthread_t later(void (*act)(void))
{
    pthread_t thread;
    late_act = act;
    child_expect(pthread_create(&thread, NULL, act_late, NULL) == 0, "a thread starts");
    return thread;
}

static void write_a_line(void)
{
    syscall(SYS_write, late_fd, "text\n", 5L);
}

static char drained[1 << 20];
static void drain(void)
{
    while (syscall(SYS_read, late_fd, drained, sizeof drained) == (long)sizeof drained) {
    }
}

static char path[300];
static void open_for_writing(void)
{
    syscall(SYS_openat, AT_FDCWD, path, O_WRONLY, 0);
}

static struct sockaddr_un address = {.sun_family = AF_UNIX};
static void connect_late(void)
{
    int fd = (int)syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0);
    syscall(SYS_connect, fd, &address, sizeof address);
}
static void accept_two(void)
{
    syscall(SYS_accept4, late_fd, NULL, NULL, 0);
    syscall(SYS_accept4, late_fd, NULL, NULL, 0);
}

/* ---- what is slow ---- */

static void read_a_pipe(void)
{
    int pipe_fds[2];
    char buffer[16];
    child_expect(pipe(pipe_fds) == 0, "a pipe");
    late_fd = pipe_fds[1];
    pthread_t thread = later(write_a_line);
    child_expect(read(pipe_fds[0], buffer, sizeof buffer) == 5, "read returns what was written");
    pthread_join(thread, NULL);
    FILE *stream = fdopen(pipe_fds[0], "r");
    thread = later(write_a_line);
    child_expect(fgets(buffer, sizeof buffer, stream) == buffer, "fgets returns the line");
    pthread_join(thread, NULL);
}

static void write_a_full_pipe(void)
{
    int pipe_fds[2];
    static char block[65536];
    child_expect(pipe(pipe_fds) == 0, "a pipe");
    child_expect(write(pipe_fds[1], block, sizeof block) == (ssize_t)sizeof block, "the pipe is filled");
    late_fd = pipe_fds[0];
    pthread_t thread = later(drain);
    child_expect(write(pipe_fds[1], block, 4096) == 4096, "write returns when there is room");
    pthread_join(thread, NULL);
    FILE *stream = fdopen(pipe_fds[1], "w");
    fcntl(pipe_fds[1], F_SETFL, O_NONBLOCK);
    while (syscall(SYS_write, pipe_fds[1], block, sizeof block) > 0) {
    }
    fcntl(pipe_fds[1], F_SETFL, 0);
    fputs("text", stream);
    thread = later(drain);
    child_expect(fflush(stream) == 0, "fflush returns when there is room");
    pthread_join(thread, NULL);
}

static void open_a_fifo(void)
{
    snprintf(path, sizeof path, "%s/fifo", recorded_process_folder());
    child_expect(mkfifo(path, 0600) == 0, "a FIFO");
    pthread_t thread = later(open_for_writing);
    child_expect(open(path, O_RDONLY) >= 0, "open returns when somebody writes");
    pthread_join(thread, NULL);
}

/* A process that holds both locks of the file for a while. It holds them already when this returns. */
static pid_t hold_locks(const char *name)
{
    int ready[2];
    char byte;
    child_expect(pipe(ready) == 0, "a pipe");
    pid_t pid = fork();
    if (pid == 0) {
        int fd = open(name, O_RDWR);
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        _exit(flock(fd, LOCK_EX) != 0 || fcntl(fd, F_SETLK, &lock) != 0 || write(ready[1], "x", 1) != 1 ||
              (child_pause_ms(2 * LATE_MS), false));
    }
    child_expect(read(ready[0], &byte, 1) == 1, "the locks are held");
    return pid;
}

static void wait_for_file_locks(void)
{
    snprintf(path, sizeof path, "%s/locked", recorded_process_folder());
    int fd = open(path, O_RDWR | O_CREAT, 0600), status;
    pid_t pid = hold_locks(path);
    child_expect(flock(fd, LOCK_EX) == 0, "flock is had in the end");
    waitpid(pid, &status, 0);
    flock(fd, LOCK_UN);
    pid = hold_locks(path);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    child_expect(fcntl(fd, F_SETLKW, &lock) == 0, "the fcntl lock is had in the end");
    waitpid(pid, &status, 0);
}

/* On another thread, because on the main thread it would be a wait for work. */
static void *accept_elsewhere(void *listener)
{
    child_expect(accept((int)(intptr_t)listener, NULL, NULL) >= 0, "accept returns a connection");
    return NULL;
}

static void use_sockets(void)
{
    int pair[2], listener = socket(AF_UNIX, SOCK_STREAM, 0);
    char buffer[16];
    child_expect(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "a pair of sockets");
    late_fd = pair[1];
    pthread_t thread = later(write_a_line);
    child_expect(recv(pair[0], buffer, sizeof buffer, 0) == 5, "recv returns what was sent");
    pthread_join(thread, NULL);
    snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", recorded_process_folder());
    child_expect(bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener, 0) == 0,
                 "a listener");
    pthread_t elsewhere;
    child_expect(pthread_create(&elsewhere, NULL, accept_elsewhere, (void *)(intptr_t)listener) == 0,
                 "a thread starts");
    thread = later(connect_late);
    pthread_join(elsewhere, NULL);
    pthread_join(thread, NULL);
    int first = socket(AF_UNIX, SOCK_STREAM, 0), second = socket(AF_UNIX, SOCK_STREAM, 0);
    child_expect(connect(first, (struct sockaddr *)&address, sizeof address) == 0, "the queue of one is filled");
    late_fd = listener;
    thread = later(accept_two);
    child_expect(connect(second, (struct sockaddr *)&address, sizeof address) == 0, "connect returns when accepted");
    pthread_join(thread, NULL);
}

static void wait_in_vain_for_a_message(void)
{
    int pair[2];
    char byte;
    const struct timeval limit = {.tv_usec = LATE_MS * 1000};
    child_expect(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0, "two sockets");
    child_expect(setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0, "a time limit");
    child_expect(recvfrom(pair[0], &byte, 1, 0, NULL, NULL) == -1, "recvfrom gives up");
}

static void *poll_elsewhere(void *unused)
{
    struct pollfd watched = {.fd = eventfd(0, EFD_CLOEXEC), .events = POLLIN};
    poll(NULL, 0, LATE_MS);
    poll(&watched, 1, LATE_MS);
    return unused;
}

static void wait_for_processes(void)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        child_pause_ms(LATE_MS);
        _exit(0);
    }
    child_expect(waitpid(pid, &status, 0) == pid, "waitpid returns the child");
    child_expect(system("sleep 0.06") == 0, "system returns");
    FILE *stream = popen("exec sleep 0.06", "w");
    child_expect(stream != NULL && pclose(stream) == 0, "pclose returns");
}

static void load_slowly(void)
{
    void *module = dlopen(SLOW_MODULE, RTLD_NOW);
    child_expect(module != NULL, "the slow module loads");
    dlclose(module);
}

static void map_much(void)
{
    size_t bytes = (size_t)64 << 20;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    child_expect(memory != MAP_FAILED && munmap(memory, bytes) == 0, "much memory is mapped");
}

static void read_the_clock_for_a_while(void)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin); /* CPU time, because other processes may have the processor */
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < 100);
}

static void child_is_slow_everywhere(void)
{
    pthread_t thread;
    child_start();
    read_a_pipe();
    write_a_full_pipe();
    open_a_fifo();
    wait_for_file_locks();
    use_sockets();
    wait_in_vain_for_a_message();
    pthread_create(&thread, NULL, poll_elsewhere, NULL);
    pthread_join(thread, NULL);
    usleep(LATE_MS * 1000);
    wait_for_processes();
    load_slowly();
    map_much();
    child_set_points(
        SBX_POINT_BIT(SBX_GROUP_CLOCK)); /* without the gap filler, which would now and then be the first to record */
    read_the_clock_for_a_while();
    child_finish();
}

static void test_what_is_slow_is_recorded_with_what_made_it_slow(void **state)
{
    static const struct {
        uint8_t kind, op, fd_class;
        uint32_t least_us;
        uint64_t amount;
    } expected[] = {
        {SBX_RECORD_FILE, SBX_OP_READ, SBX_FD_PIPE, AT_LEAST_MS * 1000, 5},
        {SBX_RECORD_FILE, SBX_OP_FGETS, SBX_FD_PIPE, AT_LEAST_MS * 1000, 0},
        {SBX_RECORD_FILE, SBX_OP_WRITE, SBX_FD_PIPE, AT_LEAST_MS * 1000, 4096},
        {SBX_RECORD_FILE, SBX_OP_FFLUSH, SBX_FD_PIPE, AT_LEAST_MS * 1000, 0},
        {SBX_RECORD_FILE, SBX_OP_OPEN, SBX_FD_PIPE, AT_LEAST_MS * 1000, 0},
        {SBX_RECORD_FILE, SBX_OP_FLOCK, SBX_FD_REGULAR, AT_LEAST_MS * 1000, 0},
        {SBX_RECORD_FILE, SBX_OP_FCNTL_LOCK, SBX_FD_REGULAR, AT_LEAST_MS * 1000, 0},
        {SBX_RECORD_SOCKET, SBX_OP_RECV, SBX_FD_UNIX, AT_LEAST_MS * 1000, 5},
        {SBX_RECORD_SOCKET, SBX_OP_RECVFROM, SBX_FD_UNIX, AT_LEAST_MS * 1000, 0},
        {SBX_RECORD_SOCKET, SBX_OP_ACCEPT, SBX_FD_UNIX, AT_LEAST_MS * 1000, 0},
        {SBX_RECORD_SOCKET, SBX_OP_CONNECT, SBX_FD_UNIX, AT_LEAST_MS * 1000, 0},
        {SBX_RECORD_SLEEP, SBX_OP_POLL, SBX_FD_UNKNOWN, AT_LEAST_MS * 1000, 0},
        {SBX_RECORD_POLL, SBX_OP_POLL, SBX_FD_OTHER, AT_LEAST_MS * 1000, 0},
        {SBX_RECORD_SLEEP, SBX_OP_USLEEP, SBX_FD_UNKNOWN, AT_LEAST_MS * 1000, 0},
        {SBX_RECORD_PROCESS, SBX_OP_WAITPID, SBX_FD_UNKNOWN, AT_LEAST_MS * 1000, 0},
        {SBX_RECORD_PROCESS, SBX_OP_SYSTEM, SBX_FD_UNKNOWN, AT_LEAST_MS * 1000, 0},
        {SBX_RECORD_PROCESS, SBX_OP_PCLOSE, SBX_FD_UNKNOWN, AT_LEAST_MS * 1000, 0},
        {SBX_RECORD_LOADER, SBX_OP_DLOPEN, SBX_FD_UNKNOWN, AT_LEAST_MS * 1000, 0},
#ifndef MAPS_ARE_NOT_POPULATED
        {SBX_RECORD_MEMORY, SBX_OP_MMAP, SBX_FD_UNKNOWN, 1000, 64 << 20},
#endif
        {SBX_RECORD_LEAF, SBX_OP_CLOCK_GETTIME, SBX_FD_UNKNOWN, 0, 0},
    };
    (void)state;
    assert_int_equal(recorded_process_run(child_is_slow_everywhere), 0);
    struct sbx_snapshot *snapshot = recorded_process_snapshot();
    for (size_t e = 0; e < sizeof expected / sizeof expected[0]; e++) {
        bool is_there = false, has_failed = expected[e].op == SBX_OP_RECVFROM;
        for (size_t i = 0; i < snapshot->record_count; i++) {
            const struct sbx_record *record = &snapshot->records[i];
            is_there |= record->kind == expected[e].kind && record->op == expected[e].op &&
                        record->fd_class == expected[e].fd_class && record->stack != 0 &&
                        record->amount == expected[e].amount &&
                        ((record->flags & SBX_FLAG_FAILED) != 0) == has_failed &&
                        record->end_ns - record->begin_ns >= expected[e].least_us * UINT64_C(1000);
        }
        if (!is_there) {
            fail_msg("no record of a slow %s", sbx_op_name(expected[e].op));
        }
    }
    sbx_snapshot_destroy(snapshot);
}

/* ---- counts ---- */

struct counts {
    uint64_t allocations, bytes, frees, maps, mapped;
};

static struct counts counts_now(void)
{
    const struct sbx_thread_entry *entry = child_entry();
    child_expect(entry != NULL, "the thread has an entry");
    return (struct counts){entry->alloc_count, entry->alloc_bytes, entry->free_count, entry->map_count,
                           entry->map_bytes};
}

static void *kept[100];

static void *only_frees(void *unused)
{
    for (int i = 0; i < 100; i++) {
        free(kept[i]);
    }
    child_expect(counts_now().frees == 100, "a thread that only frees is counted from its first call");
    return unused;
}

static void *allocates_first(void *unused)
{
    void *volatile memory = malloc(123);
    struct counts counts = counts_now();
    child_expect(counts.allocations == 1 && counts.bytes == 123, "a thread's first allocation is counted");
    free(memory);
    return unused;
}

static void child_counts(void)
{
    pthread_t thread;
#ifdef CXX_MODULE
    void *module = dlopen(CXX_MODULE, RTLD_NOW);
    child_expect(module != NULL, "the C++ module loads");
    void (*allocate)(int) = (void (*)(int))dlsym(module, "cxx_allocate");
#endif
    child_start();
    child_set_points(SBX_POINTS_ALL); /* free() is not hooked by default */
    free(malloc(1));
    struct counts before = counts_now(), after;
    for (int i = 0; i < 100000; i++) {
        void *volatile memory = malloc(24);
        free(memory);
    }
    after = counts_now();
    child_expect(after.allocations == before.allocations + 100000 && after.bytes == before.bytes + 2400000 &&
                     after.frees == before.frees + 100000,
                 "malloc and free are counted");
    before = after;
    void *volatile memory = calloc(3, 5);
    memory = realloc(memory, 50);
    memory = reallocarray(memory, 10, 10);
    free(memory);
    memory = strdup("fifteen letters");
    free(memory);
    after = counts_now();
    child_expect(after.allocations == before.allocations + 4 && after.bytes == before.bytes + 15 + 50 + 100 + 16 &&
                     after.frees == before.frees + 2,
                 "calloc, realloc, reallocarray and strdup are counted once each");
    before = after;
    char *line = NULL;
    size_t line_bytes = 0;
    FILE *stream = fmemopen((char *)"text\n", 5, "r");
    before = counts_now();
    child_expect(getline(&line, &line_bytes, stream) == 5, "a line is read");
    after = counts_now();
    child_expect(after.allocations >= before.allocations + 1 && after.bytes >= before.bytes + 120,
                 "what libc allocates for the program is counted");
    before = after;
#ifdef CXX_MODULE
    allocate(1000);
    after = counts_now();
    child_expect(after.allocations == before.allocations + 1000 && after.bytes == before.bytes + 100000 &&
                     after.frees == before.frees + 1000,
                 "operator new and delete are counted");
    before = after;
#endif
    memory = mmap(NULL, 12288, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(memory, 12288);
    after = counts_now();
    child_expect(after.maps == before.maps + 2 && after.mapped == before.mapped + 12288, "maps are counted");
    for (int i = 0; i < 100; i++) {
        kept[i] = malloc(10);
    }
    pthread_create(&thread, NULL, only_frees, NULL);
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, allocates_first, NULL);
    pthread_join(thread, NULL);
}

static void test_counts_of_allocations_are_exact(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_counts), 0);
}

/* ---- dlopen: who calls must still matter ---- */

static void child_loads_by_runpath(void)
{
    child_start();
    void *caller = dlopen(RUNPATH_CALLER, RTLD_NOW);
    child_expect(caller != NULL, "the caller loads");
    void *(*load)(const char *) = (void *(*)(const char *))dlsym(caller, "load_as_caller");
    child_pause_ms(300); /* the module thread hooks it within milliseconds */
    child_expect(load(PLUGIN_NAME) != NULL, "a plugin in the caller's DT_RUNPATH is found");
    child_expect(load("$ORIGIN/plugins/" PLUGIN_NAME) != NULL, "$ORIGIN is the caller's");
    child_expect(dlopen(PLUGIN_NAME ".none", RTLD_NOW) == NULL, "what is nowhere is not found");
}

static void test_a_plugin_beside_its_caller_is_found(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_loads_by_runpath), 0);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, recorded_process_set_up, recorded_process_tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_what_is_slow_is_recorded_with_what_made_it_slow),
        CASE(test_counts_of_allocations_are_exact),
        CASE(test_a_plugin_beside_its_caller_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
