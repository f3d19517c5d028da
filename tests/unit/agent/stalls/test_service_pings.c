/* SPDX-License-Identifier: Apache-2.0 */
/* test_service_pings.c - how long a service may be silent, and that a silence caused by the recorder is not counted as
 * the service's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "order.h"
#include "control_order.h"
#include "live_recording.h"
#include "stalling_process.h"

enum {
    WATCHDOG_MS = 1000,
    SILENCE_MS = 3000
};

static int manager = -1; /* the service manager's socket; nobody reads from it */
static struct sockaddr_un address;
static socklen_t address_bytes;

static void begin_service(uint32_t max_cpu_permille)
{
    char name[64], watchdog_us[32];
    snprintf(name, sizeof name, "@stallbox-pings-%d", (int)getpid());
    snprintf(watchdog_us, sizeof watchdog_us, "%d000", WATCHDOG_MS);
    address.sun_family = AF_UNIX;
    memcpy(address.sun_path + 1, name + 1, strlen(name + 1));
    address_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
    manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    stalling_expect(manager >= 0 && bind(manager, (struct sockaddr *)&address, address_bytes) == 0, "a manager");
    setenv("NOTIFY_SOCKET", name, 1);
    setenv("WATCHDOG_USEC", watchdog_us, 1);
    struct stallbox_options options = stalling_options();
    options.max_cpu_permille = max_cpu_permille;
    stalling_start(&options);
}

static void ping(void)
{
    static const char words[] = "WATCHDOG=1";
    char byte;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    stalling_expect(sendto(fd, words, sizeof words - 1, 0, (struct sockaddr *)&address, address_bytes) > 0, "a ping");
    close(fd);
    recv(manager, &byte, 1, MSG_DONTWAIT);
}

static void ping_for_ms(uint64_t ms)
{
    for (uint64_t begin_ms = stalling_now_ms(); stalling_now_ms() - begin_ms < ms;) {
        ping();
        stalling_pause_ms(20);
    }
}

static void ping_and_allocate(void)
{
    ping();
    for (int i = 0; i < 20000; i++) {
        char byte;
        void *volatile memory = malloc(32); /* volatile: otherwise the compiler removes the malloc */
        if (i % 30 == 0) {
            recv(manager, &byte, 1, MSG_DONTWAIT);
        }
        free(memory);
    }
}

/* The service pings with calls whose recording costs much of the calls' own time. */
static void child_pings_over_its_budget(void)
{
    begin_service(1);
    struct sbx_overhead *overhead = &stalling_own_recording()->overhead;
    stalling_spend_until_shed(overhead, ping_and_allocate);
    stalling_expect((overhead->shed & SBX_POINTS_OF_PINGS) == 0, "and none that sees a ping");
    stallbox_stop(5000);
}

static void test_the_governor_leaves_in_what_sees_pings(void **state)
{
    (void)state;
    stalling_process_run(child_pings_over_its_budget);
}

static void child_whose_pings_are_no_longer_seen(void)
{
    begin_service(0);
    ping_for_ms(WATCHDOG_MS);
    struct sbx_recording_header *header = stalling_own_recording();
    struct sbx_capture_settings wanted = sbx_control_page_of(header)->in_force;
    wanted.points &= ~SBX_POINT_BIT(SBX_GROUP_SOCKET);
    stalling_expect(stalling_order(header, &wanted), "the point is taken out");
    ping_for_ms(SILENCE_MS);
    stallbox_stop(5000);
}

static void test_pings_that_we_do_not_see_any_more_are_no_silence(void **state)
{
    (void)state;
    struct sbx_snapshot *none[SNAPSHOTS_MAX];
    stalling_process_run(child_whose_pings_are_no_longer_seen);
    stalling_process_snapshots(0, none);
}

static void child_whose_pings_are_seen_again(void)
{
    begin_service(0);
    ping_for_ms(WATCHDOG_MS);
    struct sbx_recording_header *header = stalling_own_recording();
    struct sbx_control_page *control = sbx_control_page_of(header);
    struct sbx_capture_settings before = control->in_force, without = before;
    without.points &= ~SBX_POINT_BIT(SBX_GROUP_SOCKET);
    stalling_expect(stalling_order(header, &without), "the point is taken out");
    ping_for_ms(WATCHDOG_MS);
    stalling_expect(stalling_order(header, &before), "and put in");
    for (int i = 0; i < 1000 && (sbx_load_acquire(&control->hooked_points) & SBX_POINT_BIT(SBX_GROUP_SOCKET)) == 0;
         i++) {
        stalling_pause_ms(5);
    }
    ping_for_ms(WATCHDOG_MS);
    stalling_pause_ms(SILENCE_MS);
    stallbox_stop(5000);
}

static void test_a_silence_after_that_is_told(void **state)
{
    (void)state;
    stalling_process_run(child_whose_pings_are_seen_again);
    struct sbx_snapshot *snapshot = stalling_process_snapshot();
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_WATCHDOG);
    sbx_snapshot_destroy(snapshot);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, stalling_process_set_up, stalling_process_tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_the_governor_leaves_in_what_sees_pings),
        CASE(test_pings_that_we_do_not_see_any_more_are_no_silence),
        CASE(test_a_silence_after_that_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
