/* SPDX-License-Identifier: Apache-2.0 */
/* scene.c - builds the recording of the scene. */
#include "scene.h"

#include <string.h>

const char *const sbx_scene_secrets[] = {
    "anna", "smith", "payroll", "medical", "records.so", "mailbox", "/home", "/usr",  "/lib",   "libc.so",
    "libz", "bio_",  "close",   "main",    "nanosleep",  "lock",    "debug", "linux", "Debian", NULL,
};

static const uint64_t ms = 1000000;

static uint32_t stack_of(struct sbx_recording_builder *builder, uint64_t leaf_offset, uint32_t leaf_module)
{
    const struct sbx_built_frame frames[] = {
        {leaf_module, leaf_offset, 0}, {SBX_SCENE_APP, 0x41234, 0}, {SBX_SCENE_SECRET, 0x9999, 0},
        {SBX_SCENE_SECRET, 0xaaaa, 0}, {SBX_SCENE_APP, 0x40000, 0}, {SBX_SCENE_LIBC, 0x27249, 0},
    };
    return sbx_recording_add_stack(builder, frames, sizeof frames / sizeof frames[0], SBX_WALK_COMPLETE);
}

struct sbx_recording_builder *sbx_scene_create(void)
{
    struct sbx_recording_builder *builder = sbx_recording_builder_create(SBX_RECORDING_SHAPE_SMALL, NULL);
    const uint64_t end = SBX_SCENE_TRIGGER_NS;
    builder->header->started_ns = SBX_SCENE_STARTED_NS;
    builder->header->started_real_s = UINT64_C(1700000000); /* 2023-11-14 */
    builder->header->async_interval_ns = 9876543;
    strcpy(builder->header->executable_path, "/home/anna.smith/bin/payroll-server");
    strcpy(builder->header->spool_path, "/home/anna.smith/.local/state/stallbox");
    sbx_recording_add_module(builder, "/home/anna.smith/bin/payroll-server", SBX_SCENE_APP_BASE, 0x200000,
                             SBX_MODULE_MAIN);
    sbx_recording_add_module(builder, "/usr/lib/x86_64-linux-gnu/libc.so.6", UINT64_C(0x7f31a0000000), 0x1d0000, 0);
    sbx_recording_add_module(builder, "/home/anna.smith/plugins/libmedical-records.so", UINT64_C(0x7f319f000000),
                             0x10000, 0);
    sbx_recording_add_module(builder, "/usr/lib/x86_64-linux-gnu/libz.so.1", UINT64_C(0x7f319e000000), 0x10000, 0);
    sbx_recording_add_thread(builder, 71002, "bio_close_file", 0);
    sbx_recording_add_thread(builder, 71001, "payroll-server", 1 | 2);
    sbx_recording_add_thread(builder, 71003, "anna's mailbox", 0);

    for (uint64_t i = 0; i < 100; i++) {
        uint64_t at = end - 3000 * ms + i * 10 * ms;
        struct sbx_record sample = {.begin_ns = at,
                                    .end_ns = at,
                                    .cpu_ns = 777000 * ms + i * 9 * ms,
                                    .alloc_count = 123456 + i,
                                    .alloc_bytes = 987654321 + i * 100,
                                    .message = 1000041,
                                    .thread = SBX_SCENE_MAIN,
                                    .stack = stack_of(builder, 0x1000 + (i % 7) * 16, SBX_SCENE_APP),
                                    .kind = SBX_RECORD_ALLOC,
                                    .op = SBX_OP_MALLOC};
        sbx_recording_put(builder, &sample);
    }
    struct sbx_record asleep = {.begin_ns = end - 2000 * ms,
                                .end_ns = end,
                                .cpu_ns = 777901 * ms,
                                .alloc_count = 123600,
                                .alloc_bytes = 987700000,
                                .message = 1000042,
                                .thread = SBX_SCENE_MAIN,
                                .stack = stack_of(builder, 0xcafe0, SBX_SCENE_LIBC),
                                .kind = SBX_RECORD_SLEEP,
                                .op = SBX_OP_NANOSLEEP};
    sbx_recording_put(builder, &asleep);
    struct sbx_record at_trigger = asleep;
    at_trigger.begin_ns = at_trigger.end_ns = end + 2 * ms; /* taken because the trigger fired */
    at_trigger.kind = SBX_RECORD_BLOCKED;
    at_trigger.flags = SBX_FLAG_AT_TRIGGER;
    sbx_recording_put(builder, &at_trigger);
    struct sbx_record locked = {.begin_ns = end - 1600 * ms,
                                .end_ns = end - 100 * ms,
                                .cpu_ns = 5 * ms,
                                .object = SBX_SCENE_LOCK,
                                .peer = 71001,
                                .thread = SBX_SCENE_WORKER,
                                .stack = stack_of(builder, 0x8f000, SBX_SCENE_LIBC),
                                .kind = SBX_RECORD_LOCK,
                                .op = SBX_OP_MUTEX_LOCK};
    sbx_recording_put(builder, &locked);
    struct sbx_record old = {.begin_ns = end - 20001 * ms,
                             .end_ns = end - 20000 * ms,
                             .object = 18,
                             .amount = 4096,
                             .thread = SBX_SCENE_PRIVATE,
                             .stack = stack_of(builder, 0x2000, SBX_SCENE_SECRET),
                             .kind = SBX_RECORD_FILE,
                             .op = SBX_OP_READ,
                             .fd_class = SBX_FD_REGULAR};
    sbx_recording_put(builder, &old);
    struct sbx_record recent = old;
    recent.begin_ns = end - 1001 * ms;
    recent.end_ns = end - 1000 * ms;
    sbx_recording_put(builder, &recent);

    struct sbx_thread_entry *waiter = &builder->threads[SBX_SCENE_WORKER];
    waiter->call_kind = SBX_RECORD_LOCK;
    waiter->call_op = SBX_OP_MUTEX_LOCK;
    waiter->call_begin_ns = end - 50 * ms;
    waiter->call_object = SBX_SCENE_LOCK;
    waiter->call_peer = 71001;
    builder->header->drops[SBX_DROP_NESTED] = 3;
    builder->header->runtimes[0] = (struct sbx_runtime_entry){.kind = SBX_RUNTIME_PYTHON,
                                                              .state = SBX_RUNTIME_LEFT_ALONE,
                                                              .major = 3,
                                                              .minor = 8,
                                                              .why = "Python 3.8.18 is not known"};
    builder->header->runtimes[2] = (struct sbx_runtime_entry){.kind = 77, .state = 77, .major = UINT32_MAX};
    sbx_recording_add_watch(builder, SBX_WATCH_WATCHDOG, "anna's mailbox", 5000, end - 300 * ms, 2);
    sbx_recording_add_watch(builder, SBX_WATCH_DEADLINE, "send medical records", 2000, end - 2000 * ms, 1);
    struct sbx_trigger_entry trigger = {.kind = SBX_TRIGGER_SLOW_MESSAGE,
                                        .watch = 2,
                                        .thread = SBX_SCENE_MAIN,
                                        .begin_ns = end - 2000 * ms,
                                        .end_ns = end,
                                        .message = 1000042,
                                        .threshold_ms = 1000};
    sbx_recording_set_trigger(builder, &trigger);
    return builder;
}

struct sbx_redaction sbx_scene_redaction(uint32_t detail_level)
{
    return (struct sbx_redaction){
        .module_rule = SBX_MODULES_DISTRIBUTION, .detail_level = detail_level, .history_ms = 10000};
}
