/* SPDX-License-Identifier: Apache-2.0 */
/* payload_builder.c - payloads built by hand, for tests.
 *
 * Separate from the scenarios (scenario.c), so that a test of one unusual column needs no knowledge of redis. */
#include "payload_builder.h"

#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "envelope_format.h"
#include "name_tables.h"

enum {
    MODULES_MAX = 64,
    THREADS_MAX = 64,
    FRAMES_MAX = 4096,
    STACKS_MAX = 8192
};

struct module {
    uint32_t kind, name;
    uint8_t build_id[32];
    size_t build_id_bytes;
};

struct thread {
    uint32_t name, flags, last_stack;
    struct sbx_build_call call;
    uint32_t process;
};

struct stack {
    uint32_t frame, parent; /* row; id, 0: outermost */
};

struct sbx_payload_builder {
    Stallbox__V1__Payload payload;
    Stallbox__V1__Platform platform;
    Stallbox__V1__Policy policy;
    Stallbox__V1__Trigger trigger;
    Stallbox__V1__Modules modules_message;
    Stallbox__V1__Threads threads_message;
    Stallbox__V1__Processes processes_message;
    uint32_t roles[8], process_count;
    Stallbox__V1__Runtimes runtimes_message;
    uint32_t runtime[4]; /* kind, state, major, minor */
    Stallbox__V1__Frames frames_message;
    Stallbox__V1__Callstacks callstacks_message;
    Stallbox__V1__Records records_message;
    Stallbox__V1__Redactions redactions;
    uint8_t id[16], session[16];
    uint32_t version[3];
    uint64_t drops[SBX_DROP_COUNT];

    struct module modules[MODULES_MAX];
    struct thread threads[THREADS_MAX];
    struct sbx_build_frame frames[FRAMES_MAX];
    struct stack stacks[STACKS_MAX];
    uint32_t module_count, thread_count, frame_count, stack_count;
    struct sbx_build_record *records;
    size_t record_count, record_room;

    void *columns[64]; /* every array that sbx_builder_columns() made */
    size_t column_count;
    bool filled;
};

static void *need(void *memory)
{
    if (memory == NULL) {
        abort();
    }
    return memory;
}

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "payload_builder: %s\n", what);
        abort();
    }
}

struct sbx_payload_builder *sbx_payload_builder_create(uint64_t seed)
{
    struct sbx_payload_builder *builder = need(calloc(1, sizeof *builder));
    stallbox__v1__payload__init(&builder->payload);
    stallbox__v1__platform__init(&builder->platform);
    stallbox__v1__policy__init(&builder->policy);
    stallbox__v1__trigger__init(&builder->trigger);
    stallbox__v1__modules__init(&builder->modules_message);
    stallbox__v1__threads__init(&builder->threads_message);
    stallbox__v1__processes__init(&builder->processes_message);
    stallbox__v1__frames__init(&builder->frames_message);
    stallbox__v1__callstacks__init(&builder->callstacks_message);
    stallbox__v1__records__init(&builder->records_message);
    stallbox__v1__redactions__init(&builder->redactions);
    uint64_t mixed = seed;
    for (int i = 0; i < 16; i++) {
        mixed = mixed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        builder->id[i] = (uint8_t)(mixed >> 56);
        builder->session[i] = (uint8_t)(0x50 + i);
    }
    Stallbox__V1__Payload *payload = &builder->payload;
    payload->format = 1;
    payload->payload_id = (ProtobufCBinaryData){16, builder->id};
    payload->session_id = (ProtobufCBinaryData){16, builder->session};
    payload->created_day = 20500;
    payload->uptime_bucket = 1;
    builder->platform.os = 1;
    builder->platform.os_major = 12;
    builder->platform.kernel_major = 6;
    builder->platform.kernel_minor = 1;
    builder->platform.arch = 1;
    builder->platform.log2_cores = 1;
    builder->platform.log2_ram_gib = 3;
    builder->policy.points = 0xff;
    builder->policy.interval_us = 10000;
    builder->policy.gap_us = 20000;
    builder->policy.wait_min_us = 1000;
    builder->policy.anr_ms = 5000;
    builder->policy.slow_message_ms = 1000;
    builder->policy.detail_level = 2;
    builder->policy.async_interval_us = 10000;
    builder->trigger.kind = SBX_TRIGGER_SLOW_MESSAGE;
    builder->trigger.threshold_ms = 1000;
    payload->platform = &builder->platform;
    payload->policy = &builder->policy;
    payload->trigger = &builder->trigger;
    payload->redactions = &builder->redactions;
    builder->version[0] = 7;
    builder->version[2] = 15;
    payload->n_app_version = 3;
    payload->app_version = builder->version;
    payload->n_drops = SBX_DROP_COUNT;
    payload->drops = builder->drops;
    return builder;
}

