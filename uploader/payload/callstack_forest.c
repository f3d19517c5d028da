/* SPDX-License-Identifier: Apache-2.0 */
/* callstack_forest.c - builds modules, frames and callstacks from the stacks. */
#include "callstack_forest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "name_tables.h"

enum {
    MODULE_HIDDEN = 0xfffc, /* besides SBX_MODULE_CUT, _NONE and _END; no recording has so many modules */
    WALK_FIRST = 128,
    WALK_MAX = 1 << 16, /* frames of one stack: the recording's table has no more */
    KIND_RUNTIME = 6,   /* payload.proto, Modules.kind */
    WALK_END_MAX = 15,  /* room for new values of enum sbx_walk_end */
};

void sbx_callstack_forest_init(struct sbx_callstack_forest *forest, const struct sbx_snapshot *snapshot,
                               const uint8_t *verdicts)
{
    *forest = (struct sbx_callstack_forest){.snapshot = snapshot, .verdicts = verdicts};
}

void sbx_callstack_forest_finish(struct sbx_callstack_forest *forest)
{
    sbx_ordinal_map_finish(&forest->stacks);
    sbx_ordinal_map_finish(&forest->frames);
    sbx_ordinal_map_finish(&forest->callstacks);
    sbx_ordinal_map_finish(&forest->hidden);
    sbx_ordinal_map_finish(&forest->functions);
    free(forest->function_ids);
    free(forest->stack_callstacks);
    free(forest->frame_words);
    free(forest->rows);
    free(forest->walk);
}

/* Room for element `index` of an array that grows by doubling. */
static int make_room(void **array, size_t *room, size_t index, size_t element_bytes)
{
    if (index < *room) {
        return 0;
    }
    size_t wanted = *room == 0 ? 256 : 2 * *room;
    void *grown = reallocarray(*array, wanted, element_bytes);
    if (grown == NULL) {
        return -ENOMEM;
    }
    *array = grown;
    *room = wanted;
    return 0;
}

static uint32_t module_of(uint64_t word)
{
    return (uint32_t)(word >> SBX_FRAME_MODULE_SHIFT);
}

static bool is_logical_module(uint32_t module)
{
    return module >= SBX_MODULE_LOGICAL && module < SBX_MODULE_LOGICAL + SBX_PROVIDERS_MAX;
}

/* Redacts a logical frame: its line, and its function, which is numbered in order of first appearance. */
static int redact_logical(struct sbx_callstack_forest *forest, uint64_t word, uint64_t *redacted_out)
{
    const struct sbx_snapshot *snapshot = forest->snapshot;
    uint32_t index = sbx_logical_function(word);
    uint64_t id = index < snapshot->id_count ? snapshot->ids[index] : 0;
    uint32_t line = (uint32_t)word & ((UINT32_C(1) << SBX_LOGICAL_LINE_BITS) - 1), number = 0;
    int result = 0;
    bool is_new = false;
    if (id != 0) {
        result = sbx_ordinal_map_put(&forest->functions, id, &number, &is_new);
        if (result == 0 && is_new) {
            result =
                make_room((void **)&forest->function_ids, &forest->function_room, number, sizeof *forest->function_ids);
        }
        if (result == 0 && is_new) {
            for (unsigned i = 0; i < sizeof forest->function_ids->id; i++) {
                forest->function_ids[number].id[i] = (uint8_t)(id >> (56 - 8 * i));
            }
        }
        number++;
    }
    *redacted_out = sbx_frame_word(module_of(word), (uint64_t)number << SBX_LOGICAL_LINE_BITS | line, 0);
    return result;
}

/* Redacts a frame word. A frame in a module that keeps its identity is unchanged. All code of all hidden modules gets
 * the same word. */
