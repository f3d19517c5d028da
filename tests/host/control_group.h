/* SPDX-License-Identifier: Apache-2.0 */
/* control_group.h - a control group for a test, made below the test's own group, so that every limit above it still
 * applies. */
#ifndef SBX_CONTROL_GROUP_H
#define SBX_CONTROL_GROUP_H

#include <stdbool.h>
#include <sys/types.h>

struct control_group {
    char folder[512];
    int version; /* 1 or 2 */
};

/* Make a group in the hierarchy of `controller` (version 1) or in the unified hierarchy (version 2) that has a writable
 * file `control`. False, with a reason that stays valid after the call: there is no such hierarchy, or a group may not
 * be made. */
bool control_group_make(int version, const char *controller, const char *control, struct control_group *out,
                        const char **why_out);

/* Make a group with that much memory and no swap, of either version; otherwise skip the running test. */
void control_group_make_with_memory(const char *bytes, struct control_group *group);

/* Write into one of the group's files. */
bool control_group_set(const struct control_group *group, const char *file, const char *text);
/* The number after `word` in one of the group's files, or the file's only number when `word` is NULL; -1: there is
 * none. */
long control_group_read(const struct control_group *group, const char *file, const char *word);
bool control_group_enter(const struct control_group *group, pid_t pid);
/* Waits until the last process in the group has ended. */
void control_group_remove(const struct control_group *group);

#endif
