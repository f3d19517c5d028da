/* SPDX-License-Identifier: Apache-2.0 */
/* scene.h - one recording for the tests of this folder: a program like redis that sleeps in a command, full of names,
 * paths and addresses that must not leave. */
#ifndef SBX_SCENE_H
#define SBX_SCENE_H

#include "recording_builder.h"
#include "redaction.h"

/* Places in the scene. Times are CLOCK_MONOTONIC nanoseconds. */
#define SBX_SCENE_TRIGGER_NS UINT64_C(5000000000000)
#define SBX_SCENE_STARTED_NS UINT64_C(4000000000000)
#define SBX_SCENE_LOCK       UINT64_C(0x7f31a2b3c4d8)
#define SBX_SCENE_APP_BASE   UINT64_C(0x55d5c0de0000)

enum {
    SBX_SCENE_APP = 0,     /* modules: /home/anna.smith/bin/payroll-server */
    SBX_SCENE_LIBC = 1,    /* /usr/lib/x86_64-linux-gnu/libc.so.6 */
    SBX_SCENE_SECRET = 2,  /* /home/anna.smith/plugins/libmedical-records.so */
    SBX_SCENE_UNUSED = 3,  /* /usr/lib/x86_64-linux-gnu/libz.so.1, on no stack */
    SBX_SCENE_WORKER = 0,  /* threads: "bio_close_file" */
    SBX_SCENE_MAIN = 1,    /* "payroll-server" */
    SBX_SCENE_PRIVATE = 2, /* "anna's mailbox" */
};

/* Make the recording; add to it, then call sbx_recording_read_back(). The trigger is set: a slow message of 2 s,
 * message 1000042.
 * main: allocation samples each 10 ms from 3 s to 2 s before the trigger, then asleep for 2 s, and a stack at the
 * trigger.
 * worker: waits for 1.5 s for a lock that main holds.
 * private: one file read 20 s before the trigger, and one 1 s before it. */
struct sbx_recording_builder *sbx_scene_create(void);

/* The strings of the process; NULL ends the list. None of them may be in a payload. */
extern const char *const sbx_scene_secrets[];

struct sbx_redaction sbx_scene_redaction(uint32_t detail_level);

#endif