static int redact_frame(struct sbx_callstack_forest *forest, uint64_t word, uint64_t *redacted_out)
{
    uint32_t module = module_of(word);
    uint64_t offset = word & SBX_FRAME_OFFSET_MASK;
    if (module == SBX_MODULE_END) {
        *redacted_out = sbx_frame_word(SBX_MODULE_END, offset < WALK_END_MAX ? offset : WALK_END_MAX, 0);
        return 0;
    }
    if (module == SBX_MODULE_NONE || module == SBX_MODULE_CUT) {
        *redacted_out = sbx_frame_word(module, 0, 0);
        return 0;
    }
    if (is_logical_module(module)) {
        return redact_logical(forest, word, redacted_out);
    }
    if (module < forest->snapshot->module_count && forest->verdicts[module] != SBX_HIDE && offset <= SBX_NUMBER_MAX) {
        *redacted_out = word;
        return 0;
    }
    *redacted_out = sbx_frame_word(MODULE_HIDDEN, 0, 0);
    uint32_t ignored;
    return sbx_ordinal_map_put(&forest->hidden, word, &ignored, NULL);
}

static int put_frame(struct sbx_callstack_forest *forest, uint64_t word, uint32_t *frame_out)
{
    uint64_t redacted;
    int result = redact_frame(forest, word, &redacted);
    bool is_new;
    if (result == 0) {
        result = sbx_ordinal_map_put(&forest->frames, redacted, frame_out, &is_new);
    }
    if (result == 0 && is_new) {
        result = make_room((void **)&forest->frame_words, &forest->frame_room, *frame_out, sizeof *forest->frame_words);
        if (result == 0) {
            forest->frame_words[*frame_out] = redacted;
        }
    }
    return result;
}

/* Finds or adds the callstack of `frame`, called from callstack `parent`. */
static int put_callstack(struct sbx_callstack_forest *forest, uint32_t frame, uint32_t parent, uint32_t *number_out)
{
    uint32_t row;
    bool is_new;
    int result = sbx_ordinal_map_put(&forest->callstacks, (uint64_t)frame << 32 | parent, &row, &is_new);
    if (result == 0 && is_new) {
        result = make_room((void **)&forest->rows, &forest->row_room, row, sizeof *forest->rows);
        if (result == 0) {
            forest->rows[row] = (struct sbx_redacted_callstack){.frame = frame, .parent = parent};
        }
    }
    *number_out = row + 1;
    return result;
}

/* Copies the frames of `stack` to forest->walk. */
static int walk_stack(struct sbx_callstack_forest *forest, uint32_t stack, size_t *depth_out)
{
    if (forest->walk == NULL) {
        int result = make_room((void **)&forest->walk, &forest->walk_room, 0, sizeof *forest->walk);
        if (result != 0) {
            return result;
        }
    }
    size_t depth = sbx_snapshot_stack(forest->snapshot, stack, forest->walk, forest->walk_room);
    if (depth > WALK_MAX) {
        return -EOVERFLOW;
    }
    if (depth > forest->walk_room) {
        uint64_t *grown = reallocarray(forest->walk, depth, sizeof *grown);
        if (grown == NULL) {
            return -ENOMEM;
        }
        forest->walk = grown;
        forest->walk_room = depth;
        depth = sbx_snapshot_stack(forest->snapshot, stack, forest->walk, depth);
    }
    *depth_out = depth;
    return 0;
}

int sbx_callstack_forest_put(struct sbx_callstack_forest *forest, uint32_t stack, uint32_t *number_out)
{
    *number_out = 0;
    if (stack == SBX_STACK_NONE) {
        return 0;
    }
    uint32_t index;
    bool is_new;
    int result = sbx_ordinal_map_put(&forest->stacks, stack, &index, &is_new);
    if (result != 0) {
        return result;
    }
    if (!is_new) {
        *number_out = forest->stack_callstacks[index];
        return 0;
    }
    result =
        make_room((void **)&forest->stack_callstacks, &forest->stack_room, index, sizeof *forest->stack_callstacks);
    if (result != 0) {
        return result;
    }
    size_t depth;
    result = walk_stack(forest, stack, &depth);
    uint32_t number = 0;
    for (size_t i = depth; i > 0 && result == 0; i--) { /* from the outermost frame inwards: parents come first */
        uint32_t frame;
        result = put_frame(forest, forest->walk[i - 1], &frame);
        if (result == 0) {
            result = put_callstack(forest, frame, number, &number);
        }
    }
    forest->stack_callstacks[index] = number;
    *number_out = number;
    return result;
}

/* ---- writing ---- */

