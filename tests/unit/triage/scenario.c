/* SPDX-License-Identifier: Apache-2.0 */
/* scenario.c - complete stalls of a redis-server, as the agent would send them.
 *
 * Call chains, calls and times follow redis 7.0.15 on Debian 12: an executable with dynamic symbols only, whose Lua
 * interpreter has hidden functions without a name. */
#include <stdlib.h>
#include <string.h>

#include "payload_builder.h"

#define REDIS_PATH    "/usr/bin/redis-server"
#define LIBC_PATH     "/lib/x86_64-linux-gnu/libc.so.6"
#define JEMALLOC_PATH "/lib/x86_64-linux-gnu/libjemalloc.so.2"

static const char redis_path[] = REDIS_PATH, libc_path[] = LIBC_PATH;

enum {
    CHAIN_MAX = 32,
    MESSAGE = 7
};

struct stage {
    struct sbx_payload_builder *builder;
    bool real;
    int32_t redis, libc, jemalloc;
    uint64_t unnamed; /* an address in redis-server without a name */
};

/* The address of a function, cached: a benchmark makes thousands of these stalls, and each looks up some twenty names
 * among all of redis-server's. `path` and `function` are literals of this file. */
static uint64_t symbol_of(const char *path, const char *function)
{
    enum {
        KNOWN_MAX = 128
    };
    static _Thread_local struct {
        const char *path, *function;
        uint64_t at;
    } known[KNOWN_MAX];
    static _Thread_local size_t count;
    for (size_t i = 0; i < count; i++) {
        if (known[i].path == path && strcmp(known[i].function, function) == 0) {
            return known[i].at;
        }
    }
    uint64_t at = sbx_build_symbol(path, function);
    if (count < KNOWN_MAX) {
        known[count].path = path;
        known[count].function = function;
        known[count++].at = at;
    }
    return at;
}

/* An address in redis-server without a name, also cached. */
static uint64_t unnamed_of(const char *path)
{
    static _Thread_local uint64_t unnamed;
    if (unnamed == 0) {
        unnamed = sbx_build_unnamed(path, symbol_of(path, "lua_newstate"));
    }
    return unnamed;
}

/* A return address in the named function: a real one, or one that is calculated from the name. */
static struct sbx_build_frame frame_in(const struct stage *stage, int32_t module, const char *function)
{
    uint64_t offset = 0;
    if (stage->real) {
        offset = symbol_of(module == stage->redis ? redis_path : libc_path, function);
    }
    if (offset == 0) {
        offset = 0x40000;
        for (const char *c = function; *c != '\0'; c++) {
            offset = (offset * 31 + (unsigned char)*c) & 0xffff0;
        }
    }
    return (struct sbx_build_frame){module, offset + 5, false};
}

/* Intern a chain: `names` of redis-server, leaf first, followed by the outer frames of every stack of the main
 * thread. */
static uint32_t main_stack(const struct stage *stage, const struct sbx_build_frame *leaves, size_t leaf_count,
                           const char *const *names)
{
    static const char *const tail[] = {"call",
                                       "processCommand",
                                       "processCommandAndResetClient",
                                       "processInputBuffer",
                                       "readQueryFromClient",
                                       "aeProcessEvents",
                                       "aeMain",
                                       "main",
                                       NULL};
    struct sbx_build_frame chain[CHAIN_MAX];
    size_t count = 0;
    for (size_t i = 0; i < leaf_count; i++) {
        chain[count++] = leaves[i];
    }
    for (size_t i = 0; names[i] != NULL; i++) {
        chain[count++] = frame_in(stage, stage->redis, names[i]);
    }
    for (size_t i = 0; tail[i] != NULL; i++) {
        chain[count++] = frame_in(stage, stage->redis, tail[i]);
    }
    chain[count++] = frame_in(stage, stage->libc, "__libc_start_main");
    chain[count++] = frame_in(stage, stage->redis, "_start");
    return sbx_builder_stack(stage->builder, chain, count);
}

