/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.c - colour and progress. Only this file decides whether a person is looking. */
#include "terminal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool progress_is_shown; /* a progress line is on the terminal */

bool sbx_terminal_has_colour(FILE *out)
{
    const char *refused = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    return (refused == NULL || *refused == '\0') && terminal != NULL && strcmp(terminal, "dumb") != 0 &&
           isatty(fileno(out));
}

void sbx_progress_show(const char *what, unsigned long done, unsigned long total)
{
    if (!isatty(STDERR_FILENO)) {
        return;
    }
    fprintf(stderr, "\r\033[K%s: %lu of %lu", what, done, total);
    fflush(stderr);
    progress_is_shown = true;
}

void sbx_progress_clear(void)
{
    if (progress_is_shown) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
        progress_is_shown = false;
    }
}
