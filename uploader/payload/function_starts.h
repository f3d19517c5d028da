/* SPDX-License-Identifier: Apache-2.0 */
/* function_starts.h - where the functions begin that frames lie in.
 *
 * A stripped program has no names, but its unwind data still say where each of its functions begins and ends. With that,
 * a server without symbols knows that two places are in one function. Read from the module's file and not from the recording:
 * the recorder's rows join functions that unwind alike. What is told of a function is a place in a public file, as the offset
 * of its frame is. */
#ifndef SBX_FUNCTION_STARTS_H
#define SBX_FUNCTION_STARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "marks.h"
#include "redacted.h"
#include "snapshot.h"

enum {
    SBX_FUNCTION_BYTES_MAX = 1 << 24 /* of a longer function nothing is told */
};

struct sbx_function_starts;

/* The functions of the ELF file at `path`, if it is the one with this build-id. The file may be anything and may change: what is read
 * of it is bounded and checked, and nothing is mapped. 0 and a value (given: sbx_function_starts_close); -EINVAL no such ELF
 * file, or with no table that is understood; -ESTALE of another build; -ENOMEM; or what open() and pread() say. */
SBX_MUST_CHECK int sbx_function_starts_open(const char *path, const uint8_t *build_id, size_t build_id_bytes,
                                            struct sbx_function_starts **starts_out);

/* The begin of the function that has `address`, both file-relative virtual addresses. false: no unwind data cover it. */
bool sbx_function_starts_find(struct sbx_function_starts *starts, uint64_t address, uint64_t *begin_out);

/* NULL is fine. */
void sbx_function_starts_close(struct sbx_function_starts *starts);

/* Fill `function` of all frames of `redacted`, made of `snapshot`, as far as the modules' files tell it. What cannot be read is
 * left as it is: a payload without is as good as those before. */
void sbx_function_starts_fill(const struct sbx_snapshot *snapshot, struct sbx_redacted *redacted);

#endif
