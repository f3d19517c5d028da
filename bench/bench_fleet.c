/* SPDX-License-Identifier: Apache-2.0 */
/* bench_fleet.c - a simulated fleet on one machine: thousands of agents, one real server, an outage, and policies that
 * change.
 *
 * Each agent has everything that a machine uses after a payload is made: its own spool on disk (a memory file system),
 * the deliverer, the policy store with its signatures, and a day's budget. `stallbox serve` is a process, and is
 * contacted over real sockets. Only time is simulated. Events are in a heap, and the clock jumps from one to the next,
 * so that ten hours take minutes. The waits of an agent are those that the code under test computes for the simulated
 * time.
 *
 *    0 h  agents appear, and make payloads at random times
 *    2 h  the server is killed (SIGKILL, during requests) and stays down
 *    4 h  it is started again on the same data
 *    6 h  a policy is published: nothing may be sent
 *    8 h  another one: everything may be sent again
 *   10 h  no more payloads are made; the waiting ones are delivered
 *
 * In the end, the server is asked for every payload that was ever made. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "day_budget.h"
#include "deliver.h"
#include "http_exchange.h"
#include "http_server.h"
#include "loopback.h"
#include "payloads.h"
#include "policy_fetch.h"
#include "policy_store.h"
#include "rounds.h"
#include "server_fixture.h"
#include "signed_fixture.h"
#include "upload_conditions.h"

#define HOUR_MS UINT64_C(3600000)

enum {
    AGENTS_DEFAULT = 2000,
    PAYLOADS_AN_AGENT = 4,    /* on average, in the ten hours */
    DESCRIPTORS_AN_AGENT = 8, /* the spool's folders, its lock, the policy's */
    POLL_S = 3600,
    BIN_MS = 300000, /* of the curve */
    BINS = 160,
    MINUTES = 800,
};

static const uint64_t killed_ms = 2 * HOUR_MS, back_ms = 4 * HOUR_MS, stop_ms = 6 * HOUR_MS, go_ms = 8 * HOUR_MS,
                      last_ms = 10 * HOUR_MS;

struct agent {
    struct sbx_spool *spool;
    struct sbx_deliverer *deliverer;
    struct sbx_policy_store *store;
    struct sbx_policy_effect effect;
    struct sbx_delivery_gate gate;
    struct sbx_day_budget budget;
    char tag[80];
    uint32_t fetch_fails;
    uint64_t make_ms, deliver_ms, poll_ms; /* when each action is due; UINT64_MAX: never */
    uint64_t obeyed_ms[2];                 /* when the second and third policy were in force; 0: not yet */
};

static struct {
    struct agent *agents;
    int count;
    uint64_t now_ms; /* the simulated time */
    uint64_t random;
    uint32_t made; /* number of payloads, and of the last one */
    uint64_t sent, failed, forbidden;
    char folder[64], data[80], url[64], port_text[32];
    uint16_t port;
    pid_t server;
    unsigned arrivals[BINS], tries[BINS], arrivals_a_minute[MINUTES];
    uint64_t backlog_99_ms;
    uint64_t duplicates;
    struct fixture_document shipped;
} fleet;

static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "bench_fleet: %s: %s\n", what, strerror(errno));
    if (fleet.server > 0) {
        kill(fleet.server, SIGKILL);
    }
    exit(1);
}

