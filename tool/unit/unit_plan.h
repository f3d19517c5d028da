/* SPDX-License-Identifier: Apache-2.0 */
/* unit_plan.h - how a service is recorded, decided from its settings alone.
 *
 * Three ways:
 *
 *   run      each ExecStart= is run by `stallbox run`: its companion packs, delivers and tells deaths at once
 *   beside   the same by `stallbox run --beside`: systemd's main process becomes the service itself, and the companion is beside it
 *   preload  LD_PRELOAD in the environment, and no companion. Snapshots wait in SPOOL/raw
 *
 * `run` is chosen where systemd does not mind that the main process is another one, `beside` where no setting was written for
 * the service's processes alone. Nothing of the unit's hardening is taken
 * back unless that is asked for (`loosens`): what stands in the way is said. */
#ifndef SBX_UNIT_PLAN_H
#define SBX_UNIT_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "unit_file.h"
#include "unit_filter.h"

enum sbx_unit_way {
    SBX_UNIT_ANY,
    SBX_UNIT_RUN,
    SBX_UNIT_BESIDE,
    SBX_UNIT_PRELOAD
};

struct sbx_unit_wish {                        /* all borrowed */
    const char *name;                         /* of the unit, without ".service" */
    const char *root;                         /* "": this machine */
    const char *command;                      /* absolute path of `stallbox` */
    const char *library;                      /* absolute path of libstallbox.so */
    const char *spool;                        /* NULL: a folder that systemd makes for it */
    const char *server, *token_file, *policy; /* NULL: none */
    enum sbx_unit_way way;                    /* ANY: whichever fits */
    bool has_socket;                          /* there is a socket unit of its name */
    bool loosens;                             /* settings that stand in the way may be changed */
    sbx_unit_expand *expand;
};

struct sbx_unit_plan {
    enum sbx_unit_way way;
    char *drop_in;   /* the text; NULL: refused. Given: free() */
    char *obstacles; /* a line each: what stands in the way, or was loosened. Given: free() */
};

/* Returns 0, also when it is refused, or -ENOMEM. */
int sbx_unit_plan_make(const struct sbx_unit_file *unit, const struct sbx_unit_wish *wish,
                       struct sbx_unit_plan *plan_out);
void sbx_unit_plan_free(struct sbx_unit_plan *plan);

#endif
