/* SPDX-License-Identifier: Apache-2.0 */
/* test_host_resources.c - what a recorded program needs for itself: stacks, shared memory, locked memory, files that go. */
#include "host_case.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- static TLS ---- */

static void becomes_one_with_much_tls(void)
{
    execl(getenv("HOST_PROGRAM"), "host_tls", (char *)NULL);
    _exit(77);
}

static void host_15_static_tls_of_any_size_leaves_our_threads_their_stack(void **state)
{
    static const char *const kib[] = {"0", "200", "242", "244", "246", "248", "250", "252", "260", "1024", "4096"};
    (void)state;
    for (size_t i = 0; i < SBX_COUNT_OF(kib); i++) {
        char path[256];
        snprintf(path, sizeof path, "%s_%s", HOST_TLS, kib[i]);
        setenv("HOST_PROGRAM", path, 1);
        host_run_well(&(struct host_order){.body = "becomes_one_with_much_tls"});
    }
}

int main(int argc, char **argv)
{
    const struct host_body bodies[] = {
        HOST_BODY(becomes_one_with_much_tls),
    };
    const struct CMUnitTest tests[] = {
        HOST_TEST(host_15_static_tls_of_any_size_leaves_our_threads_their_stack),
    };
    return host_main(argc, argv, bodies, SBX_COUNT_OF(bodies), tests, SBX_COUNT_OF(tests));
}
