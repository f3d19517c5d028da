/* SPDX-License-Identifier: Apache-2.0 */
/* look_print.h - prints one look in words and as JSON, and many looks together. */
#ifndef SBX_LOOK_PRINT_H
#define SBX_LOOK_PRINT_H

#include <stdio.h>

#include "look_watch.h"
#include "process_look.h"

void sbx_look_print_text(struct sbx_process_view *view, const struct sbx_process_look *look, FILE *out);
void sbx_look_print_json(struct sbx_process_view *view, const struct sbx_process_look *look, FILE *out);

void sbx_look_watch_print_text(struct sbx_process_view *view, const struct sbx_look_watch *watch, FILE *out);
void sbx_look_watch_print_json(struct sbx_process_view *view, const struct sbx_look_watch *watch, FILE *out);

/* ---- what both forms share ---- */

/* "asleep", "running", "waits for a processor or runs", ...: the state in words. */
const char *sbx_look_state_name(const struct sbx_look_thread *thread);

/* Why a stack is missing or incomplete; NULL: it is complete. */
const char *sbx_look_stack_remark(const struct sbx_thread_stack *stack);

#endif
