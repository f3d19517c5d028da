/* SPDX-License-Identifier: Apache-2.0 */
/* storm_host.c - eleven workers of one program, one of which keeps ten waiting.
 *
 *   storm_host FOLDER [SECONDS]
 *
 * The keeper locks the file FOLDER/locked in one message and holds it over several messages, as a transaction does.
 * When the others have waited for half a second, it works for SECONDS (6) in keeper_digs() and then unlocks the file:
 * its stall begins, and is reported, after theirs. The workers' process ids are written to FOLDER/pids, the keeper's
 * first. All of them poll until FOLDER/end exists. */
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    WAITERS = 10,
    TURN_MS = 20,
    TURNS_BEFORE = 50, /* after all are recorded, so that their loops are known */
    TURNS_KEPT = 25
};

static char locked[512], end[512];
static int seconds = 6;
static struct {
    _Atomic int may_begin, is_locked, asking, digs, has_dug;
} * shared;

/* Until the first process says that it is enough. No function is called here, so that nothing else is recorded. */
__attribute__((noinline)) static void keeper_digs(int file)
{
    volatile unsigned sum = 0;
    atomic_store(&shared->digs, 1);
    while (atomic_load(&shared->has_dug) == 0) {
        for (unsigned i = 0; i < 100000; i++) {
            sum += i;
        }
    }
    flock(file, LOCK_UN);
}

__attribute__((noinline)) static void waiter_asks(int file)
{
    atomic_fetch_add(&shared->asking, 1);
    flock(file, LOCK_EX);
    flock(file, LOCK_UN);
    __asm__ volatile("");
}

/* Each worker opens the file itself, because a lock belongs to an open file. */
static void serve(bool is_keeper)
{
    int file = open(locked, O_RDWR | O_CLOEXEC);
    bool has_worked = false, is_over = false;
    for (int turn = 0, begun = 0; !is_over; turn++) {
        poll(NULL, 0, TURN_MS);
        if (atomic_load(&shared->may_begin) == 0) {
            begun = turn;
        } else if (is_keeper && turn - begun == TURNS_BEFORE) {
            flock(file, LOCK_EX);
            atomic_store(&shared->is_locked, 1);
        } else if (is_keeper && turn - begun > TURNS_BEFORE && atomic_load(&shared->asking) < WAITERS) {
            begun = turn - TURNS_BEFORE - 1; /* until all of them wait for the lock */
        } else if (is_keeper && turn - begun == TURNS_BEFORE + TURNS_KEPT) {
            keeper_digs(file);
        } else if (!is_keeper && !has_worked && atomic_load(&shared->is_locked) != 0) {
            has_worked = true;
            waiter_asks(file);
        }
        is_over = access(end, F_OK) == 0;
    }
    close(file);
}

/* This process and its workers are recorded; without a recorder there is nothing to wait for. */
static bool all_are_recorded(void)
{
    char pattern[600];
    glob_t found;
    const char *recordings = getenv("STALLBOX_RECORDINGS");
    snprintf(pattern, sizeof pattern, "%s/*.rec", recordings != NULL ? recordings : "");
    bool is_there = recordings == NULL || (glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc > 1 + WAITERS);
    return is_there;
}

int main(int argc, char **argv)
{
    char path[512];
    if (argc < 2) {
        return 2;
    }
    seconds = argc > 2 ? atoi(argv[2]) : seconds;
    snprintf(locked, sizeof locked, "%s/locked", argv[1]);
    snprintf(end, sizeof end, "%s/end", argv[1]);
    snprintf(path, sizeof path, "%s/pids", argv[1]);
    close(open(locked, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    poll(NULL, 0, TURN_MS); /* the recorder begins */
    FILE *pids = fopen(path, "we");
    for (int i = 0; i < 1 + WAITERS && pids != NULL; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            serve(i == 0);
            _exit(0);
        }
        fprintf(pids, "%d\n", (int)pid);
        fflush(pids);
    }
    while (!all_are_recorded() && access(end, F_OK) != 0) {
        poll(NULL, 0, TURN_MS);
    }
    atomic_store(&shared->may_begin, 1);
    for (int dug_ms = 0; waitpid(-1, NULL, WNOHANG) >= 0; dug_ms += atomic_load(&shared->digs) * TURN_MS) {
        poll(NULL, 0, TURN_MS);
        atomic_store(&shared->has_dug, dug_ms > seconds * 1000 || access(end, F_OK) == 0);
    }
    return pids == NULL || fclose(pids) != 0;
}
