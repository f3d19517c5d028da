/* SPDX-License-Identifier: Apache-2.0 */
/* bench_intake.c - how many payloads per second a server takes in, and how many it completes. Several senders post at
 * the same time, until the last payload has its verdict.
 *
 * The payloads are stalls of a redis-server, from many machines and processes: several shapes of stacks, and each
 * payload has its own ids. With --peer PROGRAM, another build of the server does the same in every round, in turn. Then
 * the ratio is printed. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "payload_builder.h"
#include "rounds.h"

enum {
    STALLS_DEFAULT = 2000,
    SENDERS_DEFAULT = 4,
    ROUNDS_DEFAULT = 3,
    SENDERS_MAX = 64,
    OPTIONS_MAX = 16,
    PAGES = 20,   /* requests of each page */
    POLLS = 1000, /* for a policy, and for active days */
    WAITS_S = 3600
};

struct payload {
    uint8_t *bytes;
    size_t count;
};

struct sender {
    pthread_t thread;
    int first;       /* first payload; it sends each senders-th one from there */
    double *took_ms; /* by payload */
    bool has_failed;
};

static struct {
    int stalls, senders, rounds;
    struct payload *payloads;
    double *took_ms;
    pid_t server;
    uint16_t port;
    char folder[64];
    char **options; /* for the server; NULL: none */
    double cpu_ms, own_cpu_ms,
        data_kb;      /* of the last round, until the last verdict; own: of the server without its workers */
    double looks_ms;  /* of the server: the time after that */
    const char *keep; /* where the data folder of the last round is moved; NULL: it is removed */
} bench;

enum measure {
    MEASURE_DONE,  /* payloads a second from the first post to the last verdict */
    MEASURE_TAKEN, /* payloads a second from the first post to the last answer */
    MEASURE_P50,   /* of answers, ms */
    MEASURE_P99,
    MEASURE_RSS, /* MB of the server and its processes at the end */
    MEASURE_CPU, /* ms of CPU time of the server and its processes, per payload */
    MEASURE_CPU_OWN,
    MEASURE_DATA, /* bytes of its data folder, per payload */
    MEASURE_LIST, /* ms for a page, while the server is otherwise idle */
    MEASURE_STALL,
    MEASURE_POLL,   /* ms of the server's CPU time for a poll for an unchanged policy; each over its own connection */
    MEASURE_ACTIVE, /* the same for a report of an active day */
    MEASURES
};

static int add_size(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)path, (void)place;
    bench.data_kb += kind == FTW_F ? (double)status->st_size / 1000 : 0;
    return 0;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status, (void)kind, (void)place;
    return remove(path);
}

static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "bench_intake: %s: %s\n", what, strerror(errno));
    if (bench.server > 0)
        kill(bench.server, SIGKILL);
    exit(1);
}

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void sleep_ms(unsigned ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000l}, NULL);
}

/* ---- payloads ---- */

static void make_payloads(void)
{
    bench.payloads = calloc((size_t)bench.stalls, sizeof *bench.payloads);
    bench.took_ms = calloc((size_t)bench.stalls, sizeof *bench.took_ms);
    if (bench.payloads == NULL || bench.took_ms == NULL) {
        give_up("memory");
    }
    for (int i = 0; i < bench.stalls; i++) {
        struct sbx_payload_builder *builder;
        enum sbx_scenario scenario = (enum sbx_scenario)(i % SBX_SCENARIO_COUNT);
        uint8_t machine[16] = {1}, session[16] = {2};
        if (!sbx_scenario_build(scenario, true, (uint64_t)i + 1, &builder) &&
            !sbx_scenario_build(scenario, false, (uint64_t)i + 1, &builder)) {
            give_up("a payload cannot be made");
        }
        uint32_t number = (uint32_t)i % ((uint32_t)bench.stalls / 3 + 1);
        memcpy(machine + 4, &number, sizeof number);
        memcpy(session + 4, &i, sizeof i);
        sbx_builder_payload(builder)->rotating_id = (ProtobufCBinaryData){.len = 16, .data = machine};
        sbx_builder_payload(builder)->session_id = (ProtobufCBinaryData){.len = 16, .data = session};
        sbx_builder_envelope(builder, &bench.payloads[i].bytes, &bench.payloads[i].count);
        sbx_payload_builder_destroy(builder);
    }
}