static uint32_t loop_stack(const struct stage *stage)
{
    const struct sbx_build_frame chain[] = {
        frame_in(stage, stage->redis, "aeProcessEvents"), frame_in(stage, stage->redis, "aeMain"),
        frame_in(stage, stage->redis, "main"), frame_in(stage, stage->libc, "__libc_start_main"),
        frame_in(stage, stage->redis, "_start")};
    return sbx_builder_stack(stage->builder, chain, 5);
}

static uint32_t worker_stack(const struct stage *stage, const char *leaf, int32_t leaf_module)
{
    struct sbx_build_frame chain[3];
    chain[0] = frame_in(stage, leaf_module, leaf);
    chain[0].exact = true;
    chain[1] = frame_in(stage, stage->redis, "bioProcessBackgroundJobs");
    chain[2] = (struct sbx_build_frame){SBX_BUILD_END, SBX_WALK_NO_ROW, false};
    return sbx_builder_stack(stage->builder, chain, 3);
}

static struct sbx_build_record record_of(uint8_t kind, uint8_t op, int64_t begin_us, int64_t end_us, uint32_t stack)
{
    return (struct sbx_build_record){.kind = kind,
                                     .op = op,
                                     .begin_us = begin_us,
                                     .end_us = end_us,
                                     .stack = stack,
                                     .message = MESSAGE,
                                     .cpu_us = 400000,
                                     .alloc_count = 1000,
                                     .alloc_bytes = 64000};
}

/* The loop's wait before the judged message, and the background thread, which sleeps all the time. */
static void put_idle(const struct stage *stage, int64_t message_begin_us)
{
    struct sbx_build_record idle =
        record_of(SBX_RECORD_IDLE, SBX_OP_EPOLL_WAIT, message_begin_us - 900000, message_begin_us, loop_stack(stage));
    idle.message = MESSAGE - 1;
    sbx_builder_record(stage->builder, idle);
}

static void put_waiting_worker(const struct stage *stage)
{
    uint32_t stack = worker_stack(stage, "pthread_cond_wait", stage->libc);
    for (int64_t at_us = -2000000; at_us <= 0; at_us += 500000) {
        struct sbx_build_record record = record_of(SBX_RECORD_BLOCKED, SBX_OP_COND_WAIT, at_us, at_us, stack);
        record.thread = 1;
        record.cpu_us = 900;
        record.message = 0;
        record.object = 2;
        record.flags = at_us == 0 ? SBX_FLAG_AT_TRIGGER : 0;
        sbx_builder_record(stage->builder, record);
    }
    sbx_builder_thread_call(
        stage->builder, 1,
        (struct sbx_build_call){.kind = SBX_RECORD_COND, .op = SBX_OP_COND_WAIT, .object = 2, .duration_us = 60000000});
}

static void put_message(const struct stage *stage, int64_t begin_us, int64_t cpu_us)
{
    struct sbx_build_record record = record_of(SBX_RECORD_MESSAGE, SBX_OP_EPOLL_WAIT, begin_us, 0, 0);
    record.cpu_us = cpu_us;
    record.amount = 1;
    sbx_builder_record(stage->builder, record);
}

static void set_trigger(const struct stage *stage, uint32_t kind, uint64_t duration_us, bool in_progress)
{
    Stallbox__V1__Trigger *trigger = sbx_builder_payload(stage->builder)->trigger;
    trigger->kind = kind;
    trigger->duration_us = duration_us;
    trigger->in_progress = in_progress;
    trigger->threshold_ms = kind == SBX_TRIGGER_ANR ? 5000 : 500;
    trigger->message = MESSAGE;
    trigger->history_us = duration_us + 900000;
}

static void build_sleep(const struct stage *stage)
{
    static const char *const chain[] = {"debugCommand", NULL};
    const struct sbx_build_frame leaves[] = {
        {stage->libc, frame_in(stage, stage->libc, "clock_nanosleep").offset, true},
        frame_in(stage, stage->libc, "nanosleep")};
    uint32_t asleep = main_stack(stage, leaves, 2, chain);
    uint32_t caller = main_stack(stage, NULL, 0, chain);
    set_trigger(stage, SBX_TRIGGER_SLOW_MESSAGE, 2000400, false);
    put_idle(stage, -2000400);
    for (int64_t at_us = -1950000; at_us < 0; at_us += 300000) {
        sbx_builder_record(stage->builder, record_of(SBX_RECORD_BLOCKED, SBX_OP_NANOSLEEP, at_us, at_us, asleep));
    }
    sbx_builder_record(stage->builder, record_of(SBX_RECORD_SLEEP, SBX_OP_NANOSLEEP, -2000200, -150, caller));
    put_message(stage, -2000400, 400200);
    put_waiting_worker(stage);
}