void sbx_payload_builder_destroy(struct sbx_payload_builder *builder)
{
    if (builder == NULL) {
        return;
    }
    for (size_t i = 0; i < builder->column_count; i++) {
        free(builder->columns[i]);
    }
    free(builder->records);
    free(builder);
}

int32_t sbx_builder_module(struct sbx_payload_builder *builder, uint32_t kind, const uint8_t *build_id, size_t bytes,
                           const char *system_name)
{
    require(builder->module_count < MODULES_MAX && bytes <= 32, "module");
    struct module *module = &builder->modules[builder->module_count];
    module->kind = kind;
    module->name = system_name == NULL ? 0 : sbx_system_module_index(system_name);
    if (bytes > 0) {
        memcpy(module->build_id, build_id, bytes);
    }
    module->build_id_bytes = bytes;
    if (builder->payload.app_build_id.len == 0 && kind == 1) {
        builder->payload.app_build_id = (ProtobufCBinaryData){bytes, module->build_id};
    }
    return (int32_t)builder->module_count++;
}

uint32_t sbx_builder_thread(struct sbx_payload_builder *builder, const char *name, uint32_t flags)
{
    require(builder->thread_count < THREADS_MAX, "thread");
    builder->threads[builder->thread_count].name = (flags & 1) != 0 ? 1 : sbx_thread_name_index(name);
    builder->threads[builder->thread_count].flags = flags;
    return builder->thread_count++;
}

uint32_t sbx_builder_process(struct sbx_payload_builder *builder, uint32_t role)
{
    require(builder->process_count < sizeof builder->roles / sizeof builder->roles[0], "process");
    builder->roles[builder->process_count] = role;
    return ++builder->process_count;
}

void sbx_builder_thread_process(struct sbx_payload_builder *builder, uint32_t thread, uint32_t process)
{
    require(thread < builder->thread_count && process <= builder->process_count, "thread of a process");
    builder->threads[thread].process = process;
}

void sbx_builder_forget_stack(struct sbx_payload_builder *builder, uint32_t thread)
{
    builder->threads[thread].last_stack = 0;
}

void sbx_builder_thread_call(struct sbx_payload_builder *builder, uint32_t thread, struct sbx_build_call call)
{
    require(thread < builder->thread_count, "thread of a call");
    builder->threads[thread].call = call;
}

static uint32_t intern_frame(struct sbx_payload_builder *builder, const struct sbx_build_frame *frame)
{
    for (uint32_t i = 0; i < builder->frame_count; i++) {
        const struct sbx_build_frame *known = &builder->frames[i];
        if (known->module == frame->module && known->offset == frame->offset && known->exact == frame->exact) {
            return i;
        }
    }
    require(builder->frame_count < FRAMES_MAX, "frames");
    builder->frames[builder->frame_count] = *frame;
    return builder->frame_count++;
}

uint32_t sbx_builder_stack(struct sbx_payload_builder *builder, const struct sbx_build_frame *frames, size_t count)
{
    uint32_t parent = 0;
    for (size_t i = count; i-- > 0;) {
        uint32_t row = intern_frame(builder, &frames[i]);
        uint32_t found = 0;
        for (uint32_t id = 1; id <= builder->stack_count && found == 0; id++) {
            if (builder->stacks[id - 1].frame == row && builder->stacks[id - 1].parent == parent) {
                found = id;
            }
        }
        if (found == 0) {
            require(builder->stack_count < STACKS_MAX, "stacks");
            builder->stacks[builder->stack_count] = (struct stack){row, parent};
            found = ++builder->stack_count;
        }
        parent = found;
    }
    return parent;
}

