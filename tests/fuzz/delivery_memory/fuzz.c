/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - SPOOL/.deliver.state of any bytes: no wait is longer than allowed, and what is read can be printed and read
 * again. */
#include <stdint.h>
#include <stdlib.h>

#include "delivery_memory.h"
#include "fuzz_target.h"

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void check_hold(const struct sbx_hold *hold, const struct sbx_delivery_now *now)
{
    require(hold->due_ms == 0 || (hold->due_ms > now->boot_ms && hold->due_ms - now->boot_ms <= hold->wait_ms));
    require(hold->wait_ms <= UINT64_C(2) * 86400000);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t bytes)
{
    static const struct sbx_delivery_now now = {
        .boot_ms = 5000000, .wall_ms = UINT64_C(1700000000000), .boot_id = "0a1b2c3d-0000-4000-8000-000000000001"};
    static struct sbx_delivery_memory memory, again;
    static char text[SBX_DELIVERY_MEMORY_BYTES_MAX];
    static const char url[] = "https://stalls.example.org";
    sbx_delivery_memory_parse((const char *)input, bytes, url, &now, &memory);
    check_hold(&memory.server, &now);
    require(memory.payload_count <= SBX_HOLDS_MAX);
    for (size_t i = 0; i < memory.payload_count; i++) {
        check_hold(&memory.payloads[i], &now);
    }
    size_t length = sbx_delivery_memory_print(&memory, url, &now, text);
    require(length > 0 && length < sizeof text);
    sbx_delivery_memory_parse(text, length, url, &now, &again);
    require(again.payload_count == memory.payload_count && again.server.due_ms == memory.server.due_ms &&
            again.server.fails == memory.server.fails);
    return 0;
}
