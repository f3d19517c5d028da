/* SPDX-License-Identifier: Apache-2.0 */
/* delivery_memory.h - what a deliverer knows that the next one must know too: SPOOL/.deliver.state.
 *
 * A deliverer that has to wait an hour and is restarted each minute must not ask sixty times. So the number of failures
 * and the time to wait outlive the process. It is a text:
 *
 *     stallbox-delivery 1 BOOT-ID                      the boot that the first of the two times below is of
 *     server HASH FAILS ASKED BOOT-MS WALL-MS WAIT-MS  of the whole server: HASH is that of its address
 *     payload ID FAILS ASKED BOOT-MS WALL-MS WAIT-MS   of one payload
 *
 * BOOT-MS and WALL-MS are when it is due (CLOCK_BOOTTIME, CLOCK_REALTIME), WAIT-MS how long the wait was: after a
 * reboot or with the clock set, nothing waits longer than that. ASKED is 1 when the server said so, 0 when it was our
 * own caution. A file that is lost or changed costs an early attempt, nothing more. Written and read by the holder of the
 * spool's lock. */
#ifndef SBX_DELIVERY_MEMORY_H
#define SBX_DELIVERY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "envelope_format.h"
#include "marks.h"

enum {
    SBX_BOOT_ID_BYTES = 37, /* 36 characters and a NUL */
    SBX_HOLDS_MAX = 256,    /* payloads remembered; a spool has 200 */
    SBX_DELIVERY_MEMORY_BYTES_MAX = 64 << 10,
};

/* The times, and the boot that boot_ms is of. */
struct sbx_delivery_now {
    uint64_t boot_ms, wall_ms;
    char boot_id[SBX_BOOT_ID_BYTES]; /* "": not known, so no two are the same */
};

/* The system's times. */
void sbx_delivery_now_read(struct sbx_delivery_now *now_out);

/* A wait. */
struct sbx_hold {
    uint8_t id[SBX_PAYLOAD_ID_BYTES]; /* of the payload; not used for the server */
    uint32_t fails;
    bool is_asked;
    uint64_t due_ms;  /* by boot_ms; 0: nothing to wait for */
    uint64_t wait_ms; /* how long it was, when it began */
};

struct sbx_delivery_memory {
    struct sbx_hold server;
    struct sbx_hold payloads[SBX_HOLDS_MAX];
    size_t payload_count;
};

/* Fill `text_out` (SBX_DELIVERY_MEMORY_BYTES_MAX), return its length. Pure. */
size_t sbx_delivery_memory_print(const struct sbx_delivery_memory *memory, const char *server_url,
                                 const struct sbx_delivery_now *now, char *text_out);

/* The other way, with due_ms by the times of `now`. Lines that are not understood are passed over, and so is what is
 * said of another server. Pure. */
void sbx_delivery_memory_parse(const char *text, size_t bytes, const char *server_url,
                               const struct sbx_delivery_now *now, struct sbx_delivery_memory *memory_out);

/* Is there anything to remember? */
bool sbx_delivery_memory_is_empty(const struct sbx_delivery_memory *memory);

#endif