void sbx_builder_record(struct sbx_payload_builder *builder, struct sbx_build_record record)
{
    require(record.thread < builder->thread_count, "thread of a record");
    if (builder->record_count == builder->record_room) {
        builder->record_room = builder->record_room == 0 ? 256 : builder->record_room * 2;
        builder->records = need(realloc(builder->records, builder->record_room * sizeof *builder->records));
    }
    builder->records[builder->record_count++] = record;
    if (record.stack != 0 && record.stack != UINT32_MAX) {
        builder->threads[record.thread].last_stack = record.stack;
    }
}

Stallbox__V1__Payload *sbx_builder_payload(struct sbx_payload_builder *builder)
{
    return &builder->payload;
}

/* ---- columns ---- */

static void *column(struct sbx_payload_builder *builder, size_t count, size_t element_bytes)
{
    require(builder->column_count < sizeof builder->columns / sizeof builder->columns[0], "columns");
    void *made = need(calloc(count == 0 ? 1 : count, element_bytes));
    builder->columns[builder->column_count++] = made;
    return made;
}

/* Let `message.n_field` and `message.field` point to a new column of `count`. */
#define COLUMN(message, field, count) \
    ((message)->n_##field = (count), (message)->field = column(builder, (count), sizeof *(message)->field))

static void fill_modules(struct sbx_payload_builder *builder)
{
    Stallbox__V1__Modules *message = &builder->modules_message;
    size_t count = builder->module_count;
    COLUMN(message, kind, count);
    COLUMN(message, build_id, count);
    COLUMN(message, name, count);
    for (size_t i = 0; i < count; i++) {
        struct module *module = &builder->modules[i];
        message->kind[i] = module->kind;
        message->build_id[i] = (ProtobufCBinaryData){module->build_id_bytes, module->build_id};
        message->name[i] = module->name;
    }
    builder->payload.modules = message;
}

static void fill_threads(struct sbx_payload_builder *builder)
{
    Stallbox__V1__Threads *message = &builder->threads_message;
    size_t count = builder->thread_count;
    COLUMN(message, name, count);
    COLUMN(message, flags, count);
    COLUMN(message, call_kind, count);
    COLUMN(message, call_op, count);
    COLUMN(message, call_us, count);
    COLUMN(message, call_peer, count);
    COLUMN(message, call_object, count);
    COLUMN(message, last_stack, count);
    for (size_t i = 0; i < count; i++) {
        const struct thread *thread = &builder->threads[i];
        message->name[i] = thread->name;
        message->flags[i] = thread->flags;
        message->call_kind[i] = thread->call.kind;
        message->call_op[i] = thread->call.op;
        message->call_us[i] = thread->call.duration_us;
        message->call_peer[i] = thread->call.peer;
        message->call_object[i] = thread->call.object;
        message->last_stack[i] = thread->last_stack;
    }
    builder->payload.threads = message;
}

static void fill_processes(struct sbx_payload_builder *builder)
{
    static uint8_t session[16];
    Stallbox__V1__Processes *message = &builder->processes_message;
    size_t count = builder->process_count;
    if (count == 0) {
        return;
    }
    memset(session, 7, sizeof session);
    COLUMN(message, role, count);
    COLUMN(message, session_id, count);
    for (size_t i = 0; i < count; i++) {
        message->role[i] = builder->roles[i];
        message->session_id[i] = (ProtobufCBinaryData){builder->roles[i] != 0 ? sizeof session : 0, session};
    }
    COLUMN(&builder->threads_message, process, builder->thread_count);
    for (size_t i = 0; i < builder->thread_count; i++) {
        builder->threads_message.process[i] = builder->threads[i].process;
    }
    builder->payload.processes = message;
}

void sbx_builder_runtime(struct sbx_payload_builder *builder, uint32_t kind, uint32_t state, uint32_t major,
                         uint32_t minor)
{
    Stallbox__V1__Runtimes *message = &builder->runtimes_message;
    stallbox__v1__runtimes__init(message);
    builder->runtime[0] = kind;
    builder->runtime[1] = state;
    builder->runtime[2] = major;
    builder->runtime[3] = minor;
    message->n_kind = message->n_state = message->n_major = message->n_minor = 1;
    message->kind = &builder->runtime[0];
    message->state = &builder->runtime[1];
    message->major = &builder->runtime[2];
    message->minor = &builder->runtime[3];
    builder->payload.runtimes = message;
}

static void fill_frames(struct sbx_payload_builder *builder)
{
    Stallbox__V1__Frames *message = &builder->frames_message;
    size_t count = builder->frame_count;
    COLUMN(message, module, count);
    COLUMN(message, offset, count);
    COLUMN(message, exact, count);
    uint64_t before = 0;
    for (size_t i = 0; i < count; i++) {
        const struct sbx_build_frame *frame = &builder->frames[i];
        message->module[i] = frame->module == SBX_BUILD_END         ? builder->module_count
                             : frame->module == SBX_BUILD_GENERATED ? builder->module_count + 1
                             : frame->module == SBX_BUILD_CUT       ? builder->module_count + 2
                                                                    : (uint32_t)frame->module;
        message->offset[i] = (int64_t)(frame->offset - before);
        message->exact[i] = frame->exact;
        before = frame->offset;
    }
    builder->payload.frames = message;
}

static void fill_callstacks(struct sbx_payload_builder *builder)
{
    Stallbox__V1__Callstacks *message = &builder->callstacks_message;
    size_t count = builder->stack_count;
    COLUMN(message, frame, count);
    COLUMN(message, parent, count);
    for (size_t i = 0; i < count; i++) {
        message->frame[i] = builder->stacks[i].frame;
        message->parent[i] = builder->stacks[i].parent == 0 ? 0 : (uint32_t)(i + 1) - builder->stacks[i].parent;
    }
    builder->payload.callstacks = message;
}

static void fill_record(Stallbox__V1__Records *message, size_t row, const struct sbx_build_record *record,
                        const struct sbx_build_record *before, int64_t *cpu_before, uint32_t stack_count)
{
    message->kind[row] = record->kind;
    message->op[row] = record->op;
    message->flags[row] = record->flags | (uint32_t)record->fd_class << 8;
    message->end_us[row] = record->end_us - before->end_us;
    message->duration_us[row] = (uint64_t)(record->end_us - record->begin_us);
    message->has_cpu[row] = record->cpu_us != 0;
    if (record->cpu_us != 0) {
        message->cpu_us[row] = record->cpu_us - *cpu_before;
        *cpu_before = record->cpu_us;
    }
    message->alloc_count[row] = record->alloc_count - before->alloc_count;
    message->alloc_bytes[row] = record->alloc_bytes - before->alloc_bytes;
    message->stack[row] = record->stack == UINT32_MAX ? stack_count + 1 : record->stack;
    message->message[row] = (int64_t)(record->message - before->message);
    message->object[row] = record->object;
    message->amount[row] = record->amount;
    message->peer[row] = record->peer;
    message->repeats[row] = record->repeats;
    message->wait[row] = record->wait;
}

static void fill_records(struct sbx_payload_builder *builder)
{
    Stallbox__V1__Records *message = &builder->records_message;
    size_t count = builder->record_count;
    COLUMN(message, thread_rows, builder->thread_count);
    COLUMN(message, kind, count);
    COLUMN(message, op, count);
    COLUMN(message, flags, count);
    COLUMN(message, end_us, count);
    COLUMN(message, duration_us, count);
    COLUMN(message, cpu_us, count);
    COLUMN(message, has_cpu, count);
    COLUMN(message, alloc_count, count);
    COLUMN(message, alloc_bytes, count);
    COLUMN(message, stack, count);
    COLUMN(message, message, count);
    COLUMN(message, object, count);
    COLUMN(message, amount, count);
    COLUMN(message, peer, count);
    COLUMN(message, repeats, count);
    COLUMN(message, wait, count);
    size_t readings = 0, reading = 0;
    for (size_t i = 0; i < count; i++) {
        readings += (builder->records[i].flags & SBX_FLAG_USAGE) != 0;
    }
    COLUMN(message, minor_faults, readings);
    COLUMN(message, major_faults, readings);
    COLUMN(message, voluntary_switches, readings);
    COLUMN(message, involuntary_switches, readings);
    size_t row = 0;
    for (uint32_t thread = 0; thread < builder->thread_count; thread++) {
        struct sbx_build_record before = {0};
        int64_t cpu_before = 0;
        for (size_t i = 0; i < count; i++) {
            const struct sbx_build_record *record = &builder->records[i];
            if (record->thread != thread) {
                continue;
            }
            fill_record(message, row++, record, &before, &cpu_before, builder->stack_count);
            message->thread_rows[thread]++;
            if ((record->flags & SBX_FLAG_USAGE) != 0) {
                message->minor_faults[reading] = record->usage[0];
                message->major_faults[reading] = record->usage[1];
                message->voluntary_switches[reading] = record->usage[2];
                message->involuntary_switches[reading] = record->usage[3];
                reading++;
            }
            before = *record;
        }
    }
    builder->payload.records = message;
}

Stallbox__V1__Payload *sbx_builder_columns(struct sbx_payload_builder *builder)
{
    if (!builder->filled) {
        fill_modules(builder);
        fill_threads(builder);
        fill_processes(builder);
        fill_frames(builder);
        fill_callstacks(builder);
        fill_records(builder);
        builder->filled = true;
    }
    return &builder->payload;
}

/* ---- envelope ---- */

static uint32_t crc32c_add(uint32_t crc, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ (UINT32_C(0x82f63b78) & (0u - (crc & 1u)));
        }
    }
    return crc;
}