/* ---- HTTP, one request after the other over one connection ---- */

static int dial(void)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(bench.port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static bool write_all(int fd, const void *bytes, size_t count, int flags)
{
    for (size_t done = 0; done < count;) {
        ssize_t put = send(fd, (const char *)bytes + done, count - done, MSG_NOSIGNAL | flags);
        if (put <= 0) {
            return false;
        }
        done += (size_t)put;
    }
    return true;
}

/* Reads one answer. The part of the body that fits goes to `body` (may be NULL). Returns its status; 0: there was
 * none. */
static int read_answer(int fd, char *body, size_t body_room)
{
    char head[8192];
    size_t used = 0;
    const char *end = NULL;
    while (end == NULL && used + 1 < sizeof head) {
        ssize_t got = recv(fd, head + used, sizeof head - 1 - used, 0);
        if (got <= 0) {
            return 0;
        }
        used += (size_t)got;
        head[used] = '\0';
        end = strstr(head, "\r\n\r\n");
    }
    const char *length = strcasestr(head, "content-length:");
    if (end != NULL && atoi(head + 9) == 304) {
        return 304; /* it has no body, and need not say so */
    }
    if (end == NULL || length == NULL || length > end) {
        return 0;
    }
    size_t bytes = strtoull(length + 15, NULL, 10), have = used - (size_t)(end + 4 - head), kept = 0;
    if (body != NULL) {
        kept = have < body_room - 1 ? have : body_room - 1;
        memcpy(body, end + 4, kept);
        body[kept] = '\0';
    }
    while (have < bytes) {
        char piece[16384];
        ssize_t got = recv(fd, piece, bytes - have < sizeof piece ? bytes - have : sizeof piece, 0);
        if (got <= 0) {
            return 0;
        }
        if (body != NULL) {
            size_t more = (size_t)got < body_room - 1 - kept ? (size_t)got : body_room - 1 - kept;
            memcpy(body + kept, piece, more);
            kept += more;
            body[kept] = '\0';
        }
        have += (size_t)got;
    }
    return atoi(head + 9);
}

/* Makes a request over its own connection. `headers`: each with its line end; `sent`: the body. Returns the status; 0:
 * there was no answer. */
static int ask(const char *method, const char *path, const char *headers, const char *sent, char *body,
               size_t body_room)
{
    char request[600];
    int fd = dial(), status = 0;
    int bytes = snprintf(request, sizeof request,
                         "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: %zu\r\n%s\r\n%s",
                         method, path, strlen(sent), headers, sent);
    if (fd >= 0 && write_all(fd, request, (size_t)bytes, 0)) {
        status = read_answer(fd, body, body_room);
    }
    if (fd >= 0) {
        close(fd);
    }
    return status;
}

static int get(const char *path, char *body, size_t body_room)
{
    return ask("GET", path, "", "", body, body_room);
}

static double metric(const char *name)
{
    static char text[1 << 16];
    char line[120];
    snprintf(line, sizeof line, "\n%s ", name);
    const char *found = get("/metrics", text, sizeof text) == 200 ? strstr(text, line) : NULL;
    return found == NULL ? -1 : strtod(found + strlen(line), NULL);
}

static void *send_all(void *context)
{
    struct sender *sender = context;
    int fd = dial();
    for (int i = sender->first; i < bench.stalls && fd >= 0; i += bench.senders) {
        char head[200];
        int bytes =
            snprintf(head, sizeof head, "POST /v1/snapshots HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %zu\r\n\r\n",
                     bench.payloads[i].count);
        double begin = now_ms();
        int status = write_all(fd, head, (size_t)bytes, MSG_MORE) &&
                             write_all(fd, bench.payloads[i].bytes, bench.payloads[i].count, 0)
                         ? read_answer(fd, NULL, 0)
                         : 0;
        bench.took_ms[i] = now_ms() - begin;
        if (status != 200) {
            sender->has_failed = true;
            break;
        }
    }
    sender->has_failed |= fd < 0;
    if (fd >= 0) {
        close(fd);
    }
    return NULL;
}

/* ---- a server ---- */

static void start_server(const char *program, const char *workers)
{
    char data[100], listen[32], log[100];
    snprintf(bench.folder, sizeof bench.folder, "/tmp/stallbox-intake.XXXXXX");
    if (mkdtemp(bench.folder) == NULL) {
        give_up(bench.folder);
    }
    snprintf(data, sizeof data, "%s/data", bench.folder);
    snprintf(log, sizeof log, "%s/log", bench.folder);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &bytes) != 0) {
        give_up("a port");
    }
    close(fd);
    bench.port = ntohs(address.sin_port);
    snprintf(listen, sizeof listen, "127.0.0.1:%u", bench.port);
    bench.server = fork();
    if (bench.server == 0) {
        int file = open(log, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        dup2(file, 2);
        char program_name[] = "stallbox", verb[] = "serve", data_name[] = "--data", listen_name[] = "--listen",
             workers_name[] = "--workers", count[16];
        char *arguments[OPTIONS_MAX + 8] = {program_name, verb, data_name, data, listen_name, listen};
        int used = 6;
        if (workers != NULL) {
            snprintf(count, sizeof count, "%s", workers);
            arguments[used++] = workers_name;
            arguments[used++] = count;
        }
        for (int i = 0; bench.options != NULL && bench.options[i] != NULL && i < OPTIONS_MAX; i++) {
            arguments[used++] = bench.options[i];
        }
        execv(program, arguments);
        _exit(127);
    }
    for (int i = 0; get("/healthz", NULL, 0) != 200; i++) {
        if (i == 1500 || waitpid(bench.server, NULL, WNOHANG) != 0) {
            bench.server = 0;
            give_up("the server does not start");
        }
        sleep_ms(20);
    }
}

