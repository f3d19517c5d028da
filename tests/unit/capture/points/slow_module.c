/* SPDX-License-Identifier: Apache-2.0 */
/* slow_module.c - a module whose constructor takes a long time and passes no capture point. */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__attribute__((constructor)) static void construct(void)
{
    const struct timespec pause = {0, 60000000};
    syscall(SYS_nanosleep, &pause, NULL);
}
