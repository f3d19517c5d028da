/* SPDX-License-Identifier: Apache-2.0 */
/* asyncio_module.c - finds the module's objects by name, and checks the sizes of its types. */
#include "asyncio_module.h"

#include "dict_read.h"
#include "module_read.h"
#include "object_read.h"

enum {
    TYPE_SIZE = 32,
    TYPE_DICT_OFFSET = 288,
    TYPE_BYTES = 296,
};

enum search {
    NOT_FOUND,
    SEARCHING,
    FOUND,
    REFUSED
};
static int state;
static uint64_t searched_count; /* number of modules at the last search */
static struct asyncio_module the_module;

static bool is_of_size(uint64_t type, const struct await_layout *layout, uint16_t bytes)
{
    struct object_page page = {0};
    return object_can_read(&page, type, TYPE_BYTES) && object_word_at(type, TYPE_SIZE) == bytes &&
           (int64_t)object_word_at(type, TYPE_DICT_OFFSET) == layout->dict_offset;
}

/* Returns NOT_FOUND while the module is being imported. */
static enum search search(const struct cpython *cpython)
{
    struct asyncio_module found = {.layout = await_layout_of(cpython->layout->minor)};
    uint64_t dict = module_dict(cpython, "_asyncio");
    if (dict == 0) {
        return NOT_FOUND;
    }
    found.task_type = module_object(cpython, dict, "Task");
    found.future_type = module_object(cpython, dict, "Future");
    found.current_tasks = module_object(cpython, dict, "_current_tasks");
    if (found.task_type == 0 || found.future_type == 0 || found.current_tasks == 0) {
        return NOT_FOUND;
    }
    if (found.layout == NULL || !is_of_size(found.task_type, found.layout, found.layout->task_bytes) ||
        !is_of_size(found.future_type, found.layout, found.layout->future_bytes)) {
        (void)stallbox_provider_can_read(NULL, 1); /* counts the module as unreadable */
        return REFUSED;
    }
    the_module = found;
    return FOUND;
}

const struct asyncio_module *asyncio_module_find(const struct cpython *cpython, bool may_search)
{
    int known = __atomic_load_n(&state, __ATOMIC_ACQUIRE);
    if (known == FOUND) {
        return &the_module;
    }
    if (known != NOT_FOUND || !may_search || cpython->modules == 0) {
        return NULL;
    }
    uint64_t count = dict_read_count(cpython->types.dict, cpython->modules);
    if (count == __atomic_load_n(&searched_count, __ATOMIC_RELAXED) ||
        !__atomic_compare_exchange_n(&state, &known, SEARCHING, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        return NULL;
    }
    __atomic_store_n(&searched_count, count, __ATOMIC_RELAXED);
    known = search(cpython);
    __atomic_store_n(&state, known, __ATOMIC_RELEASE);
    return known == FOUND ? &the_module : NULL;
}
