/* SPDX-License-Identifier: Apache-2.0 */
/* tool_folder.c - a test folder as a cmocka fixture. */
#include "tool_folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

char *folder;

int begin_folder(void **state)
{
    (void)state;
    folder = make_folder();
    return 0;
}

int end_folder(void **state)
{
    (void)state;
    remove_folder(folder);
    return 0;
}

const char *path_of(const char *name)
{
    static char paths[8][512];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

void expect(struct tool_result result, int status, const char *err)
{
    if (result.status != status || strstr(result.err, err) == NULL) {
        fail_msg("%d: %s", result.status, result.err);
    }
}
