/* SPDX-License-Identifier: Apache-2.0 */
/* redaction.h - what of a snapshot may leave: rules as plain values, applied before anything is encoded.
 *
 * The wire schema has no place for strings or addresses at all (payload.proto); these rules decide the rest: which
 * modules keep their identity, how far back records reach, which detail level applies. They fail closed: what no rule
 * allows is folded into "other". */
#ifndef SBX_REDACTION_H
#define SBX_REDACTION_H

#include <stdbool.h>
#include <stdint.h>

#include "snapshot.h"

/* Which modules besides the executable keep build-id and offsets. Indexes into compiled rules, never free text. */
enum sbx_module_rule {
    SBX_MODULES_APP_ONLY = 0,     /* the executable and modules in its own folder tree; the table of system modules */
    SBX_MODULES_DISTRIBUTION = 1, /* and every module below /usr/lib, /lib and their 64-bit siblings */
};

struct sbx_redaction {
    enum sbx_module_rule module_rule;
    uint32_t detail_level; /* capture_settings.h */
    uint32_t history_ms;
    bool has_rotating_id;
    uint8_t rotating_id[16]; /* of the machine for now (proto/erasure_format.h); whoever packs gives it */
};

enum sbx_module_verdict {
    SBX_KEEP_APP = 1,
    SBX_KEEP_SYSTEM = 2,
    SBX_KEEP_AGENT = 3,
    SBX_KEEP_VDSO = 4,
    SBX_HIDE = 5
};

/* Pure: what becomes of one module. `executable_path` is the application's. */
enum sbx_module_verdict sbx_redact_module(const struct sbx_redaction *redaction, const struct sbx_module_entry *module,
                                          const char *executable_path);

#endif