static void put_u32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        at[i] = (uint8_t)(value >> (8 * i));
    }
}

void sbx_build_wrap_compressed(const uint8_t id[16], const void *compressed, size_t compressed_bytes,
                               uint8_t **envelope_out, size_t *bytes_out)
{
    uint8_t *envelope = need(calloc(1, SBX_ENVELOPE_HEADER_BYTES + compressed_bytes));
    memcpy(envelope, SBX_ENVELOPE_MAGIC, 4);
    envelope[4] = SBX_ENVELOPE_VERSION;
    envelope[5] = SBX_ENVELOPE_SUITE_PLAIN;
    memcpy(envelope + 16, id, 16);
    put_u32(envelope + 32, (uint32_t)compressed_bytes);
    if (compressed_bytes > 0) {
        memcpy(envelope + SBX_ENVELOPE_HEADER_BYTES, compressed, compressed_bytes);
    }
    uint32_t crc = crc32c_add(UINT32_MAX, envelope, 36);
    crc = ~crc32c_add(crc, envelope + SBX_ENVELOPE_HEADER_BYTES, compressed_bytes);
    put_u32(envelope + 36, crc);
    *envelope_out = envelope;
    *bytes_out = SBX_ENVELOPE_HEADER_BYTES + compressed_bytes;
}

