/* SPDX-License-Identifier: Apache-2.0 */
/* run_tool.h - runs the real `stallbox` binary for the tests of its commands. */
#ifndef SBX_TEST_RUN_TOOL_H
#define SBX_TEST_RUN_TOOL_H

#include <stdbool.h>
#include <sys/types.h>

struct tool_result {
    int status;                  /* exit status, or 128 plus the signal's number */
    char out[16384], err[16384]; /* what it printed, cut to the array */
};

/* Run `stallbox ARGUMENTS...`; the list ends in NULL. Asserts that it ends within 20 s. */
struct tool_result run_tool(const char *const *arguments);
#define RUN_TOOL(...) run_tool((const char *const[]){__VA_ARGS__, NULL})

/* Start `stallbox ARGUMENTS...` and leave it running; *err_out is its standard error, for read_until(). */
pid_t start_tool(const char *const *arguments, int *err_out);
/* Read `descriptor` until `text` was seen. False when it ends before, or after 20 s. text_out gets everything that was
 * read. */
bool read_until(int descriptor, const char *text, char *text_out, size_t bytes);
/* Wait for a process of start_tool(); its exit status as in tool_result. */
int wait_for_tool(pid_t pid);

/* Make a new folder; remove it with everything in it. */
char *make_folder(void);
void remove_folder(char *folder);
/* Write `count` bytes to the file PARENT/NAME. The path is given: free(). */
char *write_file(const char *parent, const char *name, const void *bytes, size_t count, unsigned mode);

#endif
