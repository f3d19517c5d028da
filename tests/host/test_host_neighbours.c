/* SPDX-License-Identifier: Apache-2.0 */
/* test_host_neighbours.c - other users of the machine, and a program that was taken over after it gave up its rights:
 * what they can do to a process with more rights (docs/SECURITY.md, "Other users of the machine"). Runs as root,
 * because root has more rights. */
#include "host_case.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "durable_file.h"
#include "recording_format.h"
#include "recovery_decision.h"

enum {
    NOT_TO_BE_HAD = 77,
    STRANGER = 64001, /* user ids that need no account */
    VICTIM = 64002,
    TEXT_BYTES = 65536
};

static char their_folder[] = "/tmp/sbx-theirs-XXXXXX"; /* the other user's folder */

static void be_user(uid_t user)
{
    if (setgroups(0, NULL) != 0 || setgid(user) != 0 || setuid(user) != 0) {
        _exit(NOT_TO_BE_HAD);
    }
}

static int set_up(void **state)
{
    strcpy(their_folder + sizeof their_folder - 7, "XXXXXX");
    if (host_set_up(state) != 0 || mkdtemp(their_folder) == NULL || chmod(their_folder, 0755) != 0) {
        return -1;
    }
    return geteuid() == 0 ? chown(their_folder, STRANGER, STRANGER) : 0;
}

static int tear_down(void **state)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s' /dev/shm/stallbox-%d* /tmp/stallbox-%d*", their_folder, VICTIM,
             VICTIM);
    return system(command) == 0 ? host_tear_down(state) : -1;
}

#define NEIGHBOUR_TEST(test)                 \
    {                                        \
#test, test, set_up, tear_down, NULL \
    }

static bool needs_root(void)
{
    if (geteuid() != 0) {
        host_skip("only root can be a stranger");
        return false;
    }
    return true;
}

/* Wait for its end, with a time limit: -1 when it hangs. */
static int end_in_time(pid_t pid)
{
    for (int i = 0; i < 6000; i++) {
        int status;
        if (waitpid(pid, &status, WNOHANG) == pid) {
            return status;
        }
        host_pause_ms(10);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return -1;
}

/* ---- a recording that somebody else has written ---- */

/* The recording that this process has mapped. */
static struct sbx_recording_header *own_recording(void)
{
    char line[1024];
    struct sbx_recording_header *header = NULL;
    FILE *maps = fopen("/proc/self/maps", "re");
    host_expect(maps != NULL, "maps can be read");
    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long begin, end;
        char rights[8];
        if (strstr(line, SBX_RECORDING_SUFFIX) != NULL && sscanf(line, "%lx-%lx %7s", &begin, &end, rights) == 3 &&
            strcmp(rights, "rw-s") == 0 && end - begin > 65536) {
            header = (struct sbx_recording_header *)begin; /* NOLINT(performance-no-int-to-ptr) */
        }
    }
    fclose(maps);
    host_expect(header != NULL, "the recording is mapped");
    return header;
}

static void name_own_snapshot(const struct sbx_recording_header *header, char name[64])
{
    uint8_t id[16];
    sbx_recovery_snapshot_id(header->session_id, id);
    for (unsigned i = 0; i < sizeof id; i++) {
        snprintf(name + 2 * i, 3, "%02x", id[i]);
    }
    strcpy(name + 32, SBX_RAW_SUFFIX);
}

/* Acts as a daemon that was taken over after it gave up its rights. Its recording names a folder of the other user as
 * its spool, and the content of that folder is chosen by him. */
static struct sbx_recording_header *be_taken_over(void)
{
    struct sbx_recording_header *header = own_recording();
    host_loop(30, NULL);
    be_user(STRANGER);
    snprintf(header->spool_path, sizeof header->spool_path, "%s/spool", getenv("HOST_THEIRS"));
    return header;
}

