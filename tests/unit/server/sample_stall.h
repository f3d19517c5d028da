/* SPDX-License-Identifier: Apache-2.0 */
/* sample_stall.h - stalls in the library whose symbols the tests know (tests/unit/triage/symbol_sample.c). */
#ifndef SBX_TEST_SAMPLE_STALL_H
#define SBX_TEST_SAMPLE_STALL_H

#include "build_id.h"
#include "server_fixture.h"

/* The main thread slept in sample_outer (with inlined calls), called by sample_hidden. Release it with
 * envelope_finish(). */
struct envelope sample_stall(uint64_t seed);
/* The same in an application of this name. */
struct envelope sample_stall_of(uint64_t seed, const char *app);

/* The sample's build-id in hex. */
const char *sample_build_id(void);

#endif
