/* SPDX-License-Identifier: Apache-2.0 */
/* nasty_children.c - children started by every possible call, which allocate, load, start threads, exec, or end at
 * once.
 *
 * Each must write its expected line into a pipe, and end with its expected status. */
#include "nasty_host.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

const char *const nasty_child_word = "--child";

enum {
    STATUS = 7
};

/* The program runs again as a child: it does what `how` says and then prints one line. */
int nasty_be_child(const char *how)
{
    nasty_pause_us(how[0] == 's' ? 3000 : 0);
    void *volatile block = malloc(100000);
    free(block);
    printf("child %s\n", how);
    return fflush(stdout) == 0 ? STATUS : 1;
}

static void *allocate(void *unused)
{
    (void)unused;
    for (int i = 0; i < 50; i++) {
        void *volatile block = malloc(10u << i % 12);
        free(block);
    }
    nasty_pause_us(50);
    return (void *)3;
}

static int load(void)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/nasty_plugin_%d.so", nasty_modules, (int)(getpid() % 3));
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int (*add)(int a, int b) = NULL;
    if (plugin != NULL) {
        *(void **)&add = dlsym(plugin, "nasty_plugin_add");
    }
    int sum = add != NULL ? add(30, 12) : 0;
    return plugin != NULL && dlclose(plugin) == 0 && sum == 42 ? 0 : -1;
}

/* Only in a child of fork(): its libc is in a consistent state. */
static void work_in_child(unsigned what, int out)
{
    enum {
        STACK_BYTES = 128 << 10
    };
    /* Stacks of our own. Those that libc keeps may be half freed, if another thread was freeing one during the fork. */
    static char stacks[3][STACK_BYTES] __attribute__((aligned(4096)));
    pthread_t threads[3];
    pthread_attr_t attributes;
    void *result = NULL;
    char *volatile memory = malloc(1 << 20);
    if (memory == NULL) {
        _exit(20);
    }
    memset(memory, 1, 1 << 20);
    free(memory);
    if ((what & 1) != 0) {
        for (int i = 0; i < 3; i++) {
            pthread_attr_init(&attributes);
            pthread_attr_setstack(&attributes, stacks[i], STACK_BYTES);
            if (pthread_create(&threads[i], &attributes, allocate, NULL) != 0) {
                _exit(21);
            }
        }
        for (int i = 0; i < 3; i++) {
            if (pthread_join(threads[i], &result) != 0 || result != (void *)3) {
                _exit(22);
            }
        }
    }
    if ((what & 2) != 0 && load() != 0) {
        _exit(23);
    }
    nasty_pause_us(100);
    if (write(out, "child forked\n", 13) != 13) {
        _exit(24);
    }
    if ((what & 4) != 0) {
        dup2(out, STDOUT_FILENO);
        execl(nasty_self, nasty_self, nasty_child_word, "forked", (char *)NULL);
        _exit(25);
    }
    _exit(STATUS);
}

/* Only async-signal-safe calls. */
static void exec_child(int out, const char *how)
{
    dup2(out, STDOUT_FILENO);
    char *const arguments[] = {(char *)(uintptr_t)nasty_self, (char *)(uintptr_t)nasty_child_word,
                               (char *)(uintptr_t)how, NULL};
    execve(nasty_self, arguments, environ);
    _exit(26);
}

static pid_t make_by_fork(struct nasty_worker *worker, int out, const char **text_out)
{
    unsigned what = nasty_random(worker, 8);
    bool is_delicate = (what & 3) != 0;
    *text_out = (what & 4) != 0 ? "child forked\nchild forked\n" : "child forked\n";
    if (is_delicate) {
        pthread_mutex_lock(&nasty_loader);
    }
    pid_t pid = fork();
    if (pid == 0) {
        work_in_child(what, out);
    }
    if (is_delicate) {
        pthread_mutex_unlock(&nasty_loader);
    }
    return pid;
}

static pid_t make_by_vfork(struct nasty_worker *worker, int out, const char **text_out)
{
    bool execs = nasty_random(worker, 3) != 0;
    *text_out = execs ? "child vforked\n" : "";
    pid_t pid = vfork();
    if (pid == 0) {
        if (!execs) {
            _exit(STATUS);
        }
        exec_child(out, "vforked");
    }
    return pid;
}

static pid_t make_by_spawn(struct nasty_worker *worker, int out, const char **text_out)
{
    posix_spawn_file_actions_t actions;
    pid_t pid = -1;
    char *const arguments[] = {(char *)(uintptr_t)nasty_self, (char *)(uintptr_t)nasty_child_word,
                               (char *)(uintptr_t)(nasty_random(worker, 2) ? "spawned" : "spawned slowly"), NULL};
    *text_out = arguments[2][7] == '\0' ? "child spawned\n" : "child spawned slowly\n";
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    int error = posix_spawn(&pid, nasty_self, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    errno = error;
    return error == 0 ? pid : -1;
}

/* A child of glibc's _Fork() or of a direct clone() may make only the calls that a signal handler may make. */
static void work_in_bare_child(int out, bool execs)
{
    struct pollfd none = {.fd = -1};
    const struct timespec moment = {0, 100000};
    (void)nasty_compute(1, 300);
    poll(&none, 1, 1);
    nanosleep(&moment, NULL);
    if (write(out, "child bare\n", 11) != 11) {
        _exit(27);
    }
    if (execs) {
        exec_child(out, "bare");
    }
    _exit(STATUS);
}

static pid_t make_by_clone(struct nasty_worker *worker, int out, const char **text_out)
{
    bool execs = nasty_random(worker, 2) != 0;
    *text_out = execs ? "child bare\nchild bare\n" : "child bare\n";
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        work_in_bare_child(out, execs);
    }
    return pid;
}