static void names_a_folder_of_roots(void)
{
    char path[256];
    struct sbx_recording_header *header = be_taken_over();
    host_expect(mkdir(header->spool_path, 0755) == 0, "the stranger has a spool");
    snprintf(path, sizeof path, "%.200s/raw", header->spool_path);
    host_expect(symlink(getenv("HOST_ONLY_ROOT"), path) == 0, "with a way to root's");
    raise(SIGSEGV);
}

static void loc_01_a_recording_that_names_another_folder_leads_root_nowhere(void **state)
{
    char only_root[128], text[TEXT_BYTES];
    (void)state;
    if (!needs_root()) {
        return;
    }
    snprintf(only_root, sizeof only_root, "%s/only-root.d", host_folder);
    assert_int_equal(mkdir(only_root, 0700), 0);
    setenv("HOST_ONLY_ROOT", only_root, 1);
    setenv("HOST_THEIRS", their_folder, 1);
    int status =
        end_in_time(host_begin(&(struct host_order){.body = "names_a_folder_of_roots", .has_companion = true}));
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    assert_int_equal(host_count_files(only_root, ""), 0);
    assert_int_equal(host_count_files(their_folder, ""), 1); /* the file that he made himself */
    host_companion_said(text, sizeof text);
    assert_non_null(strstr(text, "1 stall recorded")); /* the crash, in the spool that the companion was started with */
    assert_int_equal(host_count_files(host_recordings, SBX_RECORDING_SUFFIX), 0);
}

static void plants_a_fifo(void)
{
    char name[64], path[400];
    struct sbx_recording_header *header = be_taken_over();
    name_own_snapshot(header, name);
    host_expect(mkdir(header->spool_path, 0755) == 0, "the stranger has a spool");
    snprintf(path, sizeof path, "%.200s/raw", header->spool_path);
    host_expect(mkdir(path, 0755) == 0, "whole");
    snprintf(path, sizeof path, "%.200s/raw/.%s.tmp", header->spool_path, name);
    host_expect(mkfifo(path, 0666) == 0, "with a pipe that nobody reads");
    raise(SIGSEGV);
}

