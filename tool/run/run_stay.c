/* SPDX-License-Identifier: Apache-2.0 */
/* run_stay.c - puts descriptors at agreed numbers, then executes this program again. */
#include "run_stay.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "marks.h"
#include "roster.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/* Descriptor numbers in the new process. */
enum {
    STAY_AT = 3,
    ROSTER_AT = 4,
    ERROR_AT = 5, /* closed by exec */
    FREE_FROM = 6,
    CLOSED_MOST = 4096 /* when close_range(2) does not exist */
};

enum {
    LOADED_TRIES = 100, /* to wait until a child that was just started is loaded, */
    LOADED_EVERY_MS = 5,
    ENVIRONMENT_BYTES = 256 << 10, /* limit when the environment of a process is searched */
    MEMBERS_EVERY_MS = 5000,       /* to look for processes that have not begun to record; nothing reports their end */
    ABSENT_EVERY_MS = 250,         /* to look when no process seems to live, */
    ABSENT_LOOKS = 3,
    REQUESTED_GRACE_MS = 30000, /* a service manager that asks us to end also asks the other processes */
};

static void close_the_rest(void)
{
    if (syscall(SYS_close_range, FREE_FROM, ~0u, 0) != 0) {
        for (int fd = FREE_FROM; fd < CLOSED_MOST; fd++) {
            close(fd);
        }
    }
}

/* Runs in a child of a process with threads, so it makes only system calls. Returns only on failure; *error_end is the
 * descriptor to report it. */
static int become_companion(int words, int roster, int *error_end, char **argv)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    /* First move them away from the agreed numbers. */
    int words_high = fcntl(words, F_DUPFD_CLOEXEC, FREE_FROM);
    int roster_high = roster >= 0 ? fcntl(roster, F_DUPFD_CLOEXEC, FREE_FROM) : -1;
    int error_high = fcntl(*error_end, F_DUPFD_CLOEXEC, FREE_FROM);
    if (null < 0 || words_high < 0 || error_high < 0 || (roster >= 0 && roster_high < 0)) {
        return -errno;
    }
    *error_end = error_high;
    if (dup3(error_high, ERROR_AT, O_CLOEXEC) < 0 || dup2(words_high, STAY_AT) < 0 ||
        (roster >= 0 && dup2(roster_high, ROSTER_AT) < 0)) {
        return -errno;
    }
    *error_end = ERROR_AT;
    for (int fd = 0; fd < 3; fd++) {
        if (dup2(null, fd) < 0) {
            return -errno;
        }
    }
    if (roster < 0) {
        close(ROSTER_AT);
    }
    close_the_rest();
    (void)setsid(); /* cannot fail: a new process leads no group */
    execv("/proc/self/exe", argv);
    return -errno;
}

static int write_words(const struct sbx_stay *stay)
{
    int words = memfd_create("stallbox", MFD_CLOEXEC);
    if (words < 0) {
        return -errno;
    }
    struct sbx_stay told = *stay;
    told.layout = sizeof told;
    told.roster = stay->roster >= 0 ? ROSTER_AT : -1;
    if (pwrite(words, &told, sizeof told, 0) != (ssize_t)sizeof told) {
        close(words);
        return -EIO;
    }
    return words;
}

/* "stallbox run --attend" and the arguments after "run". */
static char **make_arguments(int argc, char **argv)
{
    char **made = calloc((size_t)argc + 3, sizeof *made);
    if (made != NULL) {
        made[0] = (char *)(uintptr_t) "stallbox";
        made[1] = argv[0];
        made[2] = (char *)(uintptr_t)SBX_STAY_OPTION;
        memcpy(made + 3, argv + 1, ((size_t)argc - 1) * sizeof *made);
    }
    return made;
}

int sbx_stay_hand_on(const struct sbx_stay *stay, int argc, char **argv)
{
    int ends[2], result = 0;
    char **arguments = make_arguments(argc, argv);
    if (arguments == NULL) {
        return -ENOMEM;
    }
    int words = write_words(stay);
    if (words < 0) {
        result = words;
        goto free_arguments;
    }
    if (pipe2(ends, O_CLOEXEC) != 0) {
        result = -errno;
        goto close_words;
    }
    pid_t pid = fork();
    if (pid == 0) {
        int error = become_companion(words, stay->roster, &ends[1], arguments);
        ssize_t told = write(ends[1], &error, sizeof error);
        _exit(told == (ssize_t)sizeof error ? 126 : 127);
    }
    result = pid < 0 ? -errno : 0;
    close(ends[1]);
    ssize_t got = 0;
    while (pid > 0 && (got = read(ends[0], &result, sizeof result)) < 0 && errno == EINTR) {
    }
    close(ends[0]);
    if (got != 0 && pid > 0) { /* exec failed; otherwise it lives longer than this process */
        waitpid(pid, NULL, 0);
        result = got == (ssize_t)sizeof result ? result : -EIO;
    }
close_words:
    close(words);
free_arguments:
    free(arguments);
    return result;
}

int sbx_stay_begin_beside(const struct sbx_stay *stay, int argc, char **argv)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        _exit(-sbx_stay_hand_on(stay, argc, argv) & 0xff);
    }
    if (pid < 0) {
        return -errno;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? -WEXITSTATUS(status) : -ECHILD;
}

