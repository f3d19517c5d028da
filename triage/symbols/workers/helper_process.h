/* SPDX-License-Identifier: Apache-2.0 */
/* helper_process.h - a process that does one kind of work for a program with several threads.
 *
 * Some work needs a process with one thread and without secrets, because it forks, or because it reads data from
 * strangers. So this process is forked when the program begins: then the program has one thread and has read no token
 * and no key yet. It keeps no file of its parent except one socket, over which it receives requests with files. */
#ifndef SBX_HELPER_PROCESS_H
#define SBX_HELPER_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

enum {
    SBX_HELPER_FILES_MAX = 16 /* files of one request */
};

struct sbx_helper_process;

/* Fork it: `serve` answers requests until the socket is closed, and may return. `name` is shown by ps, 15 letters at
 * most. Returns 0 and a helper (given: sbx_helper_process_stop), or -errno. It ends by itself when its parent ends. */
int sbx_helper_process_start(const char *name, void (*serve)(int socket), struct sbx_helper_process **helper_out);
/* End it, and its child processes that end with it. No thread may be waiting in sbx_helper_process_ask(). NULL is
 * fine. */
void sbx_helper_process_stop(struct sbx_helper_process *helper);
/* Kill it: threads that wait in sbx_helper_process_ask() get false. Any thread, until stop; NULL is fine. */
void sbx_helper_process_cancel(struct sbx_helper_process *helper);

struct sbx_helper_files {
    int descriptors[SBX_HELPER_FILES_MAX];
    size_t count;
};

/* Send `question` with `files` (borrowed; NULL: none), and wait for an answer of exactly that length. *file_out (may be
 * NULL): the file that came with it (given), -1 none. Any thread; calls take turns. False if the helper is gone. */
bool sbx_helper_process_ask(struct sbx_helper_process *helper, const void *question, size_t question_bytes,
                            const struct sbx_helper_files *files, void *answer, size_t answer_bytes, int *file_out);

/* ---- the helper's side ---- */

/* Receive the next question, of exactly that length, with its files (given). False if there is none. */
bool sbx_helper_take(int socket, void *question, size_t bytes, struct sbx_helper_files *files_out);
/* Send an answer, with a file (borrowed) or -1. False if the parent is gone. */
bool sbx_helper_answer(int socket, const void *answer, size_t bytes, int file);

#endif
