/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_file.h - one module's names, from all files that have its build-id. */
#ifndef SBX_SYMBOL_FILE_H
#define SBX_SYMBOL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "answer_cache.h"
#include "demangle.h"
#include "elf_finder.h"
#include "symbol_image.h"
#include "symbol_places.h"
#include "symbol_spans.h"

struct sbx_symbol_file;

/* Open what is useful of `paths`, whose build-ids are checked again. NULL when none could be opened, or without memory.
 */
struct sbx_symbol_file *sbx_symbol_file_open(const struct sbx_elf_paths *paths, const uint8_t *build_id, size_t bytes);
/* The same of files that are open already, for a process of its own: they are mapped, so that a large one takes no memory,
 * and whoever cuts one short ends the process. `alternate` is what sbx_debug_alternate_open() found, -1: nothing. All
 * descriptors are taken. errno is ENOENT where none is to be used, else ENOMEM. */
struct sbx_symbol_file *sbx_symbol_file_open_descriptors(const int *descriptors, size_t count, int alternate,
                                                         const uint8_t *build_id, size_t bytes);
/* Use what was split off their debug information: .dwo files and .dwp packages, before the first question. All descriptors
 * are taken; they are mapped or read as the files are. */
void sbx_symbol_file_use_parts(struct sbx_symbol_file *file, const int *descriptors, size_t count);
/* What was parsed from such files before; `image` is taken, also when there is no memory and NULL is returned. */
struct sbx_symbol_file *sbx_symbol_file_of_image(struct sbx_symbol_image *image);
void sbx_symbol_file_close(struct sbx_symbol_file *file);

/* Whether it has full debug information. */
bool sbx_symbol_file_has_dwarf(const struct sbx_symbol_file *file);

/* Which kind of file its names come from, and for which processor (e_machine). Of files, not of an image. */
enum sbx_image_kind sbx_symbol_file_kind(const struct sbx_symbol_file *file);
uint16_t sbx_symbol_file_machine(const struct sbx_symbol_file *file);
/* Where it is linked to, as sbx_image_facts has it. Of files and images. */
uint64_t sbx_symbol_file_base(const struct sbx_symbol_file *file);

/* Why something of the files is not used ("..."); NULL when nothing was wrong. It may come with reading them. */
const char *sbx_symbol_file_trouble(const struct sbx_symbol_file *file);

/* Have ready what questions about these offsets need: of an image in a server in one round trip, of files nothing. */
void sbx_symbol_file_prefetch(struct sbx_symbol_file *file, const uint64_t *offsets, size_t count);
/* Whether an image had no answer because part of it was damaged or could not be reached. */
bool sbx_symbol_file_is_troubled(const struct sbx_symbol_file *file);

/* The logical frames at an offset, leaf first; returns how many (0: nothing names it, or there is no memory). Texts are
 * borrowed until the next question, or the file is closed. An offset is a file-relative virtual address in ELF, and in
 * Mach-O the distance from the image's begin (its header, where __TEXT begins). Where a Mach-O program is linked to a
 * multiple of 4 GiB, which no offset reaches, its addresses are understood as well. */
size_t sbx_symbol_file_find(struct sbx_symbol_file *file, uint64_t offset, struct sbx_symbol_frame *frames_out,
                            size_t max, enum sbx_symbol_source *source_out);

/* Of files, not of an image: the same offset as a place in sbx_symbol_file_places(), 0: nothing names it. */
uint32_t sbx_symbol_file_place(struct sbx_symbol_file *file, uint64_t offset);
const struct sbx_places *sbx_symbol_file_places(const struct sbx_symbol_file *file);

/* Of files, not of an image: all places, which is what sbx_symbol_file_place() answers for each offset of the spans, which are sorted; for any other it
 * answers 0. `progress` (may be NULL) is told how far it is. Returns 0, -ENOMEM, or -E2BIG
 * when debug information leads to more work than its size explains. */
int sbx_symbol_file_read_all(struct sbx_symbol_file *file, struct sbx_spans *spans_out,
                             void (*progress)(void *context, size_t done, size_t total), void *context);

#endif
