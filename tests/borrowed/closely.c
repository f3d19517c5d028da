/* SPDX-License-Identifier: Apache-2.0 */
/* closely.c - starts a program that `stallbox run` is to record as closely as possible.
 *
 * usage: stallbox run -- closely COMMAND [ARGUMENT...]
 * Takes the orders that `stallbox run` gave to its child, and passes them on with all points, a sample each millisecond
 * also of threads that only compute, and no budget. No policy can request that; it is for tests. Exits with 126 when
 * there are no orders, because the program would then pass without a recorder. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "preload.h"

int main(int count, char **arguments)
{
    const char *given = getenv(SBX_ENV_ORDERS);
    struct sbx_preload_orders orders;
    if (count < 2 || given == NULL || !sbx_orders_parse(given, &orders)) {
        fprintf(stderr, "usage: stallbox run -- closely COMMAND [ARGUMENT...], of the same build\n");
        return 126;
    }
    orders.settings.points = SBX_POINTS_ALL;
    orders.settings.interval_us = 1000;
    orders.settings.gap_us = 1000;
    orders.settings.max_cpu_permille = 0;
    memset(orders.settings.limits, 0, sizeof orders.settings.limits);
    char text[SBX_ORDERS_TEXT_BYTES];
    sbx_orders_print(&orders, text);
    if (setenv(SBX_ENV_ORDERS, text, 1) != 0) {
        perror("closely");
        return 126;
    }
    execvp(arguments[1], arguments + 1);
    int why = errno;
    fprintf(stderr, "closely: %s: %s\n", arguments[1], strerror(why));
    return why == ENOENT ? 127 : 126;
}
