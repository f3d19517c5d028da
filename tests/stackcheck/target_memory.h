/* SPDX-License-Identifier: Apache-2.0 */
/* target_memory.h - the memory of another process that a walk may read: the files of its modules, and the stack of a
 * stopped thread. */
#ifndef STACKCHECK_TARGET_MEMORY_H
#define STACKCHECK_TARGET_MEMORY_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "frame_walker.h"

enum {
    MODULES_MAX = 256,
    MAPPINGS_MAX = 16384,
    STACK_COPY_MAX = 4 << 20
};

/* A file, or the vdso, with its rows. Kept for as long as this program runs, because a target that is started again
 * loads the same file at another address. */
struct target_image {
    char path[256];
    const uint8_t *bytes; /* mapped; the vdso's are a copy */
    size_t size;
    const Elf64_Phdr *segments;
    uint32_t segment_count;
    uint64_t text_begin, text_end;             /* in the file's own numbering */
    uint64_t eh_frame_hdr, eh_frame_hdr_bytes; /* address, 0: none */
    struct sbx_unwind_rows rows;
    bool has_rows;
    uint32_t rows_skipped;
};

struct target_module {
    struct target_image *image;
    uint64_t bias;
};

struct target_mapping {
    uint64_t start, end;
};

/* One process. */
struct target_memory {
    pid_t pid;
    struct target_module modules[MODULES_MAX];
    uint32_t module_count;
    struct target_mapping mappings[MAPPINGS_MAX]; /* the readable ones, by address */
    uint32_t mapping_count;
    struct sbx_code_map *map; /* of the modules; its generation changes when they change */
    char *maps_text;          /* the last text of /proc/PID/maps */
    size_t maps_bytes, maps_capacity;
    uint64_t page_at; /* the page of the live process that was read last; 0: none */
    uint64_t page[512];
};

/* One stopped thread: its registers, and a copy of its stack from the red zone to the end of its mapping. */
struct target_stack {
    struct user_regs_struct registers;
    uint64_t lo, hi; /* addresses copied */
    uint8_t *copy;   /* STACK_COPY_MAX bytes */
};

void target_memory_init(struct target_memory *memory, pid_t pid);
void target_memory_finish(struct target_memory *memory);

/* Read /proc/PID/maps again. The generation of the map shows whether the modules changed. */
void target_memory_refresh(struct target_memory *memory);

/* Copy the stack that registers.rsp points into. False: it points into no mapping. */
bool target_memory_copy_stack(struct target_memory *memory, struct target_stack *stack);

/* Read one word from the copied stack, from a module's file, or from the live process. */
bool target_memory_read(struct target_memory *memory, const struct target_stack *stack, uint64_t address,
                        uint64_t *word_out);

/* Can the live process still be read? Not after its first thread has exited, even if other threads are still
 * exiting. */
bool target_memory_is_alive(const struct target_memory *memory, const struct target_stack *stack);

/* The module whose code contains an address, or NULL. */
const struct target_module *target_memory_module(const struct target_memory *memory, uint64_t address);

/* The bytes at an address in the file's own numbering; NULL when there are fewer than `bytes`. */
const uint8_t *target_image_at(const struct target_image *image, uint64_t address, size_t bytes);

#endif
