/* SPDX-License-Identifier: Apache-2.0 */
/* sample_reports.c - a few complete stalls, as redis would cause them. */
#include "sample_reports.h"

#include <stdio.h>
#include <string.h>

#define LOOP "libc.so.6!_start@1;libc.so.6!__libc_start_main@9;main@6886;aeMain@487"
#define READ LOOP ";aeProcessEvents@409;connSocketEventHandler@82>callHandler@33;readQueryFromClient@2641"
#define CALL READ ";processInputBuffer@2522;processCommandAndResetClient@2433;processCommand@3906;call@3374"
#define LUA  "liblua5.1.so.0!"

/* Short messages with idle time between them, every `period_ms`, over [begin_ms, end_ms]. Returns the last number. */
static uint64_t put_quiet_loop(struct report_fixture *fixture, uint32_t thread, double begin_ms, double end_ms,
                               double period_ms, double *cpu_ms)
{
    uint64_t message = 0;
    for (double at_ms = begin_ms; at_ms + period_ms <= end_ms; at_ms += period_ms) {
        message++;
        double busy_ms = 1.0 + (double)(message % 3);
        *cpu_ms += busy_ms;
        report_fixture_sample(fixture, thread, at_ms + busy_ms * 0.5, message, *cpu_ms - 0.4,
                              CALL ";setCommand@250;zmalloc@100>ztrymalloc@93");
        report_fixture_message(fixture, thread, at_ms, at_ms + busy_ms, message, 1);
        report_fixture_idle(fixture, thread, at_ms + busy_ms, at_ms + period_ms);
    }
    return message;
}

static void add_evidence(struct sbx_verdict *verdict, const char *kind, double value, const char *text)
{
    struct sbx_evidence *evidence = &verdict->evidence[verdict->evidence_count++];
    evidence->kind = kind;
    evidence->value = value;
    snprintf(evidence->text, sizeof evidence->text, "%s", text);
}

static void put_verdict(struct report_fixture *fixture, enum sbx_cause cause, enum sbx_class class_, double begin_ms,
                        const char *function, const char *file, uint32_t line, const char *headline)
{
    struct sbx_stall *stall = report_fixture_stall(fixture);
    struct sbx_verdict *verdict = report_fixture_verdict(fixture);
    verdict->cause = cause;
    verdict->class_ = class_;
    verdict->confidence = 0.95;
    verdict->interval_begin_ns = ms_to_ns(begin_ms);
    verdict->interval_end_ns = 0;
    verdict->location = (struct sbx_location){
        .function = function, .module = "redis-server", .file = file, .line = line, .named = true, .app = true};
    snprintf(verdict->headline, sizeof verdict->headline, "%s", headline);
    stall->trigger.duration_ns = -ms_to_ns(begin_ms);
}

