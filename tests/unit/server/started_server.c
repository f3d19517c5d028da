/* SPDX-License-Identifier: Apache-2.0 */
/* started_server.c - the server fixture for cmocka; server_fixture.c is also used without cmocka. */
#include "started_server.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct server_fixture fixture;

int prepare_server(void **state)
{
    (void)state;
    fixture_init(&fixture);
    return 0;
}

int start_server(void **state)
{
    fixture_init(&fixture);
    fixture.options.token = *state;
    fixture_start(&fixture);
    return 0;
}

int remove_server(void **state)
{
    (void)state;
    fixture_finish(&fixture);
    return 0;
}

void expect_metric(const char *name, double value)
{
    for (int i = 0; i < 400 && metric(fixture.port, name) != value; i++)
        sleep_ms(50);
    if (metric(fixture.port, name) != value)
        fail_msg("%s is %g, not %g", name, metric(fixture.port, name), value);
}