static pid_t make_by_bare_fork(struct nasty_worker *worker, int out, const char **text_out)
{
    static pid_t (*bare_fork)(void);
    if (bare_fork == NULL) { /* exists in glibc 2.34 and later */
        pthread_mutex_lock(&nasty_loader);
        *(void **)&bare_fork = dlsym(RTLD_DEFAULT, "_Fork");
        pthread_mutex_unlock(&nasty_loader);
    }
    if (bare_fork == NULL) {
        return make_by_clone(worker, out, text_out);
    }
    bool execs = nasty_random(worker, 2) != 0;
    *text_out = execs ? "child bare\nchild bare\n" : "child bare\n";
    pid_t pid = bare_fork();
    if (pid == 0) {
        work_in_bare_child(out, execs);
    }
    return pid;
}

static void wait_for_child(struct nasty_worker *worker, pid_t pid)
{
    int status = -1;
    pid_t ended;
    siginfo_t info = {0};
    sig_atomic_t handled = nasty_handled;
    if (nasty_random(worker, 3) == 0) {
        while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) != 0 &&
               nasty_is_interrupted(worker, handled, "waitid")) {
            handled = nasty_handled;
        }
        if (info.si_pid != pid || info.si_code != CLD_EXITED || info.si_status != STATUS) {
            nasty_error(worker, "waitid: child %d, code %d, status %d", (int)info.si_pid, info.si_code, info.si_status);
        }
    }
    handled = nasty_handled;
    while ((ended = waitpid(pid, &status, 0)) < 0 && nasty_is_interrupted(worker, handled, "waitpid")) {
        handled = nasty_handled;
    }
    if (ended != pid || !WIFEXITED(status) || WEXITSTATUS(status) != STATUS) {
        nasty_error(worker, "a child ended with %s %d", WIFEXITED(status) ? "status" : "signal",
                    WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    }
}

/* Start a child by one of the calls, with a pipe as its output. */
static void make_child(struct nasty_worker *worker)
{
    static const struct {
        const char *name;
        pid_t (*make)(struct nasty_worker *worker, int out, const char **text_out);
    } ways[] = {{"fork", make_by_fork},
                {"vfork", make_by_vfork},
                {"posix_spawn", make_by_spawn},
                {"clone by hand", make_by_clone},
                {"_Fork", make_by_bare_fork}};
    unsigned way = nasty_random(worker, 5);
    const char *expected = "";
    char text[200];
    size_t bytes = 0;
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) {
        nasty_error(worker, "pipe: %s", strerror(errno));
        return;
    }
    nasty_step(worker, ways[way].name);
    pid_t pid = ways[way].make(worker, fds[1], &expected);
    close(fds[1]);
    if (pid < 0) {
        nasty_error(worker, "no child: %s", strerror(errno));
        close(fds[0]);
        return;
    }
    for (;;) { /* until the last copy of the pipe's other end is closed; another thread's child may have one too */
        sig_atomic_t handled = nasty_handled;
        ssize_t count = read(fds[0], text + bytes, sizeof text - 1 - bytes);
        if (count < 0 && nasty_is_interrupted(worker, handled, "read")) {
            continue;
        }
        if (count <= 0) {
            break;
        }
        bytes += (size_t)count;
    }
    text[bytes] = '\0';
    if (strcmp(text, expected) != 0) {
        nasty_error(worker, "a child said \"%s\", not \"%s\"", text, expected);
    }
    wait_for_child(worker, pid);
    close(fds[0]);
}

static void make_shell(struct nasty_worker *worker)
{
    char line[64] = "";
    if (nasty_random(worker, 2) == 0) {
        nasty_step(worker, "system");
        int status = system("exit 7");
        if (!WIFEXITED(status) || WEXITSTATUS(status) != STATUS) {
            nasty_error(worker, "system: status %#x, %s", (unsigned)status, strerror(errno));
        }
        return;
    }
    nasty_step(worker, "popen");
    FILE *stream = popen("echo a line; exit 7", "re");
    while (stream != NULL && fgets(line, sizeof line, stream) == NULL && ferror(stream) && errno == EINTR) {
        clearerr(stream);
    }
    int status = stream != NULL ? pclose(stream) : -1;
    if (strcmp(line, "a line\n") != 0 || !WIFEXITED(status) || WEXITSTATUS(status) != STATUS) {
        nasty_error(worker, "popen: \"%s\", status %#x, %s", line, (unsigned)status, strerror(errno));
    }
}

void nasty_children(struct nasty_worker *worker)
{
    while (nasty_goes_on()) {
        if (nasty_random(worker, 10) == 0) {
            make_shell(worker);
        } else {
            make_child(worker);
        }
        nasty_round(worker);
    }
}