/* A frame for sorting. */
struct sorted_frame {
    uint64_t word;
    uint32_t was; /* index before sorting */
};

/* Sorts by module, then by offset, so that neighbours in a module have small deltas. The special modules have the
 * highest numbers and come last. */
static int by_place(const void *left, const void *right)
{
    uint64_t a = ((const struct sorted_frame *)left)->word, b = ((const struct sorted_frame *)right)->word;
    if (module_of(a) != module_of(b)) {
        return module_of(a) < module_of(b) ? -1 : 1;
    }
    uint64_t offset_a = a & SBX_FRAME_OFFSET_MASK, offset_b = b & SBX_FRAME_OFFSET_MASK;
    if (offset_a != offset_b) {
        return offset_a < offset_b ? -1 : 1;
    }
    return (a > b) - (a < b);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static void fill_module(const struct sbx_module_entry *entry, uint8_t verdict, struct sbx_redacted_module *module)
{
    *module = (struct sbx_redacted_module){.kind = verdict}; /* enum sbx_module_verdict is numbered like Modules.kind */
    if (verdict == SBX_HIDE) {
        return;
    }
    if (verdict == SBX_KEEP_VDSO) {
        module->name = sbx_system_module_index("linux-vdso.so.1");
    } else if (memchr(entry->path, '\0', sizeof entry->path) != NULL) {
        module->name = sbx_system_module_index(base_name(entry->path));
    }
    if (entry->build_id_bytes >= 8 && entry->build_id_bytes <= SBX_BUILD_ID_MAX) {
        module->build_id_bytes = entry->build_id_bytes;
        memcpy(module->build_id, entry->build_id, entry->build_id_bytes);
    }
}

/* Fills the module of a runtime: a hash of its provider's name. The name itself does not leave. */
static void fill_runtime(const struct sbx_provider_entry *provider, struct sbx_redacted_module *module)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a, as stallbox_function_id() */
    for (size_t i = 0; i < sizeof provider->name && provider->name[i] != '\0'; i++) {
        hash = (hash ^ (uint8_t)provider->name[i]) * UINT64_C(0x100000001b3);
    }
    *module = (struct sbx_redacted_module){.kind = KIND_RUNTIME, .build_id_bytes = 8};
    for (unsigned i = 0; i < 8; i++) {
        module->build_id[i] = (uint8_t)(hash >> (56 - 8 * i));
    }
}

/* Writes rows for the modules of the frames that leave, and for the executable. All hidden modules share one row, after
 * the others. Then come the providers. A loaded module that is in no stack is left out. `row_of` maps a module of the
 * snapshot to its row. The entry of the hidden modules and those of the providers follow after the snapshot's
 * modules. */
static int write_modules(struct sbx_callstack_forest *forest, struct sbx_redacted *redacted, uint32_t *row_of)
{
    const struct sbx_snapshot *snapshot = forest->snapshot;
    bool *used = calloc((size_t)snapshot->module_count + 1, sizeof *used);
    redacted->modules = calloc((size_t)snapshot->module_count + 1 + SBX_PROVIDERS_MAX, sizeof *redacted->modules);
    if (used == NULL || redacted->modules == NULL) {
        free(used);
        return -ENOMEM; /* the maker of `redacted` destroys it */
    }
    bool any_hidden = false, is_told[SBX_PROVIDERS_MAX] = {false};
    for (uint32_t i = 0; i < forest->frames.count; i++) {
        uint32_t module = module_of(forest->frame_words[i]);
        if (module < snapshot->module_count) {
            used[module] = true;
        }
        any_hidden |= module == MODULE_HIDDEN;
        if (is_logical_module(module)) {
            is_told[module - SBX_MODULE_LOGICAL] = true;
        }
    }
    uint32_t rows = 0;
    for (uint32_t i = 0; i < snapshot->module_count; i++) {
        bool is_main = (snapshot->modules[i].flags & SBX_MODULE_MAIN) != 0;
        if (used[i] || is_main) {
            fill_module(&snapshot->modules[i], forest->verdicts[i], &redacted->modules[rows]);
            row_of[i] = rows++;
            if (is_main) {
                redacted->app_module = rows;
            }
        }
    }
    if (any_hidden) {
        fill_module(NULL, SBX_HIDE, &redacted->modules[rows]);
        row_of[snapshot->module_count] = rows++;
    }
    for (uint32_t i = 0; i < SBX_PROVIDERS_MAX; i++) {
        if (is_told[i]) {
            fill_runtime(&snapshot->header.providers[i], &redacted->modules[rows]);
            row_of[snapshot->module_count + 1 + i] = rows++;
        }
    }
    redacted->module_count = rows;
    free(used);
    return 0;
}