struct report_fixture *sample_sleep(void)
{
    static const char stack[] = CALL ";debugCommand@482";
    struct report_fixture *fixture = report_fixture_create();
    uint32_t main_thread = report_fixture_thread(fixture, "main", true);
    uint32_t bio = report_fixture_thread(fixture, "bio_close_file", false);
    double cpu_ms = 40;
    uint64_t message = put_quiet_loop(fixture, main_thread, -3203, -2003, 100, &cpu_ms) + 1;
    report_fixture_sample(fixture, main_thread, -2002.5, message, cpu_ms + 0.5, READ ";processInputBuffer@2522");
    report_fixture_wait(fixture, main_thread, SBX_RECORD_SLEEP, SBX_OP_NANOSLEEP, -2002, -2, message, cpu_ms + 0.9,
                        stack);
    report_fixture_sample(fixture, main_thread, -1.2, message, cpu_ms + 1.6, CALL ";debugCommand@490;addReply@380");
    report_fixture_message(fixture, main_thread, -2003, 0, message, 1);
    report_fixture_wait(fixture, bio, SBX_RECORD_COND, SBX_OP_COND_WAIT, -900000, -1000, 0, 1,
                        "libc.so.6!clone3@1;libc.so.6!start_thread@8;bioProcessBackgroundJobs@220");
    struct sbx_stall *stall = report_fixture_stall(fixture);
    stall->trigger.thread = main_thread;
    stall->trigger.message = message;
    stall->trigger.history_ns = ms_to_ns(3203);
    stall->drops[SBX_DROP_SIGNAL_LATE] = 3;
    put_verdict(fixture, SBX_CAUSE_SLEEP, SBX_CLASS_OFF_CPU, -2003, "debugCommand", "debug.c", 482,
                "main thread slept 2.0 s in debugCommand (nanosleep)");
    struct sbx_verdict *verdict = report_fixture_verdict(fixture);
    verdict->stack = report_fixture_stack(fixture, stack);
    verdict->off_cpu_ms = 2000;
    verdict->on_cpu_ms = 1.6;
    verdict->messages = 1;
    add_evidence(verdict, "blocked", 2000, "one nanosleep of 2000 ms, measured, 99.9 % of the interval");
    return fixture;
}

struct report_fixture *sample_script(void)
{
    static const char *const leaves[] = {
        LUA "luaV_execute@500",
        LUA "luaV_execute@520;" LUA "luaH_get@434",
        LUA "luaV_execute@520;" LUA "luaH_set@502",
        LUA "luaV_execute@631;" LUA "luaV_concat@300;" LUA "luaS_newlstr@80",
    };
    struct report_fixture *fixture = report_fixture_create();
    uint32_t main_thread = report_fixture_thread(fixture, "main", true);
    uint32_t bio = report_fixture_thread(fixture, "bio_aof", false);
    double cpu_ms = 40;
    uint64_t message = put_quiet_loop(fixture, main_thread, -3000, -2010, 90, &cpu_ms) + 1;
    int64_t allocated = 0;
    for (unsigned i = 0; i < 400; i++) {
        char stack[1024];
        snprintf(stack, sizeof stack,
                 CALL ";evalCommand@1690>evalGenericCommand@1650;luaCallFunction@1600;" LUA "lua_pcall@821;" LUA
                      "luaD_call@378;%s",
                 leaves[i * 7 % 11 % 4]);
        double at_ms = -2009 + i * 5.0;
        allocated += i % 3 == 0 ? 4096 : 0;
        struct sbx_stall_record record = {.thread = main_thread,
                                          .kind = i % 3 == 0 ? SBX_RECORD_ALLOC : SBX_RECORD_ASYNC,
                                          .op = i % 3 == 0 ? SBX_OP_MALLOC : SBX_OP_NONE,
                                          .begin_ns = ms_to_ns(at_ms),
                                          .end_ns = ms_to_ns(at_ms),
                                          .cpu_ns = ms_to_ns(cpu_ms + 4.9 * i),
                                          .alloc_bytes = allocated,
                                          .alloc_count = allocated / 64,
                                          .message = message,
                                          .peer = -1,
                                          .stack = report_fixture_stack(fixture, stack)};
        report_fixture_record(fixture, record);
    }
    report_fixture_message(fixture, main_thread, -2010, 0, message, 1);
    report_fixture_wait(fixture, bio, SBX_RECORD_COND, SBX_OP_COND_WAIT, -3000, -500, 0, 1,
                        "libc.so.6!clone3@1;libc.so.6!start_thread@8;bioProcessBackgroundJobs@220");
    struct sbx_stall *stall = report_fixture_stall(fixture);
    stall->trigger.thread = main_thread;
    stall->trigger.message = message;
    stall->trigger.history_ns = ms_to_ns(3000);
    put_verdict(fixture, SBX_CAUSE_CPU, SBX_CLASS_ON_CPU, -2010, "evalGenericCommand", "eval.c", 1650,
                "main thread computed for 2.0 s in evalGenericCommand (luaV_execute)");
    struct sbx_verdict *verdict = report_fixture_verdict(fixture);
    verdict->stack = report_fixture_stack(fixture, CALL ";evalCommand@1690>evalGenericCommand@1650");
    verdict->on_cpu_ms = 1960;
    verdict->off_cpu_ms = 40;
    verdict->messages = 1;
    add_evidence(verdict, "samples", 400, "400 of 400 samples below evalGenericCommand");
    return fixture;
}

