/* SPDX-License-Identifier: Apache-2.0 */
/* toolkit.h - what a toolkit's loop does for the script in loop_script.c. */
#ifndef LOOP_TOOLKIT_H
#define LOOP_TOOLKIT_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Begin, and call `tick` from the loop after some 20 ms, once. */
void toolkit_start(int *argc, char ***argv);
void toolkit_tick_soon(void (*tick)(void));

/* The program's loop, until toolkit_quit(). */
void toolkit_run(void);
void toolkit_quit(void);

/* A dialog, from inside a handler: a loop of its own until toolkit_close_dialog() is called in one of its handlers. */
void toolkit_dialog(void);
void toolkit_close_dialog(void);

/* From inside a handler: handle what there is, and wait for nothing. False: the toolkit does so without a poll call. */
bool toolkit_peek(void);

/* From inside a handler: a loop of the same kind with descriptors of its own, until `fd` can be read. False: there is none. */
bool toolkit_await_reply(int fd);

/* Show one frame. Toolkits whose presents are no points do without it. */
void toolkit_present(void);

#ifdef __cplusplus
}
#endif
#endif
