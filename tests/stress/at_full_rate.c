/* SPDX-License-Identifier: Apache-2.0 */
/* at_full_rate.c - starts a program that is recorded as often as possible: each millisecond, all points, no limit on
 * the cost.
 *
 * usage: stallbox run -- at_full_rate COMMAND [ARGUMENT]...
 * Options and policies cannot request that, but the orders in the environment can, and this program rewrites them.
 * Without a recorder around it, it only starts the program. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "preload.h"

int main(int count, char **arguments)
{
    const char *text = getenv(SBX_ENV_ORDERS);
    if (count < 2) {
        fprintf(stderr, "usage: stallbox run -- at_full_rate COMMAND [ARGUMENT]...\n");
        return 2;
    }
    if (text != NULL) {
        struct sbx_preload_orders orders;
        char changed[SBX_ORDERS_TEXT_BYTES];
        if (!sbx_orders_parse(text, &orders)) {
            fprintf(stderr, "at_full_rate: the orders in the environment are of another version\n");
            return 2;
        }
        orders.settings.points = SBX_POINTS_ALL;
        orders.settings.interval_us = orders.settings.gap_us = 1000;
        orders.settings.max_cpu_permille = 0;
        sbx_orders_print(&orders, changed);
        setenv(SBX_ENV_ORDERS, changed, 1);
    }
    execvp(arguments[1], arguments + 1);
    perror(arguments[1]);
    return 127;
}
