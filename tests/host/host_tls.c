/* SPDX-License-Identifier: Apache-2.0 */
/* host_tls.c - a program with KB KiB of static TLS. glibc takes each thread's copy of it from the thread's stack. */
#include <stdio.h>
#include <string.h>
#include <time.h>

static __thread char large[KB * 1024 + 1];

int main(void)
{
    /* Meanwhile the recorder's threads start and look around. */
    for (int i = 0; i < 50; i++) {
        const struct timespec pause = {0, 5000000};
        memset(large, i, sizeof large);
        nanosleep(&pause, NULL);
    }
    return large[KB * 512] == 49 ? 0 : 1;
}