struct report_fixture *sample_lock(void)
{
    struct report_fixture *fixture = report_fixture_create();
    uint32_t main_thread = report_fixture_thread(fixture, "main", true);
    uint32_t writer = report_fixture_thread(fixture, "bio_aof", false);
    double cpu_ms = 40, writer_cpu_ms = 5;
    uint64_t message = put_quiet_loop(fixture, main_thread, -9700, -1510, 40, &cpu_ms) + 1;
    report_fixture_sample(fixture, main_thread, -1501, message, cpu_ms + 1, CALL ";configSetCommand@300");
    struct sbx_stall_record wait = {.thread = main_thread,
                                    .kind = SBX_RECORD_LOCK,
                                    .op = SBX_OP_MUTEX_LOCK,
                                    .begin_ns = ms_to_ns(-1500),
                                    .end_ns = 0,
                                    .cpu_ns = ms_to_ns(cpu_ms + 1.2),
                                    .message = message,
                                    .object = 1,
                                    .wait = 1,
                                    .peer = (int32_t)writer,
                                    .stack =
                                        report_fixture_stack(fixture, CALL ";configSetCommand@310;bioSubmitJob@170")};
    report_fixture_record(fixture, wait);
    report_fixture_message(fixture, main_thread, -1502, 0, message, 1);
    for (unsigned i = 0; i < 30; i++) {
        struct sbx_stall_record write = {.thread = writer,
                                         .kind = SBX_RECORD_FILE,
                                         .op = SBX_OP_WRITE,
                                         .fd_class = SBX_FD_REGULAR,
                                         .begin_ns = ms_to_ns(-1510 + i * 50.0),
                                         .end_ns = ms_to_ns(-1510 + i * 50.0 + 45),
                                         .cpu_ns = ms_to_ns(writer_cpu_ms + i * 4.0),
                                         .amount = 1 << 20,
                                         .peer = -1,
                                         .stack = report_fixture_stack(fixture,
                                                                       "libc.so.6!clone3@1;libc.so.6!start_thread@8;"
                                                                       "bioProcessBackgroundJobs@240;aofWrite@910")};
        report_fixture_record(fixture, write);
    }
    struct sbx_stall_record wake = {.thread = writer,
                                    .kind = SBX_RECORD_WAKE,
                                    .op = SBX_OP_MUTEX_UNLOCK,
                                    .begin_ns = ms_to_ns(-1),
                                    .end_ns = ms_to_ns(-1),
                                    .cpu_ns = -1,
                                    .object = 1,
                                    .wait = 1,
                                    .peer = (int32_t)main_thread,
                                    .stack =
                                        report_fixture_stack(fixture, "libc.so.6!clone3@1;libc.so.6!start_thread@8;"
                                                                      "bioProcessBackgroundJobs@250")};
    report_fixture_record(fixture, wake);
    for (unsigned i = 0; i < 18; i++) {
        static char names[18][16];
        snprintf(names[i], sizeof names[i], "io_thd_%u", i);
        uint32_t thread = report_fixture_thread(fixture, names[i], false);
        for (double at_ms = -9600 + i * 30.0; at_ms < -440; at_ms += 500 + i * 37.0) {
            report_fixture_wait(fixture, thread, SBX_RECORD_COND, SBX_OP_COND_WAIT, at_ms, at_ms + 400, 0,
                                (at_ms + 9600) / (i % 4 == 0 ? 6 : 60),
                                "libc.so.6!clone3@1;libc.so.6!start_thread@8;IOThreadMain@4330");
        }
    }
    struct sbx_stall *stall = report_fixture_stall(fixture);
    stall->trigger.thread = main_thread;
    stall->trigger.message = message;
    stall->trigger.history_ns = ms_to_ns(9700);
    put_verdict(fixture, SBX_CAUSE_LOCK, SBX_CLASS_OFF_CPU, -1502, "bioSubmitJob", "bio.c", 170,
                "main thread waited 1.5 s for a mutex in bioSubmitJob; bio_aof held it, in aofWrite");
    struct sbx_verdict *verdict = report_fixture_verdict(fixture);
    verdict->culprit_thread = (int32_t)writer;
    verdict->culprit_function = "aofWrite";
    verdict->off_cpu_ms = 1500;
    verdict->on_cpu_ms = 2;
    verdict->messages = 1;
    verdict->stack = wait.stack;
    add_evidence(verdict, "holder", 1, "the mutex was held by bio_aof when the wait began");
    return fixture;
}

