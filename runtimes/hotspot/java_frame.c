/* SPDX-License-Identifier: Apache-2.0 */
/* java_frame.c - one frame of generated code. */
#include "java_frame.h"

#include <string.h>

#include "compiled_leaf.h"

enum {
    /* Offsets of an interpreted frame's words above its frame pointer. */
    FRAME_PC = 8,
    FRAME_CALLER_SP = 16,
    STUB_FRAME_BYTES_MAX = 4096 /* of a stub that keeps rbp; some stubs save all vector registers */
};

/* Makes *frame the caller, if the caller is farther up on the stack and its pc is possible. */
static bool go_to(const struct sbx_java_stack *stack, struct sbx_java_frame *frame, uint64_t pc, uint64_t sp,
                  uint64_t fp, bool has_fp)
{
    if (sp <= frame->sp || sp > stack->high || (sp & 7) != 0 || pc < 4096) {
        return false;
    }
    frame->pc = pc;
    frame->sp = sp;
    frame->fp = fp;
    frame->has_fp = has_fp;
    frame->is_exact = frame->may_call_native = frame->has_registers = false;
    return true;
}

/* Leaves the frame to which rbp points: a stub's, or the call stub's. */
static bool go_by_fp(const struct sbx_java_stack *stack, struct sbx_java_frame *frame)
{
    uint64_t fp = 0, pc = 0;
    return frame->has_fp && frame->fp >= frame->sp && sbx_java_stack_word(stack, frame->fp, &fp) &&
           sbx_java_stack_word(stack, frame->fp + FRAME_PC, &pc) &&
           go_to(stack, frame, pc, frame->fp + FRAME_CALLER_SP, fp, true);
}

/* Leaves a frame of which only the return address exists, and perhaps the pushed rbp below it. */
static bool go_by_top(const struct sbx_java_stack *stack, struct sbx_java_frame *frame, bool has_pushed)
{
    uint64_t fp = frame->fp, pc = 0, sp = frame->sp + (has_pushed ? 8 : 0);
    if ((has_pushed && !sbx_java_stack_word(stack, frame->sp, &fp)) || !sbx_java_stack_word(stack, sp, &pc)) {
        return false;
    }
    return go_to(stack, frame, pc, sp + 8, fp, has_pushed || frame->has_fp);
}

/* Leaves a frame of the size that its blob gives. rbp was saved below the return address if `has_saved`. */
static bool go_by_size(const struct sbx_java_stack *stack, struct sbx_java_frame *frame, uint32_t words, bool has_saved)
{
    uint64_t fp = frame->fp, pc = 0, sp = frame->sp + (uint64_t)words * 8;
    if (words < 2 || !sbx_java_stack_word(stack, sp - 8, &pc) ||
        (has_saved && !sbx_java_stack_word(stack, sp - 16, &fp))) {
        return false;
    }
    return go_to(stack, frame, pc, sp, fp, has_saved || frame->has_fp);
}

/* ---- interpreted frames ---- */

/* Returns the method's current bytecode index. `running` is r13 of an interrupted frame, and is preferred if it is in
 * the bytecodes. */
static int32_t bytecode_index(const struct sbx_method_glance *method, uint64_t saved, uint64_t running,
                              bool has_running)
{
    if (has_running && running - method->code < method->code_bytes) {
        return (int32_t)(running - method->code);
    }
    if (method->code_bytes == 0) {
        return -1;
    }
    return saved - method->code < method->code_bytes ? (int32_t)(saved - method->code) : 0;
}

/* Are all words of an interpreted frame on the stack, from its lowest to its pc? */
static bool is_interpreted_frame(const struct sbx_vm_layout *layout, const struct sbx_java_stack *stack, uint64_t fp)
{
    int32_t lowest = layout->frame_bytecode_slot < layout->frame_method_slot ? layout->frame_bytecode_slot
                                                                             : layout->frame_method_slot;
    lowest = layout->frame_sender_sp_slot < lowest ? layout->frame_sender_sp_slot : lowest;
    uint64_t low = fp + (uint64_t)((int64_t)lowest * 8);
    return (fp & 7) == 0 && low <= fp && low >= stack->low && fp < stack->high && stack->high - fp >= FRAME_CALLER_SP;
}

/* The contents of an interpreted frame. */
struct interpreted {
    uint64_t fp, pc, sp; /* of its caller */
    uint64_t method, bytecode;
};

