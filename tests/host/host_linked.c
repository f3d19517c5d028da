/* SPDX-License-Identifier: Apache-2.0 */
/* host_linked.c - a program that links the library, and whose exit status says how the start ended. A separate program
 * because it becomes set-user-id. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include "stallbox/stallbox.h"

int main(int argc, char **argv)
{
    const char *folder = getenv("HOST_FOLDER");
    char spool[200], recordings[200];
    (void)argc;
    if (argv[0][0] == 's' && getauxval(AT_SECURE) == 0) {
        return 95; /* should run in secure mode, but does not */
    }
    snprintf(spool, sizeof spool, "%s/spool", folder);
    snprintf(recordings, sizeof recordings, "%s/recordings", folder);
    struct stallbox_options options = {
        .sizeof_options = sizeof options, .spool_path = spool, .recording_path = recordings};
    enum stallbox_result result = stallbox_start(&options);
    stallbox_stop(5000);
    return (int)result;
}
