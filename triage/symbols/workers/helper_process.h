/* SPDX-License-Identifier: Apache-2.0 */
/* helper_process.h - a process that does one sort of work for a program with several threads.
 *
 * Some work is to be done in a process with one thread that has no secrets: it forks, or it reads what strangers send. So
 * it is forked at the program's begin, while that has one thread and has read no token and no key yet. It holds no file of
 * its parent but one socket, over which it is handed questions with files. */
#ifndef SBX_HELPER_PROCESS_H
#define SBX_HELPER_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

enum {
    SBX_HELPER_FILES_MAX = 16 /* with a question */
};

struct sbx_helper_process;

/* Fork it: `serve` answers until the socket ends, and may return. `name` is what ps shows, 15 letters at most. Returns 0
 * and a helper (given: sbx_helper_process_stop), or -errno. It ends by itself when its parent does. */
int sbx_helper_process_start(const char *name, void (*serve)(int socket), struct sbx_helper_process **helper_out);
/* End it, and what it may have begun that ends with it. Nobody waits in sbx_helper_process_ask(). NULL is fine. */
void sbx_helper_process_stop(struct sbx_helper_process *helper);
/* Kill it, so that whoever waits in sbx_helper_process_ask() gets false. Any thread, until stop; NULL is fine. */
void sbx_helper_process_cancel(struct sbx_helper_process *helper);

struct sbx_helper_files {
    int descriptors[SBX_HELPER_FILES_MAX];
    size_t count;
};

/* Ask: `question` with `files` (borrowed; NULL: none), for an answer of exactly that length. *file_out (may be NULL): the file that came
 * with it (given), -1 none. Any thread; one after the other. False when the helper is gone. */
bool sbx_helper_process_ask(struct sbx_helper_process *helper, const void *question, size_t question_bytes,
                            const struct sbx_helper_files *files, void *answer, size_t answer_bytes, int *file_out);

/* ---- the helper's side ---- */

/* The next question, of exactly that length, with its files (given). False when there is none. */
bool sbx_helper_take(int socket, void *question, size_t bytes, struct sbx_helper_files *files_out);
/* Answer, with a file (borrowed) or -1. False when nobody hears it. */
bool sbx_helper_answer(int socket, const void *answer, size_t bytes, int file);

#endif