/* The same numbers in each run: splitmix64. */
static uint64_t next_random(void)
{
    uint64_t z = fleet.random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t random_below(uint64_t most)
{
    return next_random() % most;
}

static uint64_t wall_s(void)
{
    return FIXTURE_NOW_S + fleet.now_ms / 1000;
}

static void read_clock(void *context, uint64_t *boot_ms_out, uint64_t *wall_ms_out)
{
    (void)context;
    *boot_ms_out = 1000000 + fleet.now_ms;
    *wall_ms_out = FIXTURE_NOW_S * 1000 + fleet.now_ms;
}

static const struct sbx_delivery_clock fleet_clock = {read_clock, NULL};

/* ---- the server ---- */

static bool is_up(void)
{
    struct sbx_http_reply reply;
    uint8_t body[64];
    const struct sbx_http_question question = {.server_url = fleet.url, .path = "/healthz", .answer_bytes_max = 4096};
    return sbx_http_exchange(&question, body, sizeof body, &reply) && reply.status == 200;
}

static void start_server(void)
{
    char log[100];
    snprintf(log, sizeof log, "%s/serve.log", fleet.folder);
    fleet.server = fork();
    if (fleet.server < 0) {
        give_up("fork");
    }
    if (fleet.server == 0) {
        const char *program = getenv("STALLBOX");
        int file = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        dup2(file, 2);
        closefrom(3);
        program = program != NULL ? program : STALLBOX_PROGRAM;
        execl(program, program, "serve", "--data", fleet.data, "--listen", fleet.port_text, (char *)NULL);
        _exit(127);
    }
    for (int i = 0; !is_up(); i++) {
        if (i == 500 || waitpid(fleet.server, NULL, WNOHANG) != 0) {
            fleet.server = 0;
            give_up("the server does not start");
        }
        sleep_ms(20);
    }
}

static void read_counts(void)
{
    fleet.duplicates += (uint64_t)metric(fleet.port, "stallbox_snapshots_duplicates_total");
}

static void *kill_soon(void *context)
{
    (void)context;
    nanosleep(&(struct timespec){.tv_nsec = 2500000}, NULL);
    kill(fleet.server, SIGKILL);
    return NULL;
}

/* KEYSET and policy. */
static struct fixture_document make_bundle(uint64_t seq, bool may_be_sent)
{
    struct fixture_document document = {.count = 0};
    struct sbx_keyset keyset = fixture_keyset();
    struct sbx_policy_document policy = fixture_policy(seq);
    policy.policy.delivery.poll_s = POLL_S;
    policy.policy.delivery.bytes_day = may_be_sent ? 1 << 20 : 0;
    policy.policy.delivery.bytes_day_metered = policy.policy.delivery.bytes_day;
    fixture_sign_keyset(&keyset, "root-a root-b", &document);
    fixture_sign_policy(&policy, &document);
    return document;
}

/* Publishes a policy as a release engineer does: writes a new file and renames it. */
static void publish(uint64_t seq, bool may_be_sent)
{
    char path[200], aside[200], app[33];
    struct fixture_document document = make_bundle(seq, may_be_sent);
    struct sbx_keyset keyset = fixture_keyset();
    for (int i = 0; i < 16; i++) {
        snprintf(app + 2 * i, 3, "%02x", keyset.app_id[i]);
    }
    snprintf(path, sizeof path, "%s/policy/%s", fleet.data, app);
    snprintf(aside, sizeof aside, "%s/policy.new", fleet.folder);
    FILE *file = fopen(aside, "wb");
    if (file == NULL || fwrite(document.bytes, 1, document.count, file) != document.count || fclose(file) != 0 ||
        rename(aside, path) != 0) {
        give_up(path);
    }
}

/* ---- an agent ---- */

/* The day's budget is kept in memory. If it were stored durably, each question would verify the signatures (10 ms). One
 * machine can afford this, but two thousand agents in one process cannot. */
static bool may_send(void *context, uint64_t bytes)
{
    struct agent *agent = context;
    sbx_day_budget_turn(&agent->budget, wall_s());
    return sbx_day_budget_allows_bytes(&agent->budget, &agent->effect.policy.delivery, bytes, SBX_UPLOAD_UNMETERED);
}

static void was_sent(void *context, uint64_t bytes)
{
    struct agent *agent = context;
    sbx_day_budget_turn(&agent->budget, wall_s());
    sbx_day_budget_take_bytes(&agent->budget, bytes, SBX_UPLOAD_UNMETERED);
}

/* A bundle arrived: decide what is in force. */
static void decide(struct agent *agent, const uint8_t *bundle, size_t bytes)
{
    struct sbx_policy_report report = {SBX_POLICY_SAME, ""};
    bool has_changed = false;
    if (sbx_policy_store_begin(agent->store, wall_s()) != 0) {
        give_up("a policy store");
    }
    if (sbx_policy_store_offer(agent->store, bundle, bytes, &report) > SBX_POLICY_SAME) {
        fprintf(stderr, "bench_fleet: policy: %s\n", report.why);
    }
    sbx_freshness_renew(&sbx_policy_store_state(agent->store)->freshness,
                        wall_s()); /* confirmed at the simulated time */
    if (sbx_policy_store_decide(agent->store, 1, &agent->effect, &has_changed) != 0 ||
        sbx_policy_store_end(agent->store, true) != 0) {
        give_up("a policy cannot be kept");
    }
    for (int i = 0; i < 2; i++) {
        if (agent->effect.policy.seq == (uint64_t)i + 2 && agent->obeyed_ms[i] == 0) {
            agent->obeyed_ms[i] = fleet.now_ms;
            agent->deliver_ms = fleet.now_ms; /* the deliverer learns this */
        }
    }
}

static void poll_policy(struct agent *agent)
{
    static uint8_t bytes[SBX_BUNDLE_BYTES_MAX];
    struct sbx_keyset keyset = *sbx_policy_store_keyset(agent->store);
    struct sbx_fetch_result fetched = sbx_policy_fetch(fleet.url, &keyset, agent->tag, 15000, bytes);
    agent->fetch_fails = fetched.verdict == SBX_FETCH_FAILED ? agent->fetch_fails + 1 : 0;
    if (fetched.verdict == SBX_FETCH_BUNDLE) {
        decide(agent, bytes, fetched.byte_count);
        memcpy(agent->tag, fetched.tag, sizeof agent->tag);
    }
    agent->poll_ms = fleet.now_ms + sbx_policy_pause_ms((uint64_t)agent->effect.policy.delivery.poll_s * 1000,
                                                        agent->fetch_fails, fetched.retry_after_ms, next_random());
}

static void deliver(struct agent *agent)
{
    struct sbx_deliver_counts before, after;
    sbx_deliverer_counts(agent->deliverer, &before);
    uint64_t due_ms = sbx_deliverer_step(agent->deliverer);
    sbx_deliverer_counts(agent->deliverer, &after);
    if (after.refused + after.unreadable != 0) {
        give_up(sbx_deliverer_last_error(agent->deliverer));
    }
    agent->deliver_ms = due_ms == UINT64_MAX ? UINT64_MAX : fleet.now_ms + due_ms;
    uint64_t sent = after.sent - before.sent, bin = fleet.now_ms / BIN_MS, minute = fleet.now_ms / 60000;
    fleet.sent += sent;
    fleet.failed += after.later - before.later;
    if (agent->effect.policy.delivery.bytes_day == 0) {
        fleet.forbidden += sent;
    }
    fleet.arrivals[bin < BINS ? bin : BINS - 1] += (unsigned)sent;
    fleet.arrivals_a_minute[minute < MINUTES ? minute : MINUTES - 1] += (unsigned)sent;
    fleet.tries[bin < BINS ? bin : BINS - 1] += (unsigned)(after.later - before.later);
}

/* Gaps between an agent's payloads. They are exponential, with a granularity of a sixteenth of the mean. */
static uint64_t next_gap_ms(void)
{
    uint64_t mean_ms = last_ms / PAYLOADS_AN_AGENT, gap_ms = 0;
    while (random_below(16) != 0) { /* geometric, in sixteenths of the mean */
        gap_ms += mean_ms / 16;
    }
    return gap_ms + random_below(mean_ms / 16 + 1);
}

static void make_payload(struct agent *agent)
{
    if (sbx_test_put(agent->spool, ++fleet.made) != 0) {
        give_up("a payload cannot be put");
    }
    agent->make_ms = fleet.now_ms + next_gap_ms();
    agent->make_ms = agent->make_ms < last_ms ? agent->make_ms : UINT64_MAX;
    if (agent->deliver_ms == UINT64_MAX) { /* else it is waiting already, and lists the folder then */
        agent->deliver_ms = fleet.now_ms;
    }
}

static void create_agent(struct agent *agent, int number)
{
    char path[100], why[300];
    snprintf(path, sizeof path, "%s/agent-%d", fleet.folder, number);
    agent->spool = sbx_test_spool(path, NULL);
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || sbx_policy_store_open(folder, fleet.shipped.bytes, fleet.shipped.count, FIXTURE_NOW_S - 86400,
                                            &agent->store, why, sizeof why) != 0) {
        give_up(path);
    }
    close(folder);
    agent->deliverer = sbx_deliverer_create(agent->spool, fleet.url, NULL);
    agent->gate = (struct sbx_delivery_gate){.context = agent, .may_send = may_send, .was_sent = was_sent};
    sbx_deliverer_set_gate(agent->deliverer, &agent->gate);
    sbx_deliverer_set_clock(agent->deliverer, &fleet_clock);
    decide(agent, fleet.shipped.bytes, fleet.shipped.count); /* the bundle that ships with the application */
    agent->make_ms = next_gap_ms();
    agent->make_ms = agent->make_ms < last_ms ? agent->make_ms : UINT64_MAX;
    agent->deliver_ms = UINT64_MAX;
    agent->poll_ms = random_below((uint64_t)POLL_S * 1000); /* machines are switched on at any time */
}

