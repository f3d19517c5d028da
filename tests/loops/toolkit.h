/* SPDX-License-Identifier: Apache-2.0 */
/* toolkit.h - the functions that each toolkit's loop has for the script in loop_script.c. */
#ifndef LOOP_TOOLKIT_H
#define LOOP_TOOLKIT_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Initialize, and call `tick` once from the loop after some 20 ms. */
void toolkit_start(int *argc, char ***argv);
void toolkit_tick_soon(void (*tick)(void));

/* The program's loop, until toolkit_quit(). */
void toolkit_run(void);
void toolkit_quit(void);

/* Called in a handler, a dialog: runs a loop of its own until one of its handlers calls toolkit_close_dialog(). */
void toolkit_dialog(void);
void toolkit_close_dialog(void);

/* Called in a handler: handles pending events without waiting. False: the toolkit does that without a poll call. */
bool toolkit_peek(void);

/* Called in a handler: runs a loop of the same kind with descriptors of its own, until `fd` is readable. False: the
 * toolkit has none. */
bool toolkit_await_reply(int fd);

/* Show one frame. Toolkits whose presents are not capture points do nothing. */
void toolkit_present(void);

#ifdef __cplusplus
}
#endif
#endif