/* Reads the interpreted frame at rbp. */
static inline bool read_words(const struct sbx_java_vm *vm, const struct sbx_java_stack *stack,
                              const struct sbx_java_frame *frame, struct interpreted *it)
{
    const struct sbx_vm_layout *layout = &vm->layout;
    if (!frame->has_fp || frame->fp < frame->sp || !is_interpreted_frame(layout, stack, frame->fp)) {
        return false;
    }
    const uint64_t *words = (const uint64_t *)(uintptr_t)(frame->fp + (uint64_t)stack->delta);
    it->fp = words[0];
    it->pc = words[1];
    it->sp = words[layout->frame_sender_sp_slot];
    it->method = words[layout->frame_method_slot];
    it->bytecode = words[layout->frame_bytecode_slot];
    /* The caller's sp may be the address of the return address itself: if a method handle called the method, and the
     * method has no local variables, the return address is in the slot of the handle's own argument. */
    return it->sp > frame->fp && sbx_code_cache_holds(&vm->code, it->pc);
}

static bool read_interpreted(const struct sbx_java_vm *vm, const struct sbx_java_stack *stack,
                             struct sbx_java_frame *frame, struct sbx_java_found *found)
{
    struct sbx_method_glance method;
    struct interpreted it;
    if (!read_words(vm, stack, frame, &it) || !sbx_method_look(&method, &vm->layout, it.method, stack->pages)) {
        return false;
    }
    found->method = it.method;
    found->key = method.key;
    found->bci = bytecode_index(&method, it.bytecode, frame->bytecode, frame->has_registers);
    return go_to(stack, frame, it.pc, it.sp, it.fp, true);
}

SBX_SIGNAL_SAFE bool sbx_java_frame_pass(const struct sbx_java_vm *vm, const struct sbx_java_stack *stack,
                                         struct sbx_java_frame *frame, struct sbx_java_passed *passed_out)
{
    struct sbx_method_glance method;
    struct interpreted it;
    if (frame->is_exact || !read_words(vm, stack, frame, &it) ||
        !sbx_method_look_again(&method, &vm->layout, it.method, stack->pages)) {
        return false;
    }
    passed_out->method = it.method;
    passed_out->bci = bytecode_index(&method, it.bytecode, 0, false);
    return sbx_place_find(vm->places, sbx_place_key(method.key, passed_out->bci), &passed_out->id, &passed_out->line) &&
           go_to(stack, frame, it.pc, it.sp, it.fp, true);
}

/* Reads a method that is just being entered and has no frame yet. rbx is the method, r13 the caller's sp, and the
 * return address is on top of the stack. */
static bool read_entered(const struct sbx_java_vm *vm, const struct sbx_java_stack *stack, struct sbx_java_frame *frame,
                         struct sbx_java_found *found)
{
    uint64_t pc = 0;
    struct sbx_method_glance method;
    if (!frame->has_registers || !sbx_java_stack_word(stack, frame->sp, &pc) || !sbx_code_cache_holds(&vm->code, pc) ||
        !sbx_method_look(&method, &vm->layout, frame->method, stack->pages)) {
        return false;
    }
    found->method = frame->method;
    found->key = method.key;
    found->bci = method.code_bytes == 0 ? -1 : 0;
    uint64_t sp = frame->bytecode;
    return go_to(stack, frame, pc, sp > frame->sp && sp <= stack->high ? sp : frame->sp + 8, frame->fp, frame->has_fp);
}

static enum sbx_java_step step_interpreted(const struct sbx_java_vm *vm, const struct sbx_java_stack *stack,
                                           struct sbx_java_frame *frame, struct sbx_java_found *found)
{
    if (read_interpreted(vm, stack, frame, found) || read_entered(vm, stack, frame, found)) {
        return found->bci < 0 ? SBX_JAVA_NATIVE : SBX_JAVA_INTERPRETED;
    }
    return SBX_JAVA_BAD_FRAME;
}

/* ---- compiled frames ---- */

static uint64_t blob_word(const struct sbx_code *code, uint32_t offset)
{
    uint64_t word = 0;
    memcpy(&word, (const void *)(uintptr_t)(code->blob + offset), sizeof word);
    return word;
}

/* A frame that will continue in the interpreter returns to a handler. The original return address is stored in the
 * frame. */