static uint64_t due_of(const struct agent *agent)
{
    uint64_t due_ms = agent->make_ms < agent->deliver_ms ? agent->make_ms : agent->deliver_ms;
    return agent->poll_ms < due_ms ? agent->poll_ms : due_ms;
}

/* ---- time ---- */

/* A heap of agents, ordered by the next due time. */
static int *heap;

static bool is_before(int left, int right)
{
    return due_of(&fleet.agents[heap[left]]) < due_of(&fleet.agents[heap[right]]);
}

static void sink(int at)
{
    for (;;) {
        int least = at;
        for (int child = 2 * at + 1; child <= 2 * at + 2 && child < fleet.count; child++) {
            least = is_before(child, least) ? child : least;
        }
        if (least == at) {
            return;
        }
        int swapped = heap[at];
        heap[at] = heap[least];
        heap[least] = swapped;
        at = least;
    }
}

/* Runs until `until_ms`, or until nothing is waiting if is_draining. */
static void run_until(uint64_t until_ms, bool is_draining)
{
    while (due_of(&fleet.agents[heap[0]]) <= until_ms && !(is_draining && fleet.sent == fleet.made)) {
        struct agent *agent = &fleet.agents[heap[0]];
        uint64_t due_ms = due_of(agent);
        fleet.now_ms = due_ms > fleet.now_ms ? due_ms : fleet.now_ms;
        if (agent->make_ms == due_ms) {
            make_payload(agent);
        } else if (agent->poll_ms == due_ms) {
            poll_policy(agent);
        } else {
            deliver(agent);
        }
        sink(0);
    }
    fleet.now_ms = is_draining || until_ms < fleet.now_ms ? fleet.now_ms : until_ms;
}