static void loc_02_a_pipe_where_a_snapshot_would_be_written_holds_nobody_up(void **state)
{
    (void)state;
    if (!needs_root()) {
        return;
    }
    setenv("HOST_THEIRS", their_folder, 1);
    int status = end_in_time(host_begin(&(struct host_order){.body = "plants_a_fifo", .has_companion = true}));
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

/* ---- a folder that is taken ---- */

static char output[TEXT_BYTES];

/* Run a shell line as VICTIM, with an empty environment. Returns its status and its output. */
static int as_victim(const char *line)
{
    int channel[2], status;
    assert_int_equal(pipe(channel), 0);
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char home[160], *const environment[] = {"PATH=/usr/bin:/bin", home, NULL};
        snprintf(home, sizeof home, "HOME=%s/home", their_folder);
        dup2(channel[1], STDOUT_FILENO);
        dup2(channel[1], STDERR_FILENO);
        be_user(VICTIM);
        execle("/bin/sh", "sh", "-c", line, (char *)NULL, environment);
        _exit(NOT_TO_BE_HAD);
    }
    close(channel[1]);
    FILE *from = fdopen(channel[0], "r");
    output[fread(output, 1, sizeof output - 1, from)] = 0;
    fclose(from);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

/* Is a program of VICTIM recorded, and does a later recovery find its recording? */
static void expect_recorded(void)
{
    char home[160], line[1024];
    snprintf(home, sizeof home, "%s/home", their_folder);
    assert_true(mkdir(home, 0700) == 0 || errno == EEXIST);
    assert_int_equal(chown(home, VICTIM, VICTIM), 0);
    snprintf(line, sizeof line,
             "rm -rf \"$HOME/spool\"; '%s' run -q -s \"$HOME/spool\" -- sh -c \"'%s' ctl \\$\\$ snapshot; kill -SEGV "
             "\\$\\$\"",
             HOST_TOOL, HOST_TOOL);
    int status = as_victim(line);
    if (strstr(output, "snapshot written") == NULL) {
        fail_msg("not recorded: status %d: %s", status, output);
    }
    /* The crash was found too: both the manual snapshot and the crash are packed. */
    snprintf(line, sizeof line, "ls \"$HOME/spool\"/*.sbx | wc -l");
    as_victim(line);
    assert_int_equal(atoi(output), 2);
    /* If a companion is killed, the next one finds its recording. After a second our handler for fatal signals is
     * set. */
    snprintf(line, sizeof line,
             "rm -rf \"$HOME/spool\"; '%s' run -q -s \"$HOME/spool\" -- sh -c 'kill -9 $PPID; "
             "for i in $(seq 300); do %s ctl $$ status | grep -q SEGV && break; sleep 0.1; done; kill -SEGV $$'; "
             "for i in $(seq 100); do sleep 0.1; '%s' run -q -s \"$HOME/spool\" -- true; "
             "ls \"$HOME/spool\"/*.sbx && exit 0; done; exit 3",
             HOST_TOOL, HOST_TOOL, HOST_TOOL);
    status = as_victim(line);
    if (status != 0) {
        fail_msg("not found again: status %d: %s", status, output);
    }
}

static void loc_03_a_folder_that_another_made_first_does_not_switch_the_recorder_off(void **state)
{
    char place[64], target[128];
    (void)state;
    if (!needs_root()) {
        return;
    }
    snprintf(place, sizeof place, "/dev/shm/stallbox-%d", VICTIM);
    snprintf(target, sizeof target, "%s/target", their_folder);
    assert_int_equal(mkdir(target, 0777), 0);
    assert_int_equal(chmod(target, 0777), 0);
    for (int kind = 0; kind < 4; kind++) {
        print_message("%s\n", kind == 0   ? "another's folder"
                              : kind == 1 ? "a link"
                              : kind == 2 ? "a file"
                                          : "mode 0777");
        if (kind == 0) {
            assert_int_equal(mkdir(place, 0777), 0);
            assert_int_equal(chmod(place, 0777), 0);
            assert_int_equal(chown(place, STRANGER, STRANGER), 0);
        } else if (kind == 1) {
            assert_int_equal(symlink(target, place), 0);
        } else if (kind == 2) {
            int file = open(place, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
            assert_true(file >= 0);
            close(file);
        } else {
            assert_int_equal(mkdir(place, 0777), 0);
            assert_int_equal(chmod(place, 0777), 0);
            assert_int_equal(chown(place, VICTIM, VICTIM), 0);
        }
        expect_recorded();
        assert_int_equal(host_count_files(target, ""), 0);
        assert_true(unlink(place) == 0 || rmdir(place) == 0);
    }
}

static void loc_04_a_recorder_without_a_folder_says_so_once_and_the_program_runs(void **state)
{
    char line[1024], place[160];
    (void)state;
    if (!needs_root()) {
        return;
    }
    snprintf(place, sizeof place, "%s/taken", their_folder);
    assert_int_equal(mkdir(place, 0777), 0);
    assert_int_equal(chmod(place, 0777), 0);
    assert_int_equal(chmod(their_folder, 0777), 0);
    snprintf(line, sizeof line, "STALLBOX_RECORDINGS=%s '%s' run -s %s/s -- echo it runs", place, HOST_TOOL,
             their_folder);
    assert_int_equal(as_victim(line), 0);
    assert_non_null(strstr(output, "it runs"));
    const char *said = strstr(output, "nothing is recorded of ");
    assert_non_null(said);
    assert_null(strstr(said + 1, "nothing is recorded of "));
    assert_non_null(strstr(output, place));
    assert_non_null(strstr(output, "not to us"));
}

/* ---- another pid namespace ---- */

/* Is the file locked by its writer? A sweep may remove it between its creation and its lock: the writer then makes another one. */
static bool is_locked(const char *name)
{
    int file = open(name, O_RDONLY | O_CLOEXEC);
    bool is = file >= 0 && flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (file >= 0) {
        close(file);
    }
    return is;
}

/* A process that writes to the spool, stopped in the middle: its temporary file in `folder` is `name_out`. */
static pid_t stop_in_the_middle(const char *folder, char *name_out, size_t bytes)
{
    enum {
        MUCH = 192 << 20
    };
    for (int tries = 0; tries < 50; tries++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL); /* if a check fails here, it must not stay stopped for ever */
            int into = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
            void *content = calloc(1, MUCH);
            _exit(content == NULL
                      ? 1
                      : sbx_durable_file_write(into, "0123456789abcdef0123456789abcdef.sbx", content, MUCH));
        }
        for (int looks = 0; looks < 100000 && waitpid(pid, NULL, WNOHANG) == 0; looks++) {
            DIR *listing = opendir(folder);
            const char *found = NULL;
            for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
                size_t length = strlen(entry->d_name);
                if (entry->d_name[0] == '.' && length > 4 && strcmp(entry->d_name + length - 4, ".tmp") == 0) {
                    snprintf(name_out, bytes, "%s/%.200s", folder, entry->d_name);
                    found = name_out;
                }
            }
            closedir(listing);
            if (found != NULL) {
                int status;
                assert_int_equal(kill(pid, SIGSTOP), 0);
                assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
                if (WIFSTOPPED(status) && is_locked(found)) {
                    return pid;
                }
                break;
            }
        }
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
    fail_msg("the writer could not be stopped in the middle");
    return -1;
}