void sbx_build_wrap_body(const uint8_t id[16], const void *body, size_t body_bytes, uint8_t **envelope_out,
                         size_t *bytes_out)
{
    size_t room = ZSTD_compressBound(body_bytes);
    void *compressed = need(malloc(room));
    size_t compressed_bytes = ZSTD_compress(compressed, room, body, body_bytes, 3);
    require(!ZSTD_isError(compressed_bytes), "zstd");
    sbx_build_wrap_compressed(id, compressed, compressed_bytes, envelope_out, bytes_out);
    free(compressed);
}

void sbx_builder_envelope(struct sbx_payload_builder *builder, uint8_t **envelope_out, size_t *bytes_out)
{
    const Stallbox__V1__Payload *payload = sbx_builder_columns(builder);
    size_t body_bytes = stallbox__v1__payload__get_packed_size(payload);
    uint8_t *body = need(malloc(body_bytes == 0 ? 1 : body_bytes));
    stallbox__v1__payload__pack(payload, body);
    sbx_build_wrap_body(builder->id, body, body_bytes, envelope_out, bytes_out);
    free(body);
}

/* ---- real files ---- */

/* Call `each` for every defined function of .symtab or .dynsym, until it returns true. */
static bool each_function(const char *elf_path, bool (*each)(void *, const char *, const GElf_Sym *), void *context)
{
    elf_version(EV_CURRENT);
    int fd = open(elf_path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    bool stopped = false;
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section != NULL && !stopped; section = elf_nextscn(elf, section)) {
        GElf_Shdr header;
        Elf_Data *table = NULL;
        if (gelf_getshdr(section, &header) == NULL || header.sh_entsize == 0 ||
            (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM) ||
            (table = elf_getdata(section, NULL)) == NULL) {
            continue;
        }
        for (size_t i = 0; i < header.sh_size / header.sh_entsize && !stopped; i++) {
            GElf_Sym symbol;
            if (gelf_getsym(table, (int)i, &symbol) == NULL || symbol.st_shndx == SHN_UNDEF ||
                GELF_ST_TYPE(symbol.st_info) != STT_FUNC) {
                continue;
            }
            const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);
            stopped = name != NULL && each(context, name, &symbol);
        }
    }
    elf_end(elf);
    close(fd);
    return stopped;
}