/* Returns the CPU time of the server without its workers. */
static double own_cpu_ms(void)
{
    struct timespec own = {0};
    clockid_t clock;
    if (clock_getcpuclockid(bench.server, &clock) == 0) {
        clock_gettime(clock, &own);
    }
    return (double)own.tv_sec * 1e3 + (double)own.tv_nsec / 1e6;
}

static void stop_server(void)
{
    char data[100];
    struct rusage used;
    kill(bench.server, SIGTERM);
    wait4(bench.server, NULL, 0, &used);
    bench.server = 0;
    bench.cpu_ms = -bench.looks_ms + (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
                   (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e3;
    bench.data_kb = 0;
    nftw(bench.folder, add_size, 16, FTW_PHYS);
    snprintf(data, sizeof data, "%s/data", bench.folder);
    if (bench.keep != NULL && rename(data, bench.keep) != 0) {
        give_up(bench.keep);
    }
    nftw(bench.folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Returns the proportional memory of a process and its descendants in MB: shared pages count once. */
static double memory_of(pid_t pid)
{
    char path[300], line[200];
    double kilobytes = 0;
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", pid);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "Pss:", 4) == 0) {
            kilobytes = strtod(line + 4, NULL);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    double sum = kilobytes / 1024;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
    file = fopen(path, "r");
    int child;
    while (file != NULL && fscanf(file, "%d", &child) == 1) {
        sum += memory_of(child);
    }
    if (file != NULL) {
        fclose(file);
    }
    return sum;
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/* Returns the median time of several requests for a page. */
static double page_ms(const char *path)
{
    double took[PAGES];
    for (int i = 0; i < PAGES; i++) {
        double begin = now_ms();
        if (get(path, NULL, 0) != 200) {
            give_up(path);
        }
        took[i] = now_ms() - begin;
    }
    qsort(took, PAGES, sizeof took[0], by_size);
    return took[PAGES / 2];
}

/* Returns the server's CPU time for one such request. */
static double request_ms(const char *method, const char *path, const char *headers, const char *sent, int status)
{
    double begin = own_cpu_ms();
    for (int i = 0; i < POLLS; i++) {
        if (ask(method, path, headers, sent, NULL, 0) != status) {
            give_up(path);
        }
    }
    return (own_cpu_ms() - begin) / POLLS;
}

static void poll_policies(struct bench_series series[MEASURES])
{
    static const char path[] = "/v1/policy/0123456789abcdef0123456789abcdef";
    char headers[200] = "";
    char answer[4096];
    if (ask("PUT", path, "", "SBXP and what follows: the server does not look into it", NULL, 0) != 200) {
        give_up("a policy");
    }
    /* its tag */
    int fd = dial();
    int bytes =
        snprintf(answer, sizeof answer, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", path);
    ssize_t got =
        fd >= 0 && write_all(fd, answer, (size_t)bytes, 0) ? recv(fd, answer, sizeof answer - 1, MSG_WAITALL) : 0;
    answer[got > 0 ? got : 0] = '\0';
    const char *tag = strcasestr(answer, "etag:");
    if (fd < 0 || tag == NULL) {
        give_up("a policy's tag");
    }
    close(fd);
    snprintf(headers, sizeof headers, "If-None-Match:%.*s\r\n", (int)strcspn(tag + 5, "\r"), tag + 5);
    bench_series_add(&series[MEASURE_POLL], request_ms("GET", path, headers, "", 304));
    bench_series_add(&series[MEASURE_ACTIVE],
                     request_ms("POST", "/v1/active", "", "app=0123456789&version=1.2.3", 200));
}

static void run(const char *program, const char *workers, struct bench_series series[MEASURES])
{
    static char list[1 << 16];
    struct sender senders[SENDERS_MAX] = {0};
    start_server(program, workers);
    double begin = now_ms();
    for (int i = 0; i < bench.senders; i++) {
        senders[i].first = i;
        if (pthread_create(&senders[i].thread, NULL, send_all, &senders[i]) != 0) {
            give_up("a thread");
        }
    }
    for (int i = 0; i < bench.senders; i++) {
        pthread_join(senders[i].thread, NULL);
        if (senders[i].has_failed) {
            give_up("a payload was not taken");
        }
    }
    double taken = now_ms();
    while (metric("stallbox_store_pending") != 0) {
        if (now_ms() - taken > WAITS_S * 1e3) {
            give_up("triage does not end");
        }
        sleep_ms(100); /* in a database with tables for each day, this query costs as much as some payloads */
    }
    double done = now_ms();
    if (metric("stallbox_store_snapshots") != bench.stalls || metric("stallbox_store_failed") != 0) {
        give_up("some are missing or failed");
    }
    bench.own_cpu_ms = own_cpu_ms();
    qsort(bench.took_ms, (size_t)bench.stalls, sizeof bench.took_ms[0], by_size);
    bench_series_add(&series[MEASURE_DONE], bench.stalls / (done - begin) * 1e3);
    bench_series_add(&series[MEASURE_TAKEN], bench.stalls / (taken - begin) * 1e3);
    bench_series_add(&series[MEASURE_P50], bench.took_ms[bench.stalls / 2]);
    bench_series_add(&series[MEASURE_P99], bench.took_ms[bench.stalls * 99 / 100]);
    bench_series_add(&series[MEASURE_RSS], memory_of(bench.server));
    bench_series_add(&series[MEASURE_LIST], page_ms("/"));
    char path[64] = "/stalls/";
    const char *id = get("/v1/snapshots?limit=1", list, sizeof list) == 200 ? strstr(list, "\"id\":\"") : NULL;
    if (id == NULL) {
        give_up("no list");
    }
    snprintf(path + 8, sizeof path - 8, "%.32s", id + 6);
    bench_series_add(&series[MEASURE_STALL], page_ms(path));
    poll_policies(series);
    bench.looks_ms = own_cpu_ms() - bench.own_cpu_ms;
    stop_server();
    bench_series_add(&series[MEASURE_CPU], bench.cpu_ms / bench.stalls);
    bench_series_add(&series[MEASURE_CPU_OWN], bench.own_cpu_ms / bench.stalls);
    bench_series_add(&series[MEASURE_DATA], bench.data_kb * 1000 / bench.stalls);
}

int main(int argc, char **argv)
{
    static struct bench_series ours[MEASURES], theirs[MEASURES];
    const char *peer = NULL, *peer_name = "another build", *workers = NULL, *program = getenv("STALLBOX");
    bool json = false;
    program = program != NULL ? program : STALLBOX_PROGRAM;
    bench.stalls = STALLS_DEFAULT;
    bench.senders = SENDERS_DEFAULT;
    bench.rounds = ROUNDS_DEFAULT;
    for (int i = 1; i < argc; i++) {
        bool has_value = i + 1 < argc;
        if (strcmp(argv[i], "--") == 0) {
            bench.options = &argv[i + 1];
            break;
        }
        if (strcmp(argv[i], "--json") == 0) {
            json = true;
        } else if (strcmp(argv[i], "--peer") == 0 && has_value) {
            peer = argv[++i];
        } else if (strcmp(argv[i], "--peer-name") == 0 && has_value) {
            peer_name = argv[++i];
        } else if (strcmp(argv[i], "--keep") == 0 && has_value) {
            bench.keep = argv[++i];
            bench.rounds = 1;
        } else if (strcmp(argv[i], "--workers") == 0 && has_value) {
            workers = argv[++i];
        } else if (strcmp(argv[i], "--stalls") == 0 && has_value && atoi(argv[i + 1]) > 0) {
            bench.stalls = atoi(argv[++i]);
        } else if (strcmp(argv[i], "--rounds") == 0 && has_value && atoi(argv[i + 1]) > 0) {
            bench.rounds = atoi(argv[++i]);
        } else if (strcmp(argv[i], "--senders") == 0 && has_value && atoi(argv[i + 1]) > 0 &&
                   atoi(argv[i + 1]) <= SENDERS_MAX) {
            bench.senders = atoi(argv[++i]);
        } else {
            fprintf(stderr, "usage: bench_intake [--json] [--stalls N] [--senders N] [--rounds N] [--workers N]"
                            " [--keep FOLDER] [--peer PROGRAM [--peer-name TEXT]] [-- OPTION-OF-THE-SERVER...]\n");
            return 2;
        }
    }
    signal(SIGPIPE, SIG_IGN);
    make_payloads();
    for (int i = 0; i < bench.rounds; i++) {
        run(program, workers, ours);
        if (peer != NULL) {
            run(peer, NULL, theirs);
        }
    }
    static const struct {
        const char *metric, *unit, *reach;
    } lines[MEASURES] = {
        [MEASURE_DONE] = {"through the whole pipeline", "payloads/s", "value >= 500"},
        [MEASURE_TAKEN] = {"taken in", "payloads/s", NULL},
        [MEASURE_P50] = {"answer to a post, p50", "ms", NULL},
        [MEASURE_P99] = {"answer to a post, p99", "ms", NULL},
        [MEASURE_RSS] = {"memory of all its processes", "MB", "value <= 200"},
        [MEASURE_CPU] = {"processor time a payload", "ms", NULL},
        [MEASURE_CPU_OWN] = {"processor time a payload, without its workers", "ms", NULL},
        [MEASURE_DATA] = {"data folder, a payload", "bytes", NULL},
        [MEASURE_LIST] = {"first page", "ms", "value <= 200"},
        [MEASURE_STALL] = {"page of a stall", "ms", NULL},
        [MEASURE_POLL] = {"processor time of a poll for a policy", "ms", NULL},
        [MEASURE_ACTIVE] = {"processor time of a machine-day", "ms", NULL},
    };
    bench_print_heading(json, "Intake to verdict");
    for (int i = 0; i < MEASURES; i++) {
        const struct bench_line line = {.bench = "intake",
                                        .metric = lines[i].metric,
                                        .unit = lines[i].unit,
                                        .reach = lines[i].reach,
                                        .peer = peer != NULL ? peer_name : NULL};
        bench_print(json, &line, &ours[i], peer != NULL ? &theirs[i] : NULL);
    }
    return 0;
}