static void build_cpu(const struct stage *stage)
{
    static const char *const chain[] = {"lua_pcall", "luaCallFunction", "evalGenericCommand", "evalCommand", NULL};
    set_trigger(stage, SBX_TRIGGER_SLOW_MESSAGE, 2000000, false);
    put_idle(stage, -2000000);
    int64_t cpu_us = 400000;
    for (int64_t at_us = -1990000; at_us < 0; at_us += 10000) {
        /* The interpreter's hidden functions: three levels; the leaf address moves within one of them. */
        struct sbx_build_frame leaves[3] = {{stage->redis, stage->unnamed + (uint64_t)(at_us / 10000 + 200) % 7, true},
                                            {stage->redis, stage->unnamed + 9, false},
                                            {stage->redis, stage->unnamed + 12, false}};
        bool at_alloc = at_us % 50000 == 0;
        leaves[0].exact = !at_alloc;
        cpu_us += 9900;
        struct sbx_build_record record =
            record_of(at_alloc ? SBX_RECORD_ALLOC : SBX_RECORD_ASYNC, at_alloc ? SBX_OP_REALLOC : SBX_OP_NONE, at_us,
                      at_us, main_stack(stage, leaves, 3, chain));
        record.cpu_us = cpu_us;
        record.alloc_count = 1000 + (at_us + 2000000) / 1000;
        record.alloc_bytes = record.alloc_count * 48;
        sbx_builder_record(stage->builder, record);
    }
    struct sbx_build_record end = record_of(SBX_RECORD_MESSAGE, SBX_OP_EPOLL_WAIT, -2000000, 0, 0);
    end.cpu_us = cpu_us + 9900;
    end.amount = 1;
    end.alloc_count = 3000;
    end.alloc_bytes = 3000 * 48;
    sbx_builder_record(stage->builder, end);
    put_waiting_worker(stage);
}

static void build_lock(const struct stage *stage)
{
    static const char *const chain[] = {"moduleAcquireGIL", "afterSleep", NULL};
    set_trigger(stage, SBX_TRIGGER_SLOW_MESSAGE, 1600000, false);
    put_idle(stage, -1600000);
    struct sbx_build_record wait =
        record_of(SBX_RECORD_LOCK, SBX_OP_MUTEX_LOCK, -1550000, -50000, main_stack(stage, NULL, 0, chain));
    wait.object = 1;
    wait.peer = 2;
    sbx_builder_record(stage->builder, wait);
    put_message(stage, -1600000, 450000);
    uint32_t busy = worker_stack(stage, "lazyfreeFreeDatabase", stage->redis);
    int64_t cpu_us = 100000;
    for (int64_t at_us = -1900000; at_us < 0; at_us += 20000) {
        struct sbx_build_record record = record_of(SBX_RECORD_ASYNC, SBX_OP_NONE, at_us, at_us, busy);
        record.thread = 1;
        record.message = 0;
        record.cpu_us = cpu_us += 19800;
        sbx_builder_record(stage->builder, record);
    }
}

static void build_io(const struct stage *stage)
{
    static const char *const chain[] = {"flushAppendOnlyFile", "beforeSleep", NULL};
    uint32_t stack = main_stack(stage, NULL, 0, chain);
    set_trigger(stage, SBX_TRIGGER_SLOW_MESSAGE, 1000000, false);
    put_idle(stage, -1000000);
    struct sbx_build_record record = record_of(SBX_RECORD_FILE, SBX_OP_WRITE, -900000, -850000, stack);
    record.fd_class = SBX_FD_REGULAR;
    record.amount = 4096000;
    record.object = 1;
    sbx_builder_record(stage->builder, record);
    record = record_of(SBX_RECORD_SYNC, SBX_OP_FSYNC, -850000, -50000, stack);
    record.fd_class = SBX_FD_REGULAR;
    record.object = 1;
    record.cpu_us = 440000;
    sbx_builder_record(stage->builder, record);
    put_message(stage, -1000000, 490000);
    put_waiting_worker(stage);
}