struct symbol_search {
    const char *name;
    uint64_t found;
};

static bool is_wanted(void *context, const char *name, const GElf_Sym *symbol)
{
    struct symbol_search *search = context;
    if (strcmp(name, search->name) != 0) {
        return false;
    }
    search->found = symbol->st_value;
    return true;
}

uint64_t sbx_build_symbol(const char *elf_path, const char *function)
{
    struct symbol_search search = {function, 0};
    each_function(elf_path, is_wanted, &search);
    return search.found;
}

struct cover_search {
    uint64_t address, end;
};

static bool covers(void *context, const char *name, const GElf_Sym *symbol)
{
    struct cover_search *search = context;
    (void)name;
    search->end = symbol->st_value + symbol->st_size;
    return search->address >= symbol->st_value && search->address < search->end;
}

uint64_t sbx_build_unnamed(const char *elf_path, uint64_t after)
{
    struct cover_search search = {after, 0};
    for (int tries = 0; tries < 1000; tries++) {
        if (!each_function(elf_path, covers, &search)) {
            return search.address;
        }
        search.address = search.end + 0x100; /* well inside the next function, in case it is a hidden one */
    }
    return 0;
}

int32_t sbx_builder_module_file(struct sbx_payload_builder *builder, uint32_t kind, const char *path,
                                const char *system_name)
{
    elf_version(EV_CURRENT);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    int32_t index = -1;
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section != NULL && index < 0; section = elf_nextscn(elf, section)) {
        GElf_Shdr header;
        Elf_Data *notes = NULL;
        if (gelf_getshdr(section, &header) == NULL || header.sh_type != SHT_NOTE ||
            (notes = elf_getdata(section, NULL)) == NULL) {
            continue;
        }
        GElf_Nhdr note;
        size_t name_at, descriptor_at, at = 0;
        while (index < 0 && (at = gelf_getnote(notes, at, &note, &name_at, &descriptor_at)) > 0) {
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz <= 32) {
                index = sbx_builder_module(builder, kind, (const uint8_t *)notes->d_buf + descriptor_at, note.n_descsz,
                                           system_name);
            }
        }
    }
    elf_end(elf);
    close(fd);
    return index;
}

void sbx_builder_sleep(struct sbx_payload_builder *builder, const struct sbx_build_frame *frames, size_t count)
{
    sbx_builder_thread(builder, NULL, 1);
    uint32_t stack = sbx_builder_stack(builder, frames, count);
    sbx_builder_record(builder, (struct sbx_build_record){.kind = SBX_RECORD_SLEEP,
                                                          .op = SBX_OP_USLEEP,
                                                          .begin_us = -2000000,
                                                          .end_us = 0,
                                                          .stack = stack,
                                                          .message = 1,
                                                          .cpu_us = 1000});
    Stallbox__V1__Trigger *trigger = sbx_builder_payload(builder)->trigger;
    trigger->duration_us = 2000000;
    trigger->history_us = 2000000;
    trigger->message = 1;
}
