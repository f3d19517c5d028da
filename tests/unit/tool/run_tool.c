/* SPDX-License-Identifier: Apache-2.0 */
/* run_tool.c - runs the real `stallbox` binary; a file of its own, because every test of a command needs it. */
#include "run_tool.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    PATIENCE_MS = 20000,
    ARGUMENTS_MAX = 32
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static pid_t start(const char *const *arguments, int out, int err)
{
    char *argv[ARGUMENTS_MAX + 2] = {(char *)"stallbox"};
    size_t count = 0;
    while (arguments[count] != NULL) {
        assert_true(count < ARGUMENTS_MAX);
        argv[count + 1] = (char *)arguments[count];
        count++;
    }
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(out, STDOUT_FILENO);
        dup2(err, STDERR_FILENO);
        execv(STALLBOX_BINARY, argv);
        _exit(127);
    }
    return pid;
}

int wait_for_tool(pid_t pid)
{
    int64_t deadline = now_ms() + PATIENCE_MS;
    int status;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (now_ms() > deadline) {
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            fail_msg("process %d did not end", (int)pid);
        }
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void read_back(FILE *file, char *text_out, size_t bytes)
{
    rewind(file);
    size_t got = fread(text_out, 1, bytes - 1, file);
    text_out[got] = '\0';
    fclose(file);
}

struct tool_result run_tool(const char *const *arguments)
{
    struct tool_result result;
    FILE *out = tmpfile(), *err = tmpfile(); /* files, not pipes, so that nobody has to read while it runs */
    assert_non_null(out);
    assert_non_null(err);
    result.status = wait_for_tool(start(arguments, fileno(out), fileno(err)));
    read_back(out, result.out, sizeof result.out);
    read_back(err, result.err, sizeof result.err);
    return result;
}

pid_t start_tool(const char *const *arguments, int *err_out)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = start(arguments, STDOUT_FILENO, ends[1]);
    close(ends[1]);
    *err_out = ends[0];
    return pid;
}

bool read_until(int descriptor, const char *text, char *text_out, size_t bytes)
{
    int64_t deadline = now_ms() + PATIENCE_MS;
    size_t have = 0;
    text_out[0] = '\0';
    while (strstr(text_out, text) == NULL) {
        struct pollfd wait = {.fd = descriptor, .events = POLLIN};
        int64_t left = deadline - now_ms();
        if (left <= 0 || have + 1 >= bytes || poll(&wait, 1, (int)left) <= 0) {
            return false;
        }
        ssize_t got = read(descriptor, text_out + have, bytes - 1 - have);
        if (got <= 0) {
            return false;
        }
        have += (size_t)got;
        text_out[have] = '\0';
    }
    return true;
}

char *make_folder(void)
{
    char *folder = strdup("/tmp/stallbox-test.XXXXXX");
    assert_non_null(folder);
    assert_non_null(mkdtemp(folder));
    return folder;
}

static int remove_item(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status, (void)kind, (void)place;
    return remove(path);
}

void remove_folder(char *folder)
{
    assert_int_equal(nftw(folder, remove_item, 16, FTW_DEPTH | FTW_PHYS), 0);
    free(folder);
}

char *write_file(const char *parent, const char *name, const void *bytes, size_t count, unsigned mode)
{
    char *path = NULL;
    assert_true(asprintf(&path, "%s/%s", parent, name) > 0);
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, bytes, count), (ssize_t)count);
    assert_int_equal(fchmod(descriptor, mode), 0);
    assert_int_equal(close(descriptor), 0);
    return path;
}