static void build_anr_asleep(const struct stage *stage)
{
    static const char *const chain[] = {"debugCommand", NULL};
    const struct sbx_build_frame leaves[] = {
        {stage->libc, frame_in(stage, stage->libc, "clock_nanosleep").offset, true},
        frame_in(stage, stage->libc, "nanosleep")};
    uint32_t asleep = main_stack(stage, leaves, 2, chain);
    set_trigger(stage, SBX_TRIGGER_ANR, 5000000, true);
    put_idle(stage, -5000000);
    for (int64_t at_us = -4900000; at_us <= 0; at_us += 700000) {
        struct sbx_build_record record = record_of(SBX_RECORD_BLOCKED, SBX_OP_NANOSLEEP, at_us, at_us, asleep);
        record.flags = at_us == 0 ? SBX_FLAG_AT_TRIGGER : 0;
        sbx_builder_record(stage->builder, record);
    }
    sbx_builder_thread_call(
        stage->builder, 0,
        (struct sbx_build_call){.kind = SBX_RECORD_SLEEP, .op = SBX_OP_NANOSLEEP, .duration_us = 4999800});
    put_waiting_worker(stage);
}

bool sbx_scenario_build(enum sbx_scenario scenario, bool real, uint64_t seed, struct sbx_payload_builder **builder_out)
{
    static void (*const builders[SBX_SCENARIO_COUNT])(const struct stage *) = {
        [SBX_SCENARIO_SLEEP] = build_sleep,
        [SBX_SCENARIO_CPU] = build_cpu,
        [SBX_SCENARIO_LOCK] = build_lock,
        [SBX_SCENARIO_IO] = build_io,
        [SBX_SCENARIO_ANR_ASLEEP] = build_anr_asleep,
    };
    static const uint8_t made_up[3][20] = {
        {0xa1, 0xa2, 0xa3, 0xa4}, {0xb1, 0xb2, 0xb3, 0xb4}, {0xc1, 0xc2, 0xc3, 0xc4}};
    struct stage stage = {.builder = sbx_payload_builder_create(seed), .real = real, .unnamed = 0x15f3a0};
    if (real) {
        stage.redis = sbx_builder_module_file(stage.builder, 1, REDIS_PATH, NULL);
        stage.libc = sbx_builder_module_file(stage.builder, 2, LIBC_PATH, "libc.so.6");
        stage.jemalloc = sbx_builder_module_file(stage.builder, 2, JEMALLOC_PATH, "libjemalloc.so.2");
        stage.unnamed = unnamed_of(redis_path);
        if (stage.redis < 0 || stage.libc < 0 || stage.jemalloc < 0 || stage.unnamed == 0) {
            sbx_payload_builder_destroy(stage.builder);
            return false;
        }
    } else {
        stage.redis = sbx_builder_module(stage.builder, 1, made_up[0], 20, NULL);
        stage.libc = sbx_builder_module(stage.builder, 2, made_up[1], 20, "libc.so.6");
        stage.jemalloc = sbx_builder_module(stage.builder, 2, made_up[2], 20, "libjemalloc.so.2");
    }
    sbx_builder_thread(stage.builder, "redis-server", 1 | 2);
    sbx_builder_thread(stage.builder, "bio_lazy_free", 0);
    builders[scenario](&stage);
    *builder_out = stage.builder;
    return true;
}

bool sbx_scenario_envelope(enum sbx_scenario scenario, bool real, uint64_t seed, uint8_t **envelope_out,
                           size_t *bytes_out)
{
    struct sbx_payload_builder *builder;
    if (!sbx_scenario_build(scenario, real, seed, &builder)) {
        return false;
    }
    sbx_builder_envelope(builder, envelope_out, bytes_out);
    sbx_payload_builder_destroy(builder);
    return true;
}