int sbx_stay_open_program(const struct sbx_stay *stay)
{
    int program = stay->program != 0 ? (int)syscall(SYS_pidfd_open, (pid_t)stay->program, 0) : -1;
    if (program >= 0 && sbx_process_start_ticks(stay->program) != stay->program_ticks) {
        close(program);
        return -1;
    }
    return program;
}

int sbx_stay_take(struct sbx_stay *stay_out, int *argc, char **argv)
{
    if (*argc < 2 || strcmp(argv[1], SBX_STAY_OPTION) != 0) {
        return 0;
    }
    ssize_t got = pread(STAY_AT, stay_out, sizeof *stay_out, 0);
    if (got != (ssize_t)sizeof *stay_out || stay_out->layout != sizeof *stay_out || getsid(0) != getpid()) {
        return -EPROTO;
    }
    close(STAY_AT);
    if (stay_out->roster >= 0) {
        (void)fcntl(stay_out->roster, F_SETFD, FD_CLOEXEC);
    }
    memmove(argv + 1, argv + 2, (size_t)(*argc - 1) * sizeof *argv); /* including the NULL at the end */
    (*argc)--;
    return 1;
}

/* Does the environment of some process have our settings? That is also true for a static program. */
static bool is_being_loaded(uint64_t roster_number)
{
    static char text[ENVIRONMENT_BYTES];
    char number[2 * sizeof roster_number + 1], path[280]; /* printed as by sbx_orders_print() */
    const uint8_t *bytes = (const uint8_t *)&roster_number;
    bool is_found = false;
    for (size_t i = 0; i < sizeof roster_number; i++) {
        snprintf(number + 2 * i, 3, "%02x", bytes[i]);
    }
    DIR *processes = opendir("/proc");
    for (struct dirent *entry = processes != NULL ? readdir(processes) : NULL; entry != NULL && !is_found;
         entry = readdir(processes)) {
        if (strspn(entry->d_name, "0123456789") != strlen(entry->d_name)) {
            continue;
        }
        snprintf(path, sizeof path, "/proc/%s/environ", entry->d_name);
        int file = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t got = file >= 0 ? read(file, text, sizeof text) : 0;
        is_found = got > 0 && memmem(text, (size_t)got, number, sizeof number - 1) != NULL;
        if (file >= 0) {
            close(file);
        }
    }
    if (processes != NULL) {
        closedir(processes);
    }
    return is_found;
}

/* A child that has just called exec is not a member before it is loaded, which takes time on a busy machine. */
bool sbx_stay_is_needed(int roster, uint64_t roster_number)
{
    for (int tries = 0; roster >= 0 && !sbx_roster_has_members(roster); tries++) {
        const struct timespec pause = {0, LOADED_EVERY_MS * 1000000};
        if (tries == LOADED_TRIES || (!is_being_loaded(roster_number) && !sbx_roster_has_members(roster))) {
            return false;
        }
        nanosleep(&pause, NULL);
    }
    return roster >= 0;
}

/* Returns a descriptor that reports requests to end; -1: none. */
static int open_requests(void)
{
    sigset_t wanted, blocked;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGTERM);
    sigaddset(&wanted, SIGINT);
    blocked = wanted;
    sigaddset(&blocked, SIGHUP);
    sigaddset(&blocked, SIGXFSZ); /* a write then fails, and does not end this process */
    sigprocmask(SIG_SETMASK, &blocked, NULL);
    return signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int count_requests(int signals)
{
    struct signalfd_siginfo info;
    int count = 0;
    while (signals >= 0 && read(signals, &info, sizeof info) == (ssize_t)sizeof info) {
        count++;
    }
    return count;
}

void sbx_stay_wait(const struct sbx_stay_watch *watch)
{
    int signals = open_requests(), requests = 0, absent = 0, program = watch->program;
    uint64_t end_ns = UINT64_MAX;
    while (absent < ABSENT_LOOKS && requests < 2 && sbx_now_ns() < end_ns) {
        struct pollfd fds[4] = {{.fd = signals, .events = POLLIN},
                                {.fd = watch->events, .events = POLLIN},
                                {.fd = watch->ended, .events = POLLIN},
                                {.fd = program, .events = POLLIN}};
        eventfd_t ended;
        if (poll(fds, SBX_COUNT_OF(fds), absent != 0 || requests != 0 ? ABSENT_EVERY_MS : MEMBERS_EVERY_MS) < 0 &&
            errno != EINTR) {
            break;
        }
        int more = count_requests(signals);
        requests += more;
        end_ns = more != 0 ? sbx_now_ns() + REQUESTED_GRACE_MS * UINT64_C(1000000) : end_ns;
        if (watch->ended >= 0) {
            (void)eventfd_read(watch->ended, &ended);
        }
        watch->on_events(watch->context);
        program = (fds[3].revents & POLLIN) == 0 ? program : -1;
        absent = program >= 0 || sbx_roster_has_members(watch->roster) ? 0 : absent + 1;
    }
    if (signals >= 0) {
        close(signals);
    }
}
