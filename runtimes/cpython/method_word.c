/* SPDX-License-Identifier: Apache-2.0 */
/* method_word.c - tables of methods. An entry has name, function, flags and text; the last entry has no name. */
#include "method_word.h"

#include <string.h>

#include "object_read.h"

/* Offsets of types and functions that are the same in all versions. */
enum {
    TYPE_METHODS = 232,
    TYPE_BYTES = 304,
    METHOD_NAME = 0, /* of PyMethodDef */
    METHOD_FUNCTION = 8,
    METHOD_FLAGS = 16,
    METHOD_BYTES = 32,
    METHODS_MOST = 16,
    FUNCTION_METHOD = 16, /* of a built-in function: its PyMethodDef */
    FUNCTION_BYTES = 24,
};

static bool is_called(uint64_t method, const char *name)
{
    struct object_page name_page = {0};
    uint64_t text = object_word_at(method, METHOD_NAME), first = text & ~UINT64_C(7);
    return object_can_read(&name_page, first, strlen(name) + 1 + (text & 7)) &&
           strcmp((const char *)(uintptr_t)text, name) == 0;
}

static bool is_called_so(uint32_t flags, uint32_t wanted)
{
    return wanted == METHOD_ANY
               ? flags == METHOD_NO_ARGUMENTS || flags == METHOD_FAST_WITH_NAMES || flags == METHOD_FAST_OF_CLASS
               : flags == wanted;
}

struct method_word method_word_of_type(uint64_t type, const char *name, uint32_t flags)
{
    struct object_page page = {0};
    const struct method_word none = {0};
    if (!object_can_read(&page, type, TYPE_BYTES)) {
        return none;
    }
    uint64_t method = object_word_at(type, TYPE_METHODS);
    for (int i = 0; i < METHODS_MOST && object_can_read(&page, method, METHOD_BYTES); i++, method += METHOD_BYTES) {
        if (object_word_at(method, METHOD_NAME) == 0) {
            return none;
        }
        uint32_t its = object_half_at(method, METHOD_FLAGS);
        if (is_called_so(its, flags) && is_called(method, name)) {
            return (struct method_word){method + METHOD_FUNCTION, its};
        }
    }
    return none;
}

uint64_t method_word_of_function(uint64_t function, const char *name, uint32_t flags)
{
    struct object_page page = {0};
    uint64_t method = object_can_read(&page, function, FUNCTION_BYTES) ? object_word_at(function, FUNCTION_METHOD) : 0;
    return object_can_read(&page, method, METHOD_BYTES) && is_called_so(object_half_at(method, METHOD_FLAGS), flags) &&
                   is_called(method, name)
               ? method + METHOD_FUNCTION
               : 0;
}

void method_word_lead_to(uint64_t at, const void *ours, void *real_out)
{
    uint64_t *word = (uint64_t *)(uintptr_t)at; /* NOLINT(performance-no-int-to-ptr): that is what it is */
    uint64_t former = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    memcpy(real_out, &former, sizeof former);
    /* order: release method.word - a thread that calls through the word finds the original function */
    __atomic_store_n(word, (uint64_t)(uintptr_t)ours, __ATOMIC_RELEASE);
}