struct report_fixture *sample_unanswered(void)
{
    static const char inside[] = CALL ";debugCommand@482;libc.so.6!nanosleep@27;libc.so.6!__GI___clock_nanosleep@78";
    struct report_fixture *fixture = report_fixture_create();
    uint32_t main_thread = report_fixture_thread(fixture, "main", true);
    double cpu_ms = 40;
    uint64_t message = put_quiet_loop(fixture, main_thread, -3000, -2000, 100, &cpu_ms) + 1;
    report_fixture_sample(fixture, main_thread, -1999, message, cpu_ms + 0.5, READ ";processInputBuffer@2522");
    for (int look = 0; look < 2; look++) {
        double at_ms = look == 0 ? -1000 : 0;
        struct sbx_stall_record blocked = {.thread = main_thread,
                                           .kind = SBX_RECORD_BLOCKED,
                                           .op = SBX_OP_NANOSLEEP,
                                           .flags = look == 0 ? 0 : SBX_FLAG_AT_TRIGGER,
                                           .begin_ns = ms_to_ns(at_ms),
                                           .end_ns = ms_to_ns(at_ms),
                                           .cpu_ns = ms_to_ns(cpu_ms + 0.9),
                                           .message = message,
                                           .peer = -1,
                                           .stack = report_fixture_stack(fixture, inside)};
        report_fixture_record(fixture, blocked);
    }
    struct sbx_stall_thread *self = report_fixture_thread_at(fixture, main_thread);
    self->call_kind = SBX_RECORD_SLEEP;
    self->call_op = SBX_OP_NANOSLEEP;
    self->call_ns = ms_to_ns(1998);
    self->last_stack = report_fixture_stack(fixture, inside);
    struct sbx_stall *stall = report_fixture_stall(fixture);
    stall->trigger.kind = SBX_TRIGGER_ANR;
    stall->trigger.thread = main_thread;
    stall->trigger.message = message;
    stall->trigger.in_progress = true;
    stall->trigger.history_ns = ms_to_ns(3000);
    put_verdict(fixture, SBX_CAUSE_SLEEP, SBX_CLASS_OFF_CPU, -2000, "debugCommand", "debug.c", 482,
                "main thread has been asleep for 2.0 s in debugCommand (nanosleep)");
    report_fixture_verdict(fixture)->stack = self->last_stack;
    report_fixture_verdict(fixture)->off_cpu_ms = 1998;
    return fixture;
}

struct report_fixture *sample_by_name(const char *name)
{
    return strcmp(name, "sleep") == 0        ? sample_sleep()
           : strcmp(name, "script") == 0     ? sample_script()
           : strcmp(name, "lock") == 0       ? sample_lock()
           : strcmp(name, "unanswered") == 0 ? sample_unanswered()
                                             : NULL;
}