static uint64_t original_pc(const struct sbx_java_vm *vm, const struct sbx_java_stack *stack,
                            const struct sbx_code *code, const struct sbx_java_frame *frame)
{
    const struct sbx_vm_layout *layout = &vm->layout;
    uint64_t pc = 0;
    if (frame->pc != sbx_blob_place(code->blob, code->code, layout->deopt_begin) &&
        frame->pc != sbx_blob_place(code->blob, code->code, layout->deopt_mh_begin)) {
        return frame->pc;
    }
    uint32_t slot = 0;
    memcpy(&slot, (const void *)(uintptr_t)(code->blob + layout->orig_pc), sizeof slot);
    bool is_there = sbx_java_stack_word(stack, frame->sp + slot, &pc) && pc - code->blob < code->bytes;
    return is_there ? pc : 0;
}

/* Leaves a frame of which this much exists. */
static bool go_by_leaf(const struct sbx_java_stack *stack, struct sbx_java_frame *frame, uint32_t words,
                       enum sbx_leaf_frame leaf)
{
    if (leaf == SBX_LEAF_NONE || leaf == SBX_LEAF_PUSHED) {
        return go_by_top(stack, frame, leaf == SBX_LEAF_PUSHED);
    }
    return go_by_size(stack, frame, words, leaf == SBX_LEAF_WHOLE);
}

static bool leave_compiled(const struct sbx_java_vm *vm, const struct sbx_java_stack *stack,
                           const struct sbx_code *code, struct sbx_java_frame *frame)
{
    enum sbx_leaf_frame leaf = SBX_LEAF_WHOLE;
    if (frame->is_exact) {
        uint64_t entry = sbx_blob_place(code->blob, code->code, vm->layout.verified_entry);
        if (entry - code->blob >= code->bytes) {
            return false;
        }
        leaf =
            sbx_compiled_leaf((const uint8_t *)(uintptr_t)entry, (const uint8_t *)(uintptr_t)(code->blob + code->bytes),
                              (const uint8_t *)(uintptr_t)frame->pc, frame->pc < code->frame_is_set);
    }
    return go_by_leaf(stack, frame, code->frame_words, leaf);
}

/* Returns the class that a method belongs to; 0: none. */
static uint64_t holder_of(const struct sbx_vm_layout *layout, uint64_t method)
{
    uint64_t const_method = 0, pool = 0, holder = 0;
    return sbx_vm_word(method + layout->const_method, &const_method) &&
                   sbx_vm_word(const_method + layout->constants, &pool) &&
                   sbx_vm_word(pool + layout->pool_holder, &holder)
               ? holder
               : 0;
}

/* Is this the wrapper of a method of class Continuation? These methods mount and unmount a virtual thread, and their
 * frames have no fixed size meanwhile. The JVM gives the return address of one of them once it exists. The others
 * belong to the same class. */
static bool is_of_continuation(const struct sbx_java_vm *vm, uint64_t method)
{
    uint64_t known = 0;
    if (vm->layout.continuation_return == 0 || !sbx_vm_word(vm->layout.continuation_return, &known) || known == 0) {
        return false;
    }
    struct sbx_code code = sbx_code_find(&vm->code, &vm->layout, known);
    uint64_t holder = holder_of(&vm->layout, method);
    return code.kind == SBX_CODE_WRAPPER && holder != 0 &&
           holder == holder_of(&vm->layout, blob_word(&code, vm->layout.method_of_code));
}

static enum sbx_java_step step_compiled(const struct sbx_java_vm *vm, const struct sbx_java_stack *stack,
                                        const struct sbx_code *code, struct sbx_java_frame *frame,
                                        struct sbx_java_found *found)
{
    found->method = blob_word(code, vm->layout.method_of_code);
    found->bci = -1;
    bool may_keep = vm->sites != NULL && !frame->is_exact && !frame->may_call_native;
    if (code->kind == SBX_CODE_WRAPPER) {
        if (frame->is_exact && is_of_continuation(vm, found->method)) {
            return SBX_JAVA_CONTINUATION;
        }
        found->site = may_keep ? sbx_call_site_of(code, &vm->layout, frame->pc) : found->site;
        return leave_compiled(vm, stack, code, frame) ? SBX_JAVA_NATIVE : SBX_JAVA_BAD_FRAME;
    }
    uint64_t pc = frame->is_exact ? frame->pc : original_pc(vm, stack, code, frame);
    if (may_keep && pc == frame->pc) {
        found->site = sbx_call_site_of(code, &vm->layout, pc);
    }
    enum sbx_scopes_at at = sbx_scopes_find(&found->scopes, &vm->layout, code, pc);
    /* A caller is at a call, and each call is described. So code without a description has never returned to this
     * address. */
    if (!frame->is_exact && !frame->may_call_native && at != SBX_SCOPES_EXACT) {
        return SBX_JAVA_BAD_FRAME;
    }
    if (at == SBX_SCOPES_NONE) {
        found->scopes.next = 0;
    }
    return leave_compiled(vm, stack, code, frame) ? SBX_JAVA_COMPILED : SBX_JAVA_BAD_FRAME;
}

