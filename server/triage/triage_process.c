/* SPDX-License-Identifier: Apache-2.0 */
/* triage_process.c - a socket, a clock, and the end of a worker that exceeds its bounds. */
#include "triage_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "worker_sandbox.h"

enum {
    LOOK_MS = 50,          /* between two looks at the worker's processor time */
    WAITS_MAX_MS = 120000, /* time spent waiting for a file or a symbol server, apart from computing */
    SANITIZED_TIMES = 20,  /* a sanitizer makes it so many times slower */
};

struct sbx_triage_process {
    struct sbx_triage_nursery *nursery;
    const struct sbx_byte_buffer *greeting;
    uint32_t cpu_ms;
    pid_t worker; /* 0: there is none now */
    int socket;
};

struct sbx_triage_process *sbx_triage_process_create(struct sbx_triage_nursery *nursery,
                                                     const struct sbx_byte_buffer *greeting, uint32_t cpu_ms)
{
    struct sbx_triage_process *process = malloc(sizeof(*process));
    if (process)
        *process = (struct sbx_triage_process){
            .nursery = nursery,
            .greeting = greeting,
            .cpu_ms = sbx_worker_sandbox_is_real() ? cpu_ms : cpu_ms * SANITIZED_TIMES,
        };
    return process;
}

/* End the worker. Returns how it ended, as of waitpid(). */
static int bury(struct sbx_triage_process *process)
{
    int status = 0;
    if (process->worker == 0)
        return 0;
    close(process->socket);
    if (sbx_triage_nursery_bury(process->nursery, process->worker, &status) < 0)
        status = SIGKILL; /* the nursery is gone, and the worker with it */
    process->worker = 0;
    return status;
}

void sbx_triage_process_destroy(struct sbx_triage_process *process)
{
    if (!process)
        return;
    bury(process);
    free(process);
}

/* ---- time ---- */

static int64_t now_ms(clockid_t clock)
{
    struct timespec now;
    return clock_gettime(clock, &now) == 0 ? now.tv_sec * 1000ll + now.tv_nsec / 1000000 : 0;
}

/* The bounds of one task. */
struct patience {
    clockid_t cpu_clock; /* processor time of the worker */
    bool has_clock;
    int64_t cpu_until_ms, until_ms;
};

static struct patience begin_patience(const struct sbx_triage_process *process)
{
    struct patience patience = {.until_ms = now_ms(CLOCK_MONOTONIC) + WAITS_MAX_MS + process->cpu_ms * 10ll};
    patience.has_clock = clock_getcpuclockid(process->worker, &patience.cpu_clock) == 0;
    if (patience.has_clock)
        patience.cpu_until_ms = now_ms(patience.cpu_clock) + process->cpu_ms;
    return patience;
}

/* Wait until the socket is ready for `events`. Returns 0, -ETIME when the processor time is used up, or -ETIMEDOUT. */
static int wait_for(const struct sbx_triage_process *process, const struct patience *patience, short events)
{
    for (;;) {
        struct pollfd wait = {.fd = process->socket, .events = events};
        int ready = poll(&wait, 1, LOOK_MS);
        if (ready > 0)
            return 0;
        if (patience->has_clock && now_ms(patience->cpu_clock) > patience->cpu_until_ms)
            return -ETIME;
        if (now_ms(CLOCK_MONOTONIC) > patience->until_ms)
            return -ETIMEDOUT;
    }
}

/* ---- talking ---- */

static int put(const struct sbx_triage_process *process, const struct patience *patience, const void *bytes,
               size_t count)
{
    for (size_t done = 0; done < count;) {
        ssize_t sent = send(process->socket, (const char *)bytes + done, count - done, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0) {
            done += (size_t)sent;
        } else if (sent < 0 && errno == EAGAIN) {
            int result = wait_for(process, patience, POLLOUT);
            if (result < 0)
                return result;
        } else if (sent == 0 || errno != EINTR) {
            return -EPIPE;
        }
    }
    return 0;
}

static int get(const struct sbx_triage_process *process, const struct patience *patience, void *bytes, size_t count)
{
    for (size_t done = 0; done < count;) {
        ssize_t got = recv(process->socket, (char *)bytes + done, count - done, MSG_DONTWAIT);
        if (got > 0) {
            done += (size_t)got;
        } else if (got < 0 && errno == EAGAIN) {
            int result = wait_for(process, patience, POLLIN);
            if (result < 0)
                return result;
        } else if (got == 0 || errno != EINTR) {
            return -EPIPE;
        }
    }
    return 0;
}

static int get_body(const struct sbx_triage_process *process, const struct patience *patience, uint64_t bytes,
                    struct sbx_byte_buffer *body)
{
    char piece[16384];
    if (bytes > SBX_ANSWER_BYTES_MAX)
        return -EFBIG;
    while (bytes > 0) {
        size_t next = bytes < sizeof(piece) ? (size_t)bytes : sizeof(piece);
        int result = get(process, patience, piece, next);
        if (result < 0)
            return result;
        sbx_byte_buffer_append(body, piece, next);
        bytes -= next;
    }
    return body->failed ? -ENOMEM : 0;
}

