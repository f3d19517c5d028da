/* SPDX-License-Identifier: Apache-2.0 */
/* payload_builder.h - payloads built by hand, for the tests of triage, exporters and server.
 *
 * Rows are added as plain structs, and become the columns of payload.proto, packed, compressed and wrapped in an
 * envelope. The builder has its own code for all of that, so that a test compares two independent implementations of
 * the format. Test code: it aborts without memory and on wrong use. */
#ifndef SBX_PAYLOAD_BUILDER_H
#define SBX_PAYLOAD_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stallbox/v1/payload.pb-c.h>

#include "payload_numbers.h"

struct sbx_payload_builder;

/* Special values for the module index of a frame. */
enum {
    SBX_BUILD_END = -1,
    SBX_BUILD_GENERATED = -2,
    SBX_BUILD_CUT = -3
};

struct sbx_build_frame {
    int32_t module;
    uint64_t offset; /* SBX_BUILD_END: enum sbx_walk_end */
    bool exact;
};

/* Times in microseconds relative to the end of the trigger. Rows of one thread are added in the order of their ends,
 * rows of different threads in any order. */
struct sbx_build_record {
    uint32_t thread;
    uint8_t kind, op, fd_class, flags;
    int64_t begin_us, end_us;
    int64_t cpu_us; /* 0: not read */
    int64_t alloc_count, alloc_bytes;
    uint64_t message, amount;
    uint32_t stack;  /* the result of sbx_builder_stack(); UINT32_MAX: lost because the table was full */
    uint32_t object; /* ordinal + 1 */
    uint32_t peer;   /* thread ordinal + 1 */
    uint32_t wait;   /* ordinal + 1 */
    uint32_t repeats;
    uint32_t usage[4]; /* growth of minor and major faults, voluntary and involuntary switches; with SBX_FLAG_USAGE */
};

struct sbx_build_call {              /* the blocking call a thread was in at the trigger */
    uint32_t kind, op, peer, object; /* peer: ordinal + 1 */
    uint64_t duration_us;
};

/* A payload without modules, threads and records, of an application 7.0.15, taken by a slow_message trigger. `seed`
 * determines the payload id, so different seeds give different payloads. */
struct sbx_payload_builder *sbx_payload_builder_create(uint64_t seed);
void sbx_payload_builder_destroy(struct sbx_payload_builder *builder);

/* Each returns the index of the new row. `system_name` (may be NULL) is looked up in the compiled table. */
int32_t sbx_builder_module(struct sbx_payload_builder *builder, uint32_t kind, const uint8_t *build_id, size_t bytes,
                           const char *system_name);
/* The same with the build-id of a real ELF file; -1 when the file does not exist or has none. */
int32_t sbx_builder_module_file(struct sbx_payload_builder *builder, uint32_t kind, const char *path,
                                const char *system_name);
/* `flags` as in the schema. With 1 (main) the name is the table's "main", and `name` is ignored. */
uint32_t sbx_builder_thread(struct sbx_payload_builder *builder, const char *name, uint32_t flags);
void sbx_builder_thread_call(struct sbx_payload_builder *builder, uint32_t thread, struct sbx_build_call call);
/* The thread has no newest stack any more. */
void sbx_builder_forget_stack(struct sbx_payload_builder *builder, uint32_t thread);
/* The runtime of the program (sbx_runtime_kind, sbx_runtime_state) and its version. Call it once. */
void sbx_builder_runtime(struct sbx_payload_builder *builder, uint32_t kind, uint32_t state, uint32_t major,
                         uint32_t minor);
/* Add another process with that role (enum sbx_family_role) and a session id of sevens. Threads that are added later
 * belong to it. Returns its number. */
uint32_t sbx_builder_process(struct sbx_payload_builder *builder, uint32_t role);
void sbx_builder_thread_process(struct sbx_payload_builder *builder, uint32_t thread, uint32_t process);
/* Leaf first. Equal frames and equal tails are shared, as the agent does. Returns the callstack id. */
uint32_t sbx_builder_stack(struct sbx_payload_builder *builder, const struct sbx_build_frame *frames, size_t count);
/* A main thread that slept in these frames for the whole of its message, two seconds, which fired the trigger. */
void sbx_builder_sleep(struct sbx_payload_builder *builder, const struct sbx_build_frame *frames, size_t count);
void sbx_builder_record(struct sbx_payload_builder *builder, struct sbx_build_record record);

/* The scalar fields are in this message until it is packed: trigger, policy, platform and so on may be changed. The
 * first call of sbx_builder_columns() fills its tables; a test may damage them before packing. */
Stallbox__V1__Payload *sbx_builder_payload(struct sbx_payload_builder *builder);
Stallbox__V1__Payload *sbx_builder_columns(struct sbx_payload_builder *builder);

/* Make the columns, pack and wrap. Given: free(). */
void sbx_builder_envelope(struct sbx_payload_builder *builder, uint8_t **envelope_out, size_t *bytes_out);
/* Wrap arbitrary bytes, as a protobuf body or as an already compressed body, in a valid plain envelope. Given:
 * free(). */
void sbx_build_wrap_body(const uint8_t id[16], const void *body, size_t body_bytes, uint8_t **envelope_out,
                         size_t *bytes_out);
void sbx_build_wrap_compressed(const uint8_t id[16], const void *compressed, size_t compressed_bytes,
                               uint8_t **envelope_out, size_t *bytes_out);

/* The address of a function in the file's symbol table; 0 when it has no such symbol. */
uint64_t sbx_build_symbol(const char *elf_path, const char *function);
/* An address in the file's executable code behind `after` that no symbol covers; 0 when there is none. */
uint64_t sbx_build_unnamed(const char *elf_path, uint64_t after);

/* ---- whole stalls of a redis-server ---- */

enum sbx_scenario {
    SBX_SCENARIO_SLEEP,      /* slow_message: 2 s in DEBUG SLEEP (nanosleep below debugCommand) */
    SBX_SCENARIO_CPU,        /* slow_message: 2 s of a Lua script (unnamed frames over lua_pcall, evalGenericCommand) */
    SBX_SCENARIO_LOCK,       /* slow_message: 1.5 s for a mutex held by the thread "bio_lazy_free", which computes */
    SBX_SCENARIO_IO,         /* slow_message: 0.8 of 1 s in fsync below flushAppendOnlyFile */
    SBX_SCENARIO_ANR_ASLEEP, /* anr: fired 5 s into a nanosleep that has not ended */
    SBX_SCENARIO_COUNT
};

/* With `real`, the modules are /usr/bin/redis-server, libc and libjemalloc of this machine, and the offsets are those
 * of the named functions; false when they are not installed. Without `real`, build-ids and offsets are made up and have
 * no names. */
bool sbx_scenario_build(enum sbx_scenario scenario, bool real, uint64_t seed, struct sbx_payload_builder **builder_out);
/* sbx_scenario_build() and sbx_builder_envelope(). Given: free(). */
bool sbx_scenario_envelope(enum sbx_scenario scenario, bool real, uint64_t seed, uint8_t **envelope_out,
                           size_t *bytes_out);

#endif
