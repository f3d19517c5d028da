/* SPDX-License-Identifier: Apache-2.0 */
/* hanging_module.c - a module whose constructor holds the loader's lock for a long time. */
#include <errno.h>
#include <time.h>

__attribute__((constructor)) static void construct(void)
{
    struct timespec pause = {3, 0};
    while (nanosleep(&pause, &pause) != 0 && errno == EINTR) {
    }
}
