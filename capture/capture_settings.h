/* SPDX-License-Identifier: Apache-2.0 */
/* capture_settings.h - the plain numbers that steer capture and the triggers.
 *
 * Capture defines them; policy fills them (policy/policy.h); they travel through the control page of the recording
 * (recording_format.h). Capture never learns what a policy is. */
#ifndef SBX_CAPTURE_SETTINGS_H
#define SBX_CAPTURE_SETTINGS_H

#include <stdint.h>

/* One bit a capture point; the numbers are part of the control page and only ever appended to. */
enum sbx_point_bit {
    SBX_POINT_ALLOC = 1u << 0,  /* malloc family: counts, and the leaf probe of synchronous samples */
    SBX_POINT_LOCK = 1u << 1,   /* pthread mutex */
    SBX_POINT_COND = 1u << 2,   /* condition variable waits */
    SBX_POINT_POLL = 1u << 3,   /* poll family: message boundary on a loop thread, wait elsewhere */
    SBX_POINT_SLEEP = 1u << 4,  /* sleep family */
    SBX_POINT_FILE = 1u << 5,   /* file input and output */
    SBX_POINT_SOCKET = 1u << 6, /* sockets */
    SBX_POINT_ASYNC = 1u << 7,  /* the asynchronous gap filler */
    SBX_POINTS_ALL = 0xff
};

struct sbx_capture_settings {
    uint32_t enabled;            /* 0: every hook is taken out and nothing is recorded */
    uint32_t points;             /* enum sbx_point_bit */
    uint32_t interval_us;        /* a thread records one sample per interval at most; 1,000..1,000,000 */
    uint32_t gap_us;             /* a running thread without a sample for this long is sampled asynchronously */
    uint32_t blocked_refresh_ms; /* a blocked thread inside an open message is looked at again this often */
    uint32_t wait_min_us;        /* shorter blocking calls are counted in no record */
    uint32_t anr_ms;             /* a message open for this long fires `anr`; 0: never */
    uint32_t slow_message_ms;    /* a message that took this long fires `slow_message` when it ends; 0: never */
    uint32_t slow_frame_ms;      /* a frame that took this long fires `slow_frame`; 0: never */
    uint32_t note_ms;            /* a message open for this long leaves a note for the case of death; 0: never */
    uint32_t min_gap_ms;         /* two snapshots of one trigger kind are at least this far apart */
    uint32_t history_ms;         /* how far back a payload reaches at most */
    uint32_t detail_level; /* 0 nothing leaves, 1 stacks and durations, 2 also descriptor classes and lock graph */
    uint32_t reserved[3];
};

#endif
