/* SPDX-License-Identifier: Apache-2.0 */
/* collector_process.c - runs the server's own fixture in a forked process. */
#include "collector_process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server_fixture.h"

static _Noreturn void give_up(const char *what)
{
    perror(what);
    abort();
}

static _Noreturn void serve(int told, int hold)
{
    struct server_fixture fixture;
    char end;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    fixture_init(&fixture);
    fixture_start(&fixture);
    if (write(told, &fixture.port, sizeof fixture.port) != sizeof fixture.port) {
        _exit(1);
    }
    while (read(hold, &end, 1) > 0) {
    }
    fixture_finish(&fixture);
    _exit(0);
}

void sbx_collector_process_start(struct sbx_collector_process *collector)
{
    int told[2], hold[2];
    if (pipe2(told, O_CLOEXEC) != 0 || pipe2(hold, O_CLOEXEC) != 0) {
        give_up("pipe");
    }
    collector->pid = fork();
    if (collector->pid < 0) {
        give_up("fork");
    }
    if (collector->pid == 0) {
        close(told[0]);
        close(hold[1]);
        serve(told[1], hold[0]);
    }
    close(told[1]);
    close(hold[0]);
    collector->hold = hold[1];
    if (read(told[0], &collector->port, sizeof collector->port) != sizeof collector->port) {
        give_up("the collector did not start");
    }
    close(told[0]);
    snprintf(collector->url, sizeof collector->url, "http://127.0.0.1:%u", collector->port);
}

void sbx_collector_process_stop(struct sbx_collector_process *collector)
{
    int status;
    close(collector->hold);
    if (waitpid(collector->pid, &status, 0) != collector->pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        give_up("the collector did not end well");
    }
}

unsigned sbx_collector_process_stored(const struct sbx_collector_process *collector)
{
    return (unsigned)metric(collector->port, "stallbox_snapshots_stored_total");
}

unsigned sbx_collector_process_duplicates(const struct sbx_collector_process *collector)
{
    return (unsigned)metric(collector->port, "stallbox_snapshots_duplicates_total");
}
