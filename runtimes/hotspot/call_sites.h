/* SPDX-License-Identifier: Apache-2.0 */
/* call_sites.h - places in compiled code to which calls return, as earlier walks found them: the frame's size and the
 * methods that run in it.
 *
 * To describe such a place from the JVM's own tables, a walk searches the blob, then the instruction, and then decodes
 * a list of packed numbers. All of this is in memory that is in no CPU cache. A compilation never changes the
 * description of a place, so it is read only once.
 *
 * Why a place in this table is never confused with another:
 *   1.  HotSpot gives each compilation its own number, from one counter (`nmethod::_compile_id`). No compilation has
 *       number 0.
 *   2.  A place is valid only while three things are true. The block that contained its blob still begins at the same
 *       address (its byte in the segment map is 0). The block is in use. The blob in it has the same number. A freed
 *       block is not in use. A block that was joined to another one does not begin there. A blob that was put there
 *       later has another number. So a valid place belongs to the same compilation.
 *   3.  The instructions, the frame size and the scopes of a compilation do not change until it is freed, even when it
 *       is made not entrant. It and its methods are not freed while a thread has a frame of it. So the method that such
 *       a frame runs is the one whose name was read.
 *   4.  A frame that will continue in the interpreter returns to a handler, and its true place is stored in the frame.
 *       The handler is no place, and is never put here (sbx_java_frame_step()). The same is true of an instruction that
 *       was interrupted.
 *
 * All threads and their signal handlers read and write, and none of them waits. C.8b of docs/MEMORY_ORDERING.md: a
 * writer has an entry for itself while the sequence is odd. A reader that finds the sequence odd, or changed after it
 * has read the entry, has found nothing. */
#ifndef SBX_CALL_SITES_H
#define SBX_CALL_SITES_H

#include "code_cache.h"

enum {
    SBX_CALL_SITES = 2048, /* a power of two: 384 KiB, touched only as they are used */
    SBX_SITE_METHODS = 6,  /* of one place; a place with more inlined methods is described again each time */
};

struct sbx_site_method {
    uint64_t method, id; /* the method's id in the recording */
    int32_t bci;
    uint32_t line;
};

struct sbx_call_site {
    uint64_t pc, blob,
        segment; /* addresses; `segment`: of the byte in the segment map at which the blob's block begins */
    uint32_t compile_id;
    uint32_t frame_words;
    uint32_t count; /* number of methods, innermost first; 0: no place */
    struct sbx_site_method methods[SBX_SITE_METHODS];
};

struct sbx_call_sites {
    struct sbx_call_entry {
        _Alignas(64) uint32_t sequence;
        uint32_t compile_id;
        uint64_t pc, blob, segment;
        uint32_t frame_words, count;
        struct sbx_site_method methods[SBX_SITE_METHODS];
    } entries[SBX_CALL_SITES];
};

/* Makes the place for `pc` in `code`, without its methods. compile_id 0: `code` has none. */
SBX_SIGNAL_SAFE struct sbx_call_site sbx_call_site_of(const struct sbx_code *code, const struct sbx_vm_layout *layout,
                                                      uint64_t pc);

/* Gets the place stored for `pc`, if its compilation still exists. Only the first `count` methods are written. */
SBX_SIGNAL_SAFE bool sbx_call_site_find(const struct sbx_call_sites *sites, const struct sbx_vm_layout *layout,
                                        uint64_t pc, struct sbx_call_site *site_out);

/* Stores a place, unless another thread is writing to the same entry. */
SBX_SIGNAL_SAFE void sbx_call_site_put(struct sbx_call_sites *sites, const struct sbx_call_site *site);

#endif
