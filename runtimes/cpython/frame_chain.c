/* SPDX-License-Identifier: Apache-2.0 */
/* frame_chain.c - from a thread's state out. */
#include "frame_chain.h"

enum owner {
    OWNER_THREAD = 0,
    OWNER_GENERATOR = 1,
    OWNER_OBJECT = 2,
    OWNER_C_STACK = 3,
};

enum {
    PIECE_PREVIOUS = 0,
    PIECE_BYTES = 8,
    PIECE_FRAMES = 24,
    PIECE_MOST = 1 << 30,
    PIECES_MOST = 64
};

/* Does the frame lie in the thread's data stack? That is mapped as long as the thread runs. */
static bool is_in_data_stack(struct frame_chain *chain, uint64_t frame)
{
    const uint64_t bytes = chain->layout->frame_bytes;
    if (frame >= chain->piece_begin && frame + bytes <= chain->piece_end) {
        return true;
    }
    if (chain->layout->thread_chunk == 0) {
        return false;
    }
    struct object_page page = {0};
    uint64_t piece = object_word_at(chain->thread, chain->layout->thread_chunk);
    for (int i = 0; i < PIECES_MOST && object_can_read(&page, piece, PIECE_FRAMES); i++) {
        uint64_t piece_bytes = object_word_at(piece, PIECE_BYTES);
        if (piece_bytes > PIECE_MOST) {
            return false;
        }
        if (frame >= piece + PIECE_FRAMES && frame + bytes <= piece + piece_bytes) {
            chain->piece_begin = piece + PIECE_FRAMES;
            chain->piece_end = piece + piece_bytes;
            return true;
        }
        piece = object_word_at(piece, PIECE_PREVIOUS);
    }
    return false;
}

static bool is_frame(struct frame_chain *chain, uint64_t frame)
{
    return (frame & 7) == 0 && frame != 0 &&
           (is_in_data_stack(chain, frame) || object_can_read(&chain->page, frame, chain->layout->frame_bytes));
}

static bool is_entry(const struct cpython_layout *layout, uint64_t frame)
{
    return layout->entry_mark == CPYTHON_IS_ENTRY ? object_byte_at(frame, layout->frame_is_entry) == 1
                                                  : object_byte_at(frame, layout->frame_owner) == OWNER_C_STACK;
}

/* Does the innermost run lead to the frame that the next C function's block names? */
static bool leads_to(struct frame_chain *chain, uint64_t frame, uint64_t expected)
{
    for (int i = 0; i < FRAME_CHAIN_MAX && is_frame(chain, frame); i++) {
        uint64_t previous = object_word_at(frame, chain->layout->frame_previous);
        if (is_entry(chain->layout, frame)) {
            return previous == expected;
        }
        frame = previous;
    }
    return false;
}

static uint64_t innermost(struct frame_chain *chain, bool interrupted)
{
    const struct cpython_layout *layout = chain->layout;
    uint64_t at = object_word_at(chain->thread, layout->thread_frame);
    if (layout->chain != CPYTHON_CFRAMES) {
        return at;
    }
    const size_t bytes = (size_t)layout->cframe_previous + 8;
    struct object_page page = {0};
    if (!object_can_read(&page, at, bytes)) {
        return 0;
    }
    uint64_t frame = object_word_at(at, layout->cframe_current), outer = object_word_at(at, layout->cframe_previous);
    if (!interrupted || outer == 0) { /* the thread's own block, in its state, has none outside of it */
        return frame;
    }
    if (!object_can_read(&page, outer, bytes)) {
        return 0;
    }
    uint64_t expected = object_word_at(outer, layout->cframe_current);
    return frame == expected || leads_to(chain, frame, expected) ? frame : expected;
}

void frame_chain_begin(struct frame_chain *chain, const struct cpython_layout *layout, uint64_t code_type,
                       uint64_t thread, bool interrupted)
{
    *chain = (struct frame_chain){.layout = layout, .code_type = code_type, .thread = thread, .left = FRAME_CHAIN_MAX};
    chain->frame = innermost(chain, interrupted);
}

