/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - Python objects with arbitrary content: tasks, futures, callbacks, dicts, suspended frames. Nothing outside
 * of them may be read, and every reading must end.
 *
 * The input is 8-byte words of a made-up memory. A word whose upper half is MARK is an address in that memory; its
 * lower half is the offset. Types are the first words of the memory. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "await_chain.h"
#include "dict_read.h"
#include "fuzz_target.h"
#include "instance_read.h"

#define MARK UINT64_C(0x5a5a5a5a)

enum {
    WORDS = 1024,
    MEMORY_BYTES = WORDS * 8,
    PAGE = 4096,
    TYPES_AT = 2048, /* each takes 64 bytes; they may overlap */
};

static uint64_t *memory; /* between pages that cannot be read */

/* Only the made-up memory can be read. */
int stallbox_provider_can_read(const void *at, size_t bytes)
{
    uint64_t begin = (uint64_t)(uintptr_t)memory, place = (uint64_t)(uintptr_t)at - begin;
    return place < MEMORY_BYTES && bytes <= MEMORY_BYTES - place;
}

/* From a running task outwards, with the frames of each awaiting task. The memory defines the module; it is not
 * searched for. */
static void follow(const struct cpython *cpython, const struct asyncio_module *module)
{
    struct await_chain chain = {.cpython = cpython, .module = module, .left = AWAIT_FUTURES_MAX, .task_count = 1};
    chain.tasks[0] = memory[0];
    uint32_t tasks = 0, frames = 0;
    for (uint64_t task; (task = await_chain_next(&chain)) != 0; tasks++) {
        struct await_frames at;
        struct chain_frame frame;
        for (await_frames_begin(&at, &chain, task); await_frames_next(&at, &frame);) {
            frames++;
        }
    }
    if (tasks >= AWAIT_TASKS_MAX || frames > AWAIT_TASKS_MAX * AWAIT_DEPTH_MAX) {
        abort();
    }
}

static void read_all(struct cpython *cpython)
{
    const uint64_t begin = (uint64_t)(uintptr_t)memory;
    const struct asyncio_module module = {.layout = await_layout_of(cpython->layout->minor),
                                          .task_type = begin + TYPES_AT,
                                          .future_type = begin + TYPES_AT + 64,
                                          .current_tasks = memory[1]};
    struct dict_reader reader;
    uint64_t key, value;
    uint32_t entries = 0;
    follow(cpython, &module);
    if (dict_read_begin(&reader, cpython->layout, cpython->types.dict, memory[1], 64)) {
        while (dict_read_next(&reader, &key, &value)) {
            entries++;
        }
    }
    if (entries > 64) {
        abort();
    }
    (void)dict_key_is(cpython->layout, cpython->types.string, memory[2], "_asyncio");
    (void)instance_attribute(cpython, module.layout, memory[3], "_on_completed_fut");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (memory == NULL) {
        uint8_t *pages = mmap(NULL, MEMORY_BYTES + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED || mprotect(pages + PAGE, MEMORY_BYTES, PROT_READ | PROT_WRITE) != 0) {
            abort();
        }
        memory = (uint64_t *)(void *)(pages + PAGE);
    }
    memset(memory, 0, MEMORY_BYTES);
    memcpy(memory, data, bytes < MEMORY_BYTES ? bytes : MEMORY_BYTES);
    for (uint32_t i = 0; i < WORDS; i++) {
        if (memory[i] >> 32 == MARK) {
            memory[i] = (uint64_t)(uintptr_t)memory + (memory[i] & (MEMORY_BYTES - 1));
        }
    }
    uint64_t type = (uint64_t)(uintptr_t)memory + TYPES_AT + 128;
    struct cpython cpython = {.types = {.code = type,
                                        .string = type + 64,
                                        .list = type + 128,
                                        .dict = type + 192,
                                        .module = type + 256,
                                        .tuple = type + 320,
                                        .function = type + 384,
                                        .method = type + 448,
                                        .cell = type + 512,
                                        .coroutine = type + 576,
                                        .generator = type + 640,
                                        .async_generator = type + 704}};
    for (unsigned minor = 9; minor <= 13; minor++) {
        cpython.layout = cpython_layout_of(minor);
        read_all(&cpython);
    }
    return 0;
}
