/* SPDX-License-Identifier: Apache-2.0 */
/* redaction.h - which parts of a snapshot may leave the machine: rules as plain values, applied before anything is
 * encoded.
 *
 * The wire schema has no fields for strings or addresses at all (payload.proto). These rules decide the rest: which
 * modules keep their identity, how far back records go, which detail level applies. They fail closed: a module that no
 * rule allows is merged into "other". */
#ifndef SBX_REDACTION_H
#define SBX_REDACTION_H

#include <stdbool.h>
#include <stdint.h>

#include "snapshot.h"

/* Which modules, in addition to the executable, keep build-id and offsets. The values select compiled rules, never free
 * text. */
enum sbx_module_rule {
    SBX_MODULES_APP_ONLY = 0,     /* the executable, modules in its folder tree, and the table of system modules */
    SBX_MODULES_DISTRIBUTION = 1, /* also every module below /usr/lib, /lib and their 64-bit variants */
};

struct sbx_redaction {
    enum sbx_module_rule module_rule;
    uint32_t detail_level; /* capture_settings.h */
    uint32_t history_ms;
    bool has_rotating_id;
    uint8_t rotating_id[16]; /* the machine's id for the present period (proto/erasure_format.h); the packer sets it */
};

enum sbx_module_verdict {
    SBX_KEEP_APP = 1,
    SBX_KEEP_SYSTEM = 2,
    SBX_KEEP_AGENT = 3,
    SBX_KEEP_VDSO = 4,
    SBX_HIDE = 5
};

/* Decides what happens to one module. `executable_path` is the application's. Pure. */
enum sbx_module_verdict sbx_redact_module(const struct sbx_redaction *redaction, const struct sbx_module_entry *module,
                                          const char *executable_path);

#endif
