/* SPDX-License-Identifier: Apache-2.0 */
/* test_conditions.c - what an application says about when to send is written to its spool, in a file with its name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "recording_file.h"
#include "stalling_process.h"

/* Does the file of this process's name hold these words and nothing else? */
static bool says(const char *words)
{
    char path[600], wanted[128], found[128] = "";
    snprintf(path, sizeof path, "%s/conditions", stalling_process_spool());
    snprintf(wanted, sizeof wanted, "%d %" PRIu64 "%s\n", (int)getpid(), sbx_process_start_ticks((uint32_t)getpid()),
             words);
    FILE *file = fopen(path, "re");
    size_t got = file != NULL ? fread(found, 1, sizeof found - 1, file) : 0;
    if (file != NULL) {
        fclose(file);
    }
    found[got] = 0;
    return strcmp(found, wanted) == 0;
}

static void child_says_what_holds(void)
{
    stalling_expect(stallbox_set_conditions(STALLBOX_IDLE) == STALLBOX_NOT_RUNNING, "nobody listens before the start");
    struct stallbox_options options = stalling_options();
    stalling_start(&options);
    stalling_expect(!says(""), "nothing was said yet");
    stalling_expect(stallbox_set_conditions(STALLBOX_UNMETERED | STALLBOX_IDLE) == STALLBOX_OK, "it is taken");
    stalling_expect(says(" unmetered idle"), "and written down");
    stalling_expect(stallbox_set_conditions(STALLBOX_CHARGING) == STALLBOX_OK && says(" charging"), "and replaced");
    stalling_expect(stallbox_set_conditions(8) == STALLBOX_BAD_ARGUMENT && says(" charging"),
                    "what is none is refused");
    stalling_expect(stallbox_set_conditions(0) == STALLBOX_OK && says(""), "nothing holds is an answer as well");
    stallbox_stop(5000);
    stalling_expect(stallbox_set_conditions(STALLBOX_IDLE) == STALLBOX_NOT_RUNNING, "nor after the stop");
}

static void test_an_application_says_when_payloads_may_be_sent(void **state)
{
    (void)state;
    stalling_process_run(child_says_what_holds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_an_application_says_when_payloads_may_be_sent, stalling_process_set_up,
                                        stalling_process_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
