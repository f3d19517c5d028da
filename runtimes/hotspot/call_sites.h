/* SPDX-License-Identifier: Apache-2.0 */
/* call_sites.h - places in compiled code that calls return to, as earlier walks found them: the frame's size, and which methods it runs.
 *
 * To describe such a place from the machine's own tables takes a search for the blob, one for the instruction, and a list of packed numbers, all of
 * it in memory that nobody else has in a cache. A compilation never changes what it says of a place, so it is asked once.
 *
 * Why a place that is found can never be told for another:
 *   1. HotSpot gives each compilation a number of its own, from one counter (`nmethod::_compile_id`), and 0 is none of them.
 *   2. A place counts only while the block that its blob lay in begins where it began (its byte in the map of segments is 0), is in use,
 *      and holds a blob with the same number. A block that was freed is not in use; what was joined to another block does not
 *      begin there; a blob that was put there since has another number. So it is the very compilation.
 *   3. Of a compilation neither instructions, nor frame size, nor scopes change until it is freed, also when it is made not entrant; and it is not freed
 *      while a thread has a frame of it, nor are its methods. So a method that such a frame runs is the one whose name was read.
 *   4. A frame that is to be continued in the interpreter returns to a handler, and its true place lies in the frame: the handler is no
 *      place and never put here (sbx_java_frame_step()). Nor is an instruction that was interrupted.
 *
 * All threads and their handlers read and write, nobody waits. C.8b of docs/MEMORY_ORDERING.md: an entry is a writer's alone while its
 * sequence is odd; who finds it odd, or changed once it was read, has found nothing. */
#ifndef SBX_CALL_SITES_H
#define SBX_CALL_SITES_H

#include "code_cache.h"

enum {
    SBX_CALL_SITES = 2048, /* a power of two: 384 KiB, touched as they are used */
    SBX_SITE_METHODS = 6,  /* of a place; where more are inlined into each other it is described anew each time */
};

struct sbx_site_method {
    uint64_t method, id; /* what stands for it in the recording */
    int32_t bci;
    uint32_t line;
};

struct sbx_call_site {
    uint64_t pc, blob,
        segment; /* addresses; `segment`: of the byte in the map of segments that the blob's block begins with */
    uint32_t compile_id;
    uint32_t frame_words;
    uint32_t count; /* methods, the innermost first; 0: no place */
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

/* The place of `code` that `pc` is, without its methods. compile_id 0: it has none. */
SBX_SIGNAL_SAFE struct sbx_call_site sbx_call_site_of(const struct sbx_code *code, const struct sbx_vm_layout *layout,
                                                      uint64_t pc);

/* What was put for `pc`, if its compilation is still there. Of methods `count` are written. */
SBX_SIGNAL_SAFE bool sbx_call_site_find(const struct sbx_call_sites *sites, const struct sbx_vm_layout *layout,
                                        uint64_t pc, struct sbx_call_site *site_out);

/* Keep it, unless somebody writes there just now. */
SBX_SIGNAL_SAFE void sbx_call_site_put(struct sbx_call_sites *sites, const struct sbx_call_site *site);

#endif