static uint64_t waiting_payloads(void)
{
    return fleet.made - fleet.sent;
}

/* ---- results ---- */

static void print_value(bool json, const char *metric_name, double value, const char *unit, const char *reach)
{
    const struct bench_line line = {.bench = "fleet", .metric = metric_name, .unit = unit, .reach = reach};
    struct bench_series series = {.count = 0};
    bench_series_add(&series, value);
    bench_print(json, &line, &series, NULL);
}

static int by_number(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* Returns when `share` of the fleet had obeyed policy `which`, in ms after its publication; -1: never. */
static double obeyed_after_ms(int which, uint64_t published_ms, double share)
{
    uint64_t *times = calloc((size_t)fleet.count, sizeof *times);
    for (int i = 0; i < fleet.count; i++) {
        times[i] = fleet.agents[i].obeyed_ms[which] != 0 ? fleet.agents[i].obeyed_ms[which] - published_ms : UINT64_MAX;
    }
    qsort(times, (size_t)fleet.count, sizeof *times, by_number);
    uint64_t at_ms = times[(size_t)((double)(fleet.count - 1) * share)];
    free(times);
    return at_ms == UINT64_MAX ? -1 : (double)at_ms;
}

/* Counts the payloads that the server does not have. */
static uint64_t count_lost(void)
{
    uint64_t lost = 0;
    for (uint32_t number = 1; number <= fleet.made; number++) {
        char path[100];
        struct sbx_http_reply reply;
        uint8_t body[16];
        const char *name = strrchr(sbx_test_payload_path("", number), '/') + 1;
        snprintf(path, sizeof path, "/v1/snapshots/%.32s", name);
        const struct sbx_http_question question = {.server_url = fleet.url, .path = path, .answer_bytes_max = 1 << 20};
        lost += !sbx_http_exchange(&question, body, sizeof body, &reply) || reply.status != 200;
    }
    return lost;
}

static double x_of(uint64_t ms)
{
    return 60 + 880.0 * (double)ms / (11 * (double)HOUR_MS);
}

static void draw_area(FILE *out, uint64_t from_ms, uint64_t to_ms, const char *colour, const char *label)
{
    fprintf(out, "<rect x=\"%.1f\" y=\"50\" width=\"%.1f\" height=\"260\" fill=\"%s\"/>\n", x_of(from_ms),
            x_of(to_ms) - x_of(from_ms), colour);
    fprintf(out, "<text x=\"%.1f\" y=\"44\" text-anchor=\"middle\">%s</text>\n", (x_of(from_ms) + x_of(to_ms)) / 2,
            label);
}

/* Draws arrivals as bars, and failed attempts as a line, each with its own scale. */
static void draw(const char *path)
{
    unsigned most = 1, most_tries = 1;
    const unsigned bins = 11 * HOUR_MS / BIN_MS;
    for (unsigned i = 0; i < bins; i++) {
        most = fleet.arrivals[i] > most ? fleet.arrivals[i] : most;
        most_tries = fleet.tries[i] > most_tries ? fleet.tries[i] : most_tries;
    }
    FILE *out = fopen(path, "w");
    if (out == NULL) {
        give_up(path);
    }
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1000 370\" font-family=\"sans-serif\" "
            "font-size=\"13\" "
            "fill=\"#333\">\n<title>%d agents through an outage and two policies</title>\n"
            "<rect width=\"1000\" height=\"370\" fill=\"#fff\"/>\n"
            "<text x=\"60\" y=\"20\" font-size=\"15\">%d agents, one server: payloads arriving each 5 minutes (bars, "
            "up to %u) "
            "and tries in vain (line, up to %u)</text>\n",
            fleet.count, fleet.count, most, most_tries);
    draw_area(out, killed_ms, back_ms, "#f6dede", "the server is away");
    draw_area(out, stop_ms, go_ms, "#fdf3d8", "policy: send nothing");
    draw_area(out, go_ms, last_ms, "#e4f1e4", "policy: send again");
    for (unsigned i = 0; i < bins; i++) {
        double height = 260.0 * fleet.arrivals[i] / most;
        fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"#3b6ea5\"/>\n",
                x_of((uint64_t)i * BIN_MS), 310 - height, x_of(BIN_MS) - x_of(0) - 0.8, height);
    }
    fprintf(out, "<polyline fill=\"none\" stroke=\"#b03030\" stroke-width=\"1.5\" points=\"");
    for (unsigned i = 0; i < bins; i++) {
        fprintf(out, "%.1f,%.1f ", x_of((uint64_t)i * BIN_MS + BIN_MS / 2), 310 - 260.0 * fleet.tries[i] / most_tries);
    }
    fprintf(out, "\"/>\n<path d=\"M60 310H940\" stroke=\"#333\"/>\n");
    for (unsigned hour = 0; hour <= 11; hour++) {
        fprintf(out, "<text x=\"%.1f\" y=\"328\" text-anchor=\"middle\">%u h</text>\n", x_of(hour * HOUR_MS), hour);
    }
    fprintf(out,
            "<text x=\"60\" y=\"355\">%u payloads made, %" PRIu64 " arrived; each policy is followed within one poll "
            "(%d s, a quarter more or less)</text>\n</svg>\n",
            fleet.made, fleet.sent, POLL_S);
    if (fclose(out) != 0) {
        give_up(path);
    }
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status, (void)kind, (void)place;
    return remove(path);
}

