/* SPDX-License-Identifier: Apache-2.0 */
/* delivery_memory.h - what a deliverer knows and the next deliverer must know, too: SPOOL/.deliver.state.
 *
 * A deliverer that must wait an hour and is restarted every minute must not try sixty times. So the number of failures
 * and the time to wait are stored, as a text:
 *
 *     stallbox-delivery 1 BOOT-ID                      the boot in which the first of the two times below was read
 *     server HASH FAILS ASKED BOOT-MS WALL-MS WAIT-MS  of the whole server: HASH is that of its address
 *     payload ID FAILS ASKED BOOT-MS WALL-MS WAIT-MS   of one payload
 *
 * BOOT-MS and WALL-MS are when the wait ends (CLOCK_BOOTTIME, CLOCK_REALTIME). WAIT-MS is the length of the wait. After
 * a reboot, or when the clock was set, no wait is longer than that. ASKED is 1 if the server asked for the wait, 0 if
 * it is our own. If the file is lost or changed, the only damage is an early attempt. The holder of the spool's lock
 * reads and writes the file. */
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

/* The current times, and the boot of boot_ms. */
struct sbx_delivery_now {
    uint64_t boot_ms, wall_ms;
    char boot_id[SBX_BOOT_ID_BYTES]; /* "": not known, so it equals no other */
};

/* Reads the system's times. */
void sbx_delivery_now_read(struct sbx_delivery_now *now_out);

/* A wait. */
struct sbx_hold {
    uint8_t id[SBX_PAYLOAD_ID_BYTES]; /* of the payload; not used for the server */
    uint32_t fails;
    bool is_asked;
    uint64_t due_ms;  /* by boot_ms; 0: no wait */
    uint64_t wait_ms; /* its length when it began */
};

struct sbx_delivery_memory {
    struct sbx_hold server;
    struct sbx_hold payloads[SBX_HOLDS_MAX];
    size_t payload_count;
};

/* Fill `text_out` (SBX_DELIVERY_MEMORY_BYTES_MAX) and return its length. Pure. */
size_t sbx_delivery_memory_print(const struct sbx_delivery_memory *memory, const char *server_url,
                                 const struct sbx_delivery_now *now, char *text_out);

/* Parses such a text, with due_ms by the times of `now`. Lines that are not understood, or that concern another server,
 * are skipped. Pure. */
void sbx_delivery_memory_parse(const char *text, size_t bytes, const char *server_url,
                               const struct sbx_delivery_now *now, struct sbx_delivery_memory *memory_out);

/* Is there anything to remember? */
bool sbx_delivery_memory_is_empty(const struct sbx_delivery_memory *memory);

#endif