/* Send a task and receive its answer. Returns 0, or -errno of the socket. */
static int talk(const struct sbx_triage_process *process, const struct sbx_triage_task *task,
                struct sbx_triage_answer *answer)
{
    const struct sbx_task_head head = {.kind = task->kind,
                                       .rendering = task->rendering,
                                       .end = task->end,
                                       .arrival_count = task->arrival_count,
                                       .envelope_bytes = task->envelope->used};
    struct sbx_answer_head said;
    struct patience patience = begin_patience(process);
    int result = put(process, &patience, &head, sizeof(head));
    if (result == 0)
        result = put(process, &patience, task->arrivals, task->arrival_count * sizeof(*task->arrivals));
    if (result == 0)
        result = put(process, &patience, task->envelope->data, task->envelope->used);
    if (result == 0)
        result = get(process, &patience, &said, sizeof(said));
    if (result == 0)
        result = get_body(process, &patience, said.body_bytes, &answer->body);
    if (result < 0)
        return result;
    said.why[sizeof(said.why) - 1] = said.store_words[sizeof(said.store_words) - 1] = '\0';
    answer->outcome = SBX_PROCESS_ANSWERED;
    answer->result = said.result > 0 ? -EPROTO : said.result;
    answer->lack = said.result != 0 || said.lack > SBX_LACKS_STORE ? SBX_LACKS_NOTHING : (enum sbx_lack)said.lack;
    answer->store_trouble =
        said.store_trouble > SBX_STORE_IS_AWAY ? SBX_STORE_IS_WELL : (enum sbx_store_trouble)said.store_trouble;
    snprintf(answer->why, sizeof(answer->why), "%s", said.why);
    snprintf(answer->store_words, sizeof(answer->store_words), "%s", said.store_words);
    return 0;
}

/* Explain why a worker left no answer. */
static void explain(const struct sbx_triage_process *process, int result, int status, struct sbx_triage_answer *answer)
{
    int signal_number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (result == -ETIME) {
        answer->outcome = SBX_PROCESS_SLOW;
        snprintf(answer->why, sizeof(answer->why), "it took more than %g s of processor time",
                 (double)process->cpu_ms / 1000);
    } else if (result == -EFBIG) {
        answer->outcome = SBX_PROCESS_LARGE;
        snprintf(answer->why, sizeof(answer->why), "it has more to say than %d MiB", SBX_ANSWER_BYTES_MAX >> 20);
    } else if (WIFEXITED(status) && WEXITSTATUS(status) == SBX_WORKER_CANNOT_BEGIN) {
        answer->outcome = SBX_PROCESS_NONE;
        snprintf(answer->why, sizeof(answer->why), "a process to triage in could not begin");
    } else if (result != -EPIPE || signal_number == SIGKILL || signal_number == SIGTERM) {
        answer->outcome = SBX_PROCESS_KILLED;
        snprintf(answer->why, sizeof(answer->why), "%s",
                 result == -ETIMEDOUT ? "nothing came of it for two minutes"
                 : result == -ENOMEM  ? "there is no memory for it now"
                                      : "its process was killed, perhaps for lack of memory");
    } else {
        answer->outcome = SBX_PROCESS_DIED;
        snprintf(answer->why, sizeof(answer->why), "its process ended by %s",
                 signal_number ? strsignal(signal_number) : "an early exit");
    }
}

void sbx_triage_process_end(struct sbx_triage_process *process)
{
    bury(process);
}

static void ask_once(struct sbx_triage_process *process, const struct sbx_triage_task *task,
                     struct sbx_triage_answer *answer)
{
    struct sbx_triage_task own = *task;
    *answer = (struct sbx_triage_answer){.outcome = SBX_PROCESS_NONE};
    int result = 0;
    if (process->worker == 0) {
        result = sbx_triage_nursery_make(process->nursery, &process->worker, &process->socket);
        if (result < 0) {
            process->worker = 0;
            answer->result = result;
            snprintf(answer->why, sizeof(answer->why), "no process to triage in: %s", strerror(-result));
            return;
        }
        own.arrival_count = 0; /* a new worker knows nothing yet */
        struct patience patience = begin_patience(process);
        result = put(process, &patience, process->greeting->data, process->greeting->used);
    }
    if (result == 0)
        result = talk(process, &own, answer);
    if (result == 0)
        return;
    sbx_byte_buffer_finish(&answer->body);
    explain(process, result, bury(process), answer);
}

void sbx_triage_process_ask(struct sbx_triage_process *process, const struct sbx_triage_task *task,
                            struct sbx_triage_answer *answer)
{
    bool was_new = process->worker == 0;
    ask_once(process, task, answer);
    if (answer->lack == SBX_LACKS_NOTHING && answer->store_trouble != SBX_STORE_IS_AWAY)
        return;
    bury(process);
    if (was_new || answer->lack == SBX_LACKS_NOTHING)
        return;
    sbx_byte_buffer_finish(&answer->body);
    ask_once(process, task, answer);
    if (answer->lack != SBX_LACKS_NOTHING || answer->store_trouble == SBX_STORE_IS_AWAY)
        bury(process);
}
