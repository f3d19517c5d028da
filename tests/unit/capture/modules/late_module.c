/* SPDX-License-Identifier: Apache-2.0 */
/* late_module.c - a library that test_module_map loads while the recorder runs. */
#include <time.h>

void late_module_sleep(long ms);
extern const int late_module_version;

#ifndef LATE_VERSION
#define LATE_VERSION 1
#endif
const int late_module_version = LATE_VERSION; /* gives two builds different build-ids */

void late_module_sleep(long ms)
{
    const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}