static int run_in_another_namespace(void)
{
    char line[512];
    snprintf(line, sizeof line, "unshare -p -f --mount-proc '%s' run -q -s '%s' -- true", HOST_TOOL, host_spool);
    return system(line);
}

static void loc_05_a_companion_of_another_pid_namespace_leaves_what_a_living_writer_has_begun(void **state)
{
    char name[512];
    (void)state;
    if (!needs_root()) {
        return;
    }
    if (system("unshare -p -f --mount-proc true") != 0) {
        host_skip("pid namespaces are not to be had");
        return;
    }
    assert_int_equal(mkdir(host_spool, 0700), 0);
    pid_t writer = stop_in_the_middle(host_spool, name, sizeof name);
    assert_int_equal(run_in_another_namespace(), 0);
    assert_int_equal(access(name, F_OK), 0);
    /* The writer continues, and has lost nothing. */
    int status;
    assert_int_equal(kill(writer, SIGCONT), 0);
    assert_int_equal(waitpid(writer, &status, 0), writer);
    assert_int_equal(status, 0);
    assert_int_equal(host_count_files(host_spool, ".sbx"), 1);
    /* A writer that was killed there has released its lock. */
    writer = stop_in_the_middle(host_spool, name, sizeof name);
    assert_int_equal(kill(writer, SIGKILL), 0);
    assert_int_equal(waitpid(writer, NULL, 0), writer);
    assert_int_equal(access(name, F_OK), 0);
    assert_int_equal(run_in_another_namespace(), 0);
    assert_int_equal(access(name, F_OK), -1);
}

int main(int argc, char **argv)
{
    static const struct host_body bodies[] = {
        HOST_BODY(names_a_folder_of_roots),
        HOST_BODY(plants_a_fifo),
    };
    static const struct CMUnitTest tests[] = {
        NEIGHBOUR_TEST(loc_01_a_recording_that_names_another_folder_leads_root_nowhere),
        NEIGHBOUR_TEST(loc_02_a_pipe_where_a_snapshot_would_be_written_holds_nobody_up),
        NEIGHBOUR_TEST(loc_03_a_folder_that_another_made_first_does_not_switch_the_recorder_off),
        NEIGHBOUR_TEST(loc_04_a_recorder_without_a_folder_says_so_once_and_the_program_runs),
        NEIGHBOUR_TEST(loc_05_a_companion_of_another_pid_namespace_leaves_what_a_living_writer_has_begun),
    };
    return host_main(argc, argv, bodies, sizeof bodies / sizeof bodies[0], tests, sizeof tests / sizeof tests[0]);
}
