/* SPDX-License-Identifier: Apache-2.0 */
/* hanging_module.c - a module whose constructor keeps the loader's lock for longer than anybody likes to wait. */
#include <errno.h>
#include <time.h>

__attribute__((constructor)) static void construct(void)
{
    struct timespec pause = {3, 0};
    while (nanosleep(&pause, &pause) != 0 && errno == EINTR) {
    }
}