/* Counts the modules of hidden frames, which have lost their identity. */
static int count_hidden(struct sbx_callstack_forest *forest, struct sbx_redacted *redacted)
{
    redacted->redactions.frames_hidden = forest->hidden.count;
    struct sbx_ordinal_map modules = {.slots = NULL};
    int result = 0;
    for (size_t i = 0; i < forest->hidden.slot_count && result == 0; i++) {
        if (forest->hidden.slots[i].ordinal_plus_1 != 0) {
            uint32_t ignored;
            result = sbx_ordinal_map_put(&modules, module_of(forest->hidden.slots[i].key), &ignored, NULL);
        }
    }
    redacted->redactions.modules_hidden = modules.count;
    sbx_ordinal_map_finish(&modules);
    return result;
}

static uint32_t module_row(const struct sbx_callstack_forest *forest, const struct sbx_redacted *redacted,
                           const uint32_t *row_of, uint32_t module)
{
    switch (module) {
    case SBX_MODULE_END:
        return redacted->module_count;
    case SBX_MODULE_NONE:
        return redacted->module_count + 1;
    case SBX_MODULE_CUT:
        return redacted->module_count + 2;
    case MODULE_HIDDEN:
        return row_of[forest->snapshot->module_count];
    default:
        return is_logical_module(module) ? row_of[forest->snapshot->module_count + 1 + module - SBX_MODULE_LOGICAL]
                                         : row_of[module];
    }
}

int sbx_callstack_forest_write(struct sbx_callstack_forest *forest, struct sbx_redacted *redacted)
{
    uint32_t frame_count = forest->frames.count;
    int result = -ENOMEM;
    uint32_t *row_of = calloc((size_t)forest->snapshot->module_count + 1 + SBX_PROVIDERS_MAX, sizeof *row_of);
    struct sorted_frame *sorted = calloc((size_t)frame_count + 1, sizeof *sorted);
    uint32_t *now_at = calloc((size_t)frame_count + 1, sizeof *now_at);
    redacted->frames = calloc((size_t)frame_count + 1, sizeof *redacted->frames);
    if (row_of == NULL || sorted == NULL || now_at == NULL || redacted->frames == NULL) {
        goto free_scratch;
    }
    result = write_modules(forest, redacted, row_of);
    if (result == 0) {
        result = count_hidden(forest, redacted);
    }
    if (result != 0) {
        goto free_scratch;
    }
    for (uint32_t i = 0; i < frame_count; i++) {
        sorted[i] = (struct sorted_frame){.word = forest->frame_words[i], .was = i};
    }
    qsort(sorted, frame_count, sizeof *sorted, by_place);
    for (uint32_t i = 0; i < frame_count; i++) {
        now_at[sorted[i].was] = i;
        redacted->frames[i] = (struct sbx_redacted_frame){
            .module = module_row(forest, redacted, row_of, module_of(sorted[i].word)),
            .offset = sorted[i].word & SBX_FRAME_OFFSET_MASK,
            .exact = (sorted[i].word & SBX_FRAME_EXACT) != 0,
        };
    }
    redacted->frame_count = frame_count;
    for (uint32_t i = 0; i < forest->callstacks.count; i++) {
        forest->rows[i].frame = now_at[forest->rows[i].frame];
    }
    redacted->callstacks = forest->rows; /* ownership moves to `redacted` */
    redacted->callstack_count = forest->callstacks.count;
    forest->rows = NULL;
    forest->row_room = 0;
    redacted->functions = forest->function_ids; /* likewise */
    redacted->function_count = forest->functions.count;
    forest->function_ids = NULL;
    forest->function_room = 0;
    result = 0;

free_scratch:
    free(row_of);
    free(sorted);
    free(now_at);
    return result;
}
