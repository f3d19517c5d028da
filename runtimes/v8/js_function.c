/* SPDX-License-Identifier: Apache-2.0 */
/* js_function.c - function -> shared function info -> script, and the scope info with name and position. */
#include "js_function.h"

#include <string.h>

enum {
    SCOPE_TYPE_MASK = 15,
    SCOPE_EVAL = 1,
    SCOPE_FUNCTION = 2,
    SCOPE_MODULE = 3,
    SCOPE_SCRIPT = 4,
    SCOPE_CLASS = 0,
    SCOPE_HAS_CLASS_VARIABLE = 1 << 10,
    SCOPE_FUNCTION_VARIABLE = 3 << 12, /* if not 0: a name and a slot follow */
    SCOPE_HAS_INFERRED_NAME = 1 << 14,
    SCOPE_IS_EMPTY = 1 << 29,
    SCOPE_LOCALS_INLINE = 75, /* fewer names are stored here; more are in a table */
    SCOPE_LOCALS_MAX = 1 << 20,
};

static uint64_t mix(uint64_t key, uint64_t word)
{
    key = (key ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return key ^ key >> 29;
}

/* Opens the script that `word` refers to, directly or through a debugger's info. */
static bool open_script(struct js_pages *pages, const struct js_layout *layout, uint64_t word,
                        struct js_object *script_out)
{
    if (!js_object_open(pages, word, 16, script_out)) {
        return false;
    }
    if (script_out->type == layout->type_debug) {
        if (!js_can_read(pages, script_out->at + JS_DEBUG_SCRIPT, 8) ||
            !js_object_open(pages, js_word_at(script_out->at + JS_DEBUG_SCRIPT), 16, script_out)) {
            return false;
        }
    }
    return script_out->type == layout->type_script && js_can_read(pages, script_out->at, JS_SCRIPT_BYTES);
}

enum js_sort js_function_look(struct js_pages *pages, const struct js_layout *layout, uint64_t isolate, uint64_t word,
                              struct js_function *function_out)
{
    struct js_object object, script;
    uint32_t source_length = 0, name_length = 0;
    if (!js_object_open(pages, word, JS_FUNCTION_SHARED + 8, &object)) {
        return JS_NOTHING;
    }
    if (object.type != layout->type_shared) {
        bool has_shared = js_object_open(pages, js_word_at(object.at + JS_FUNCTION_SHARED), JS_SHARED_BYTES, &object);
        if (!has_shared || object.type != layout->type_shared) {
            return JS_NOTHING;
        }
    } else if (!js_can_read(pages, object.at, JS_SHARED_BYTES)) {
        return JS_NOTHING;
    }
    if (!open_script(pages, layout, js_word_at(object.at + JS_SHARED_SCRIPT), &script)) {
        return JS_BUILT_IN;
    }
    /* A worker's isolate may be at the address of an earlier isolate, and each isolate counts its scripts from 1. So
     * the lengths are added. */
    (void)js_string_length(pages, js_word_at(script.at + JS_SCRIPT_SOURCE), &source_length);
    (void)js_string_length(pages, js_word_at(script.at + JS_SCRIPT_NAME), &name_length);
    uint64_t key = mix(isolate, js_word_at(script.at + JS_SCRIPT_ID));
    key = mix(key, (uint64_t)name_length << 32 | source_length);
    function_out->shared = object.at;
    function_out->script = script.at;
    function_out->script_key = key | 1;
    /* Without its flags, because compilation changes them. */
    key = mix(key,
              (uint64_t)js_half_at(object.at + JS_SHARED_LITERAL) << 16 | js_quarter_at(object.at + JS_SHARED_TOKEN));
    function_out->key = key | 1;
    return JS_FUNCTION;
}

/* What follows the names of a scope's variables. */
struct scope {
    uint64_t name, inferred; /* tagged; 0: it has none */
    uint64_t begin;
};

static bool read_scope(struct js_pages *pages, uint64_t at, struct scope *scope_out)
{
    if (!js_can_read(pages, at, JS_SCOPE_REST)) {
        return false;
    }
    uint32_t flags = (uint32_t)js_number(js_word_at(at + JS_SCOPE_FLAGS));
    int32_t locals = js_number(js_word_at(at + JS_SCOPE_LOCALS));
    if (locals < 0 || locals > SCOPE_LOCALS_MAX) {
        return false;
    }
    uint64_t next = at + JS_SCOPE_REST + ((uint64_t)(locals < SCOPE_LOCALS_INLINE ? locals : 1) + (uint64_t)locals) * 8;
    next += (flags & SCOPE_HAS_CLASS_VARIABLE) != 0 ? 8 : 0;
    if (!js_can_read(pages, next, 5 * 8)) {
        return false;
    }
    *scope_out = (struct scope){0};
    if ((flags & SCOPE_FUNCTION_VARIABLE) != 0) {
        scope_out->name = js_word_at(next);
        next += 16;
    }
    if ((flags & SCOPE_HAS_INFERRED_NAME) != 0) {
        scope_out->inferred = js_word_at(next);
        next += 8;
    }
    uint32_t type = flags & SCOPE_TYPE_MASK;
    bool has_place = type == SCOPE_FUNCTION || type == SCOPE_SCRIPT || type == SCOPE_EVAL || type == SCOPE_MODULE ||
                     (type == SCOPE_CLASS && (flags & SCOPE_IS_EMPTY) == 0);
    scope_out->begin = js_word_at(next);
    return has_place && js_is_number(scope_out->begin) && js_number(scope_out->begin) >= 0;
}

bool js_function_describe(struct js_pages *pages, const struct js_layout *layout, const struct js_function *function,
                          struct js_description *description_out)
{
    static const char anonymous[] = "(anonymous)", no_script[] = "[eval]";
    struct js_object object;
    struct scope scope;
    uint64_t word = js_word_at(function->shared + JS_SHARED_NAME);
    if (!js_object_open(pages, word, 16, &object) || object.type != layout->type_scope ||
        !read_scope(pages, object.at, &scope)) {
        return false;
    }
    description_out->position = (uint32_t)js_number(scope.begin);
    struct js_text name = {.to = description_out->name, .room = sizeof description_out->name},
                   file = {.to = description_out->file, .room = sizeof description_out->file};
    if (scope.name != 0) {
        (void)js_string_append(pages, scope.name, &name);
    }
    if (name.bytes == 0 && scope.inferred != 0) {
        (void)js_string_append(pages, scope.inferred, &name);
    }
    if (name.bytes == 0) {
        memcpy(name.to, anonymous, name.bytes = sizeof anonymous - 1);
    }
    if (!js_string_append(pages, js_word_at(function->script + JS_SCRIPT_NAME), &file) || file.bytes == 0) {
        memcpy(file.to, no_script, file.bytes = sizeof no_script - 1); /* source text that has no file */
    }
    struct js_text begin = {.to = description_out->begin, .room = sizeof description_out->begin};
    if (!js_string_part(pages, js_word_at(function->script + JS_SCRIPT_SOURCE), description_out->position,
                        JS_BEGIN_UNITS, &begin)) {
        memcpy(begin.to, name.to, begin.bytes = name.bytes);
    }
    description_out->begin_bytes = begin.bytes;
    description_out->name_bytes = name.bytes;
    description_out->file_bytes = file.bytes;
    return true;
}