SBX_SIGNAL_SAFE bool sbx_java_frame_leave(const struct sbx_java_stack *stack, struct sbx_java_frame *frame,
                                          uint32_t words)
{
    return go_by_size(stack, frame, words, true);
}

/* ---- stubs ---- */

/* Is the word on top of the stack a return address in generated code? */
static bool returns_by_top(const struct sbx_java_vm *vm, const struct sbx_java_stack *stack,
                           const struct sbx_java_frame *frame)
{
    uint64_t pc = 0;
    return sbx_java_stack_word(stack, frame->sp, &pc) && sbx_code_cache_holds(&vm->code, pc);
}

/* For an interrupted stub that makes its frame like a compiled method: how much of the frame exists? Returns false if
 * the stub begins otherwise. */
static bool is_framed_stub(const struct sbx_code *code, const struct sbx_java_frame *frame,
                           enum sbx_leaf_frame *leaf_out)
{
    return frame->is_exact &&
           sbx_stub_leaf((const uint8_t *)(uintptr_t)code->code, (const uint8_t *)(uintptr_t)(code->blob + code->bytes),
                         (const uint8_t *)(uintptr_t)frame->pc, code->frame_words, leaf_out);
}

static enum sbx_java_step step_stub(const struct sbx_java_vm *vm, const struct sbx_java_stack *stack,
                                    const struct sbx_code *code, struct sbx_java_frame *frame)
{
    bool is_left = false;
    enum sbx_leaf_frame leaf = SBX_LEAF_UNKNOWN;
    if (code->frame_words != 0 && !(frame->is_exact && frame->pc < code->frame_is_set)) {
        is_left = go_by_size(stack, frame, code->frame_words, true);
    } else if (is_framed_stub(code, frame, &leaf)) {
        is_left = leaf != SBX_LEAF_UNKNOWN && go_by_leaf(stack, frame, code->frame_words, leaf);
    } else if (frame->is_exact && returns_by_top(vm, stack, frame)) {
        is_left = go_by_top(stack, frame, false);
    } else if (frame->has_fp && frame->fp - frame->sp < STUB_FRAME_BYTES_MAX) {
        is_left = go_by_fp(stack, frame);
    }
    if (!is_left) {
        return SBX_JAVA_BAD_FRAME;
    }
    /* While a thread runs Java, native code calls only one stub: the call stub. Its pc is then before or after its
     * call. */
    return sbx_code_cache_holds(&vm->code, frame->pc) ? SBX_JAVA_STUB : SBX_JAVA_ENTRY;
}

SBX_SIGNAL_SAFE enum sbx_java_step sbx_java_frame_step(const struct sbx_java_vm *vm, const struct sbx_java_stack *stack,
                                                       struct sbx_java_frame *frame, struct sbx_java_found *found_out)
{
    found_out->method = found_out->key = 0;
    found_out->bci = -1;
    found_out->site.compile_id = 0;
    if (sbx_code_cache_interprets(&vm->code, frame->pc)) {
        return step_interpreted(vm, stack, frame, found_out);
    }
    struct sbx_code code = sbx_code_find(&vm->code, &vm->layout, frame->pc);
    switch (code.kind) {
    case SBX_CODE_INTERPRETER:
        return step_interpreted(vm, stack, frame, found_out);
    case SBX_CODE_ENTRY:
        return go_by_fp(stack, frame) ? SBX_JAVA_ENTRY : SBX_JAVA_BAD_STACK;
    case SBX_CODE_COMPILED:
    case SBX_CODE_WRAPPER:
        return step_compiled(vm, stack, &code, frame, found_out);
    case SBX_CODE_STUB:
        return step_stub(vm, stack, &code, frame);
    case SBX_CODE_CONTINUATION:
        return SBX_JAVA_CONTINUATION;
    case SBX_CODE_NONE:
    default:
        return SBX_JAVA_NO_CODE;
    }
}
