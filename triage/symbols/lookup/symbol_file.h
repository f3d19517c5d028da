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

/* Open the useful ones of `paths`; their build-ids are checked again. NULL if none could be opened, or if memory runs
 * out. */
struct sbx_symbol_file *sbx_symbol_file_open(const struct sbx_elf_paths *paths, const uint8_t *build_id, size_t bytes);
/* The same for open files, in a process of its own. They are mapped, so that a large file takes no memory; a file that
 * shrinks ends the process. `alternate` is the result of sbx_debug_alternate_open(), -1: none. All descriptors are
 * taken. errno is ENOENT if no file is usable, else ENOMEM. */
struct sbx_symbol_file *sbx_symbol_file_open_descriptors(const int *descriptors, size_t count, int alternate,
                                                         const uint8_t *build_id, size_t bytes);
/* Use split debug information: .dwo files and .dwp packages. Call it before the first lookup. All descriptors are
 * taken; they are mapped or read like the files. */
void sbx_symbol_file_use_parts(struct sbx_symbol_file *file, const int *descriptors, size_t count);
/* Use an image, which was made from such files before. `image` is taken, also if memory runs out and NULL is
 * returned. */
struct sbx_symbol_file *sbx_symbol_file_of_image(struct sbx_symbol_image *image);
void sbx_symbol_file_close(struct sbx_symbol_file *file);

/* Whether it has full debug information. */
bool sbx_symbol_file_has_dwarf(const struct sbx_symbol_file *file);

/* The kind of file its names come from, and its processor (e_machine). For files, not for an image. */
enum sbx_image_kind sbx_symbol_file_kind(const struct sbx_symbol_file *file);
uint16_t sbx_symbol_file_machine(const struct sbx_symbol_file *file);
/* The address it is linked to, as in sbx_image_facts. For files and images. */
uint64_t sbx_symbol_file_base(const struct sbx_symbol_file *file);

/* Why a part of the files is not used ("..."); NULL: all is well. It may appear only while files are read. */
const char *sbx_symbol_file_trouble(const struct sbx_symbol_file *file);

/* Load what lookups of these offsets need. For an image in a server, this takes one round trip; for files, nothing is
 * done. */
void sbx_symbol_file_prefetch(struct sbx_symbol_file *file, const uint64_t *offsets, size_t count);
/* Whether an image had no answer because a part of it was damaged or could not be reached. */
bool sbx_symbol_file_is_troubled(const struct sbx_symbol_file *file);

/* The logical frames at an offset, leaf first. Returns their number (0: no name is known, or memory ran out). Texts are
 * borrowed until the next lookup or until the file is closed. An offset is a file-relative virtual address in ELF, and
 * in Mach-O the distance from the image's begin (its header, where __TEXT begins). If a Mach-O program is linked to a
 * multiple of 4 GiB, which no offset reaches, its addresses are accepted as well. */
size_t sbx_symbol_file_find(struct sbx_symbol_file *file, uint64_t offset, struct sbx_symbol_frame *frames_out,
                            size_t max, enum sbx_symbol_source *source_out);

/* For files, not for an image: the place at the same offset in sbx_symbol_file_places(); 0: no name is known. */
uint32_t sbx_symbol_file_place(struct sbx_symbol_file *file, uint64_t offset);
const struct sbx_places *sbx_symbol_file_places(const struct sbx_symbol_file *file);

/* For files, not for an image: all places. The spans are sorted and give the same answers as sbx_symbol_file_place(),
 * which answers 0 for all other offsets. `progress` (may be NULL) gets the progress. Returns 0, -ENOMEM, or -E2BIG if
 * debug information takes more work than its size explains. */
int sbx_symbol_file_read_all(struct sbx_symbol_file *file, struct sbx_spans *spans_out,
                             void (*progress)(void *context, size_t done, size_t total), void *context);

#endif
