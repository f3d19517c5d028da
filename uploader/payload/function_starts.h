/* SPDX-License-Identifier: Apache-2.0 */
/* function_starts.h - where the functions of frames begin.
 *
 * A stripped program has no names, but its unwind data still give the start and the end of each function. With these, a
 * server without symbols knows that two addresses are in the same function. They are read from the module's file and
 * not from the recording, because the recorder's rows join functions that unwind alike. The start of a function is a
 * position in a public file, like the offset of its frame. */
#ifndef SBX_FUNCTION_STARTS_H
#define SBX_FUNCTION_STARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "marks.h"
#include "redacted.h"
#include "snapshot.h"

enum {
    SBX_FUNCTION_BYTES_MAX = 1 << 24 /* longer functions are not reported */
};

struct sbx_function_starts;

/* Opens the functions of the ELF file at `path` if it has this build-id. The file may contain anything and may change,
 * so everything read is limited and checked, and nothing is mapped. Returns 0 and a value (given:
 * sbx_function_starts_close). -EINVAL: no such ELF file, or no table in a known format. -ESTALE: another build.
 * -ENOMEM, or an error of open() or pread(). */
SBX_MUST_CHECK int sbx_function_starts_open(const char *path, const uint8_t *build_id, size_t build_id_bytes,
                                            struct sbx_function_starts **starts_out);

/* Gets the start of the function that contains `address`. Both are file-relative virtual addresses. Returns false if no
 * unwind data cover it. */
bool sbx_function_starts_find(struct sbx_function_starts *starts, uint64_t address, uint64_t *begin_out);

/* NULL is fine. */
void sbx_function_starts_close(struct sbx_function_starts *starts);

/* Fill `function` in all frames of `redacted`, which was made from `snapshot`, from the modules' files. If a file
 * cannot be read, the frames stay as they are: a payload without this field is still valid. */
void sbx_function_starts_fill(const struct sbx_snapshot *snapshot, struct sbx_redacted *redacted);

#endif
