/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - texts of the kernel (schedstat, pressure, stat, status, cgroup), of the system (os-release, uname), of a
 * server (Retry-After) and of the environment (conditions, orders).
 *
 * Some of them contain text that others chose: the name of a thread or of a control group. Properties: nothing is read
 * beyond the text, nothing is written beyond the buffer, and every found value is within its bounds. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backoff.h"
#include "file_locks.h"
#include "fuzz_target.h"
#include "kernel_text.h"
#include "platform.h"
#include "preload.h"
#include "thread_where.h"
#include "upload_conditions.h"

static void check_kernel(const char *text)
{
    static const char *const controllers[] = {"", "memory", "cpu"};
    uint64_t a = 7, b = 7;
    (void)sbx_schedstat_delay(text, &a);
    (void)sbx_pressure_total(text, "some", &a);
    (void)sbx_pressure_total(text, "full", &a);
    (void)sbx_stat_faults(text, &a, &b);
    (void)sbx_line_value(text, "VmSwap:", &a);
    struct sbx_where where;
    MUST(!sbx_where_parse(text, &where) || where.is_blocked == (where.sp != 0));
    (void)sbx_line_value(text, "throttled_usec", &b);
    MUST(sbx_file_lock_holder(text, 1803, 0) != 1803 && sbx_file_lock_holder(text, 1, 10953472) != 1);
    for (size_t i = 0; i < sizeof controllers / sizeof controllers[0]; i++) {
        char path[64];
        memset(path, 'x', sizeof path);
        if (sbx_control_group_path(text, controllers[i], path, sizeof path)) {
            MUST(memchr(path, '\0', sizeof path) != NULL && strchr(path, '\n') == NULL && strstr(text, path) != NULL);
        }
    }
}

static void check_system(const char *text, size_t bytes)
{
    struct sbx_platform platform;
    memset(&platform, 0, sizeof platform);
    sbx_platform_parse_os_release(text, bytes, &platform);
    sbx_platform_parse_kernel(text, &platform);
    MUST(platform.kernel_major <= 999 && platform.kernel_minor <= 999);
}

static void check_server(const char *text)
{
    int64_t at_s = 0;
    MUST(sbx_retry_after_ms(text, 1700000000) <= UINT64_C(86400000));
    (void)sbx_http_date_s(text, &at_s);
}

/* Accepted orders are printed unchanged. */
static void check_orders(const char *text)
{
    struct sbx_preload_orders orders;
    char printed[SBX_ORDERS_TEXT_BYTES];
    if (sbx_orders_parse(text, &orders)) {
        sbx_orders_print(&orders, printed);
        MUST(strlen(printed) == strlen(text) && strcasecmp(printed, text) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *text = malloc(bytes + 1); /* exact size, so that a read past the end is found */
    MUST(text != NULL);
    if (bytes > 0) {
        memcpy(text, data, bytes);
    }
    text[bytes] = '\0';
    check_kernel(text);
    check_system(text, bytes);
    check_server(text);
    check_orders(text);
    (void)sbx_upload_conditions_read(text);
    free(text);
    return 0;
}