/* Raises the limit of open descriptors. If it is still low, fewer agents are used. */
static void raise_limits(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    rlim_t most = (limit.rlim_cur - 100) / DESCRIPTORS_AN_AGENT;
    if ((rlim_t)fleet.count > most) {
        fprintf(stderr, "bench_fleet: %d agents, not %d: this user may open no more than %ju files\n", (int)most,
                fleet.count, (uintmax_t)limit.rlim_cur);
        fleet.count = (int)most;
    }
}

static void set_up(void)
{
    raise_limits();
    signal(SIGPIPE, SIG_IGN);
    fleet.shipped = make_bundle(1, true);
    snprintf(fleet.folder, sizeof fleet.folder, "%s/stallbox-fleet.XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (mkdtemp(fleet.folder) == NULL) {
        give_up(fleet.folder);
    }
    snprintf(fleet.data, sizeof fleet.data, "%s/server", fleet.folder);
    fleet.port = sbx_loopback_free_port();
    snprintf(fleet.port_text, sizeof fleet.port_text, "127.0.0.1:%u", fleet.port);
    snprintf(fleet.url, sizeof fleet.url, "http://127.0.0.1:%u", fleet.port);
    start_server();
    fleet.agents = calloc((size_t)fleet.count, sizeof *fleet.agents);
    heap = calloc((size_t)fleet.count, sizeof *heap);
    if (fleet.agents == NULL || heap == NULL) {
        give_up("memory");
    }
    for (int i = 0; i < fleet.count; i++) {
        create_agent(&fleet.agents[i], i);
        heap[i] = i;
    }
    for (int i = fleet.count / 2; i >= 0; i--) {
        sink(i);
    }
}