/* Bytes from the first instruction; false: no tracebacks show the frame, it has not begun. */
static bool find_instruction(const struct cpython_layout *layout, uint64_t frame, uint64_t code, int64_t *offset_out)
{
    if (layout->code_instructions == 0) {
        int32_t index = (int32_t)object_half_at(frame, layout->frame_instruction);
        *offset_out = (int64_t)index * layout->unit_bytes;
        return true;
    }
    int64_t offset = (int64_t)(object_word_at(frame, layout->frame_instruction) - (code + layout->code_instructions));
    int64_t first = 2 * (int64_t)(int32_t)object_half_at(code, layout->code_first_traceable);
    *offset_out = offset;
    return offset >= first || object_byte_at(frame, layout->frame_owner) == OWNER_GENERATOR;
}

static bool is_code(struct frame_chain *chain, uint64_t code)
{
    return object_can_read(&chain->code_page, code, chain->layout->code_bytes) &&
           object_word_at(code, OBJECT_TYPE) == chain->code_type;
}

/* Look at the frame that is next, which is one and no shim: false: its code is none. */
static bool look(struct frame_chain *chain, bool *is_shown_out)
{
    const struct cpython_layout *layout = chain->layout;
    chain->seen_code = object_word_at(chain->frame, layout->frame_code);
    if (!is_code(chain, chain->seen_code)) {
        return false;
    }
    *is_shown_out = find_instruction(layout, chain->frame, chain->seen_code, &chain->seen_instruction);
    return true;
}

static bool is_of_generator(const struct cpython_layout *layout, uint64_t frame)
{
    return layout->frame_generator != 0 ? object_word_at(frame, layout->frame_generator) != 0
                                        : object_byte_at(frame, layout->frame_owner) == OWNER_GENERATOR;
}

bool frame_chain_look_at(const struct cpython_layout *layout, uint64_t code_type, uint64_t frame,
                         struct chain_frame *frame_out)
{
    struct frame_chain alone = {.layout = layout, .code_type = code_type, .frame = frame};
    bool is_shown;
    if (!object_can_read(&alone.page, frame, layout->frame_bytes) || !look(&alone, &is_shown)) {
        return false;
    }
    *frame_out = (struct chain_frame){
        .code = alone.seen_code, .instruction = alone.seen_instruction, .is_generator = true, .address = frame};
    return true;
}

/* A border is known when the next frame is looked at: so each is handed out as the one outside of it has been. */
bool frame_chain_next(struct frame_chain *chain, struct chain_frame *frame_out)
{
    const struct cpython_layout *layout = chain->layout;
    bool has_frame = false;
    while (chain->left > 0 && (chain->is_seen || is_frame(chain, chain->frame))) {
        uint64_t frame = chain->frame;
        bool is_shim = !chain->is_seen && layout->entry_mark == CPYTHON_SHIM && is_entry(layout, frame);
        bool is_shown = chain->is_seen;
        if (!is_shim && !chain->is_seen && !look(chain, &is_shown)) {
            chain->frame = 0;
            break;
        }
        if (is_shown && has_frame) {
            chain->is_seen = true; /* handed out the next time */
            return true;
        }
        chain->is_seen = false;
        chain->left--;
        chain->frame = object_word_at(frame, layout->frame_previous);
        if (is_shown) {
            *frame_out = (struct chain_frame){.code = chain->seen_code,
                                              .instruction = chain->seen_instruction,
                                              .is_generator = is_of_generator(layout, frame),
                                              .address = frame};
            has_frame = true;
        }
        bool ends_entry = layout->entry_mark == CPYTHON_EACH_IS_ENTRY || is_shim ||
                          (layout->entry_mark == CPYTHON_IS_ENTRY && is_entry(layout, frame));
        if (ends_entry && has_frame) {
            frame_out->is_border = true;
            return true;
        }
    }
    return has_frame;
}