int main(int argc, char **argv)
{
    bool json = false;
    const char *picture = NULL;
    fleet.count = AGENTS_DEFAULT;
    fleet.random = 1;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            json = true;
        } else if (strcmp(argv[i], "--svg") == 0 && i + 1 < argc) {
            picture = argv[++i];
        } else if (strcmp(argv[i], "--agents") == 0 && i + 1 < argc && atoi(argv[i + 1]) > 0) {
            fleet.count = atoi(argv[++i]);
        } else {
            fprintf(stderr, "usage: bench_fleet [--json] [--agents N] [--svg FILE]\n");
            return 2;
        }
    }
    double begin_ns = bench_now_ns();
    pthread_t killer;
    set_up();
    run_until(killed_ms, false);
    read_counts();
    if (pthread_create(&killer, NULL, kill_soon, NULL) != 0) {
        give_up("a thread");
    }
    run_until(killed_ms + 60000, false); /* requests go on while the server dies */
    pthread_join(killer, NULL);
    waitpid(fleet.server, NULL, 0);
    uint64_t failed_before = fleet.failed;
    run_until(back_ms, false);
    double tries = (double)(fleet.failed - failed_before);
    uint64_t backlog = waiting_payloads(), sent_before = fleet.sent;
    start_server();
    for (uint64_t at_ms = back_ms; at_ms < stop_ms; at_ms += 10000) {
        run_until(at_ms + 10000, false);
        if (fleet.backlog_99_ms == 0 && (double)(fleet.sent - sent_before) >= 0.99 * (double)backlog) {
            fleet.backlog_99_ms = fleet.now_ms - back_ms;
        }
    }
    publish(2, false);
    run_until(go_ms, false);
    uint64_t held = waiting_payloads();
    publish(3, true);
    run_until(last_ms, false);
    run_until(last_ms + 2 * HOUR_MS, true);
    read_counts();
    uint64_t lost = count_lost();
    double stored = metric(fleet.port, "stallbox_store_snapshots");
    unsigned peak = 0;
    for (unsigned minute = back_ms / 60000; minute < back_ms / 60000 + 60; minute++) {
        peak = fleet.arrivals_a_minute[minute] > peak ? fleet.arrivals_a_minute[minute] : peak;
    }
    double even = (double)backlog / 10; /* the longest wait is ten minutes */
    bench_print_heading(json, "A fleet in a box");
    print_value(json, "agents", fleet.count, "agents", NULL);
    print_value(json, "payloads made in ten hours", fleet.made, "payloads", NULL);
    print_value(json, "payloads lost", (double)lost, "payloads", "value <= 0");
    print_value(json, "payloads stored twice", stored - (double)(fleet.made - lost), "payloads", "value <= 0");
    print_value(json, "posts of a payload the server had already", (double)fleet.duplicates, "posts", NULL);
    print_value(json, "sent although the policy in force forbids it", (double)fleet.forbidden, "payloads",
                "value <= 0");
    print_value(json, "tries in vain, an agent and hour of the outage", tries / fleet.count / 2, "tries", NULL);
    print_value(json, "waiting when the server was back", (double)backlog, "payloads", NULL);
    print_value(json, "99 % of these arrived after", (double)fleet.backlog_99_ms / 1000, "s", NULL);
    print_value(json, "most in a minute after that, of an even ten minutes", even > 0 ? peak / even : 0, "x",
                "value <= 3");
    print_value(json, "half of the fleet obeys after", obeyed_after_ms(0, stop_ms, 0.5) / 1000, "s", NULL);
    print_value(json, "99 % of the fleet obey after", obeyed_after_ms(0, stop_ms, 0.99) / 1000, "s", NULL);
    double all_s = obeyed_after_ms(0, stop_ms, 1) / 1000, again_s = obeyed_after_ms(1, go_ms, 1) / 1000;
    print_value(json, "the whole fleet obeys after", all_s, "s", "value <= 4500");
    print_value(json, "held back by the policy when it was lifted", (double)held, "payloads", NULL);
    print_value(json, "the whole fleet sends again after", again_s, "s", "value <= 4500");
    print_value(json, "the run took", (bench_now_ns() - begin_ns) / 1e9, "s", NULL);
    if (picture != NULL) {
        draw(picture);
    }
    kill(fleet.server, SIGTERM);
    waitpid(fleet.server, NULL, 0);
    for (int i = 0; i < fleet.count; i++) {
        sbx_deliverer_destroy(fleet.agents[i].deliverer);
        sbx_policy_store_close(fleet.agents[i].store);
        sbx_spool_close(fleet.agents[i].spool);
    }
    nftw(fleet.folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    return lost != 0 || all_s < 0 || again_s < 0;
}
