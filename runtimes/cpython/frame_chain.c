/* SPDX-License-Identifier: Apache-2.0 */
/* frame_chain.c - follows the frames from a thread's state outwards. */
#include "frame_chain.h"

#include "cpython_layout_rows.h"

#define PER_VERSION static inline __attribute__((always_inline))

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

/* Find the chunk of the thread's data stack that contains the frame. */
static __attribute__((noinline)) bool find_piece(struct frame_chain *chain, uint64_t frame)
{
    const uint64_t bytes = chain->layout->frame_bytes;
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

/* Is there a frame at this address? The thread's data stack stays mapped as long as the thread runs. */
PER_VERSION bool is_frame(struct frame_chain *chain, const struct cpython_layout *layout, uint64_t frame)
{
    const uint64_t bytes = layout->frame_bytes;
    return (frame & 7) == 0 && frame != 0 &&
           ((frame >= chain->piece_begin && frame + bytes <= chain->piece_end) ||
            (layout->thread_chunk != 0 && find_piece(chain, frame)) || object_can_read_of(&chain->pages, frame, bytes));
}

PER_VERSION bool is_entry(const struct cpython_layout *layout, uint64_t frame)
{
    return layout->entry_mark == CPYTHON_IS_ENTRY ? object_byte_at(frame, layout->frame_is_entry) == 1
                                                  : object_byte_at(frame, layout->frame_owner) == OWNER_C_STACK;
}

/* A chain ends at a frame to which a later frame leads back. A half-written chain may be a ring, and each step may ask
 * the kernel. The mark is set again at each power of two steps. So a ring is detected within twice its length, after
 * the frames before it. */
PER_VERSION uint64_t mark_of(uint32_t steps, uint64_t frame, uint64_t mark)
{
    return (steps & (steps - 1)) == 0 ? frame : mark;
}

/* Does the innermost run of frames lead to the frame that the next C function's block names? */
static bool leads_to(struct frame_chain *chain, uint64_t frame, uint64_t expected)
{
    uint64_t mark = 0;
    for (uint32_t i = 0; i < FRAME_CHAIN_MAX && frame != mark && is_frame(chain, chain->layout, frame); i++) {
        mark = mark_of(i, frame, mark);
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
    if (!interrupted || outer == 0) { /* the thread's own block, inside its state, has no outer block */
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
    chain->layout = layout; /* `ahead` needs no initial value: it is written before it is read */
    chain->code_type = code_type;
    chain->thread = thread;
    chain->piece_begin = chain->piece_end = 0;
    chain->pages = chain->code_pages = (struct object_pages){.known = {0}};
    chain->left = FRAME_CHAIN_MAX;
    chain->mark = 0;
    chain->at = chain->count = 0;
    chain->is_held = false;
    chain->frame = innermost(chain, interrupted);
}

/* Gets the bytes from the first instruction. Returns false if tracebacks do not show the frame, because it has not
 * begun. */
PER_VERSION bool find_instruction(const struct cpython_layout *layout, uint64_t frame, uint64_t code,
                                  int64_t *offset_out)
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

PER_VERSION bool is_code(struct frame_chain *chain, const struct cpython_layout *layout, uint64_t code)
{
    return object_can_read_of(&chain->code_pages, code, layout->code_bytes) &&
           object_word_at(code, OBJECT_TYPE) == chain->code_type;
}

PER_VERSION bool is_of_generator(const struct cpython_layout *layout, uint64_t frame)
{
    return layout->frame_generator != 0 ? object_word_at(frame, layout->frame_generator) != 0
                                        : object_byte_at(frame, layout->frame_owner) == OWNER_GENERATOR;
}

/* Reads the frame at `frame`, which is a frame and no shim. Returns false if its code is no code object. *is_shown_out:
 * tracebacks show the frame. */
PER_VERSION bool look(struct frame_chain *chain, const struct cpython_layout *layout, uint64_t frame,
                      struct chain_frame *frame_out, bool *is_shown_out)
{
    uint64_t code = object_word_at(frame, layout->frame_code);
    if (!is_code(chain, layout, code)) {
        return false;
    }
    *is_shown_out = find_instruction(layout, frame, code, &frame_out->instruction);
    frame_out->code = code;
    frame_out->address = frame;
    frame_out->is_border = false;
    frame_out->is_generator = is_of_generator(layout, frame);
    return true;
}

bool frame_chain_look_at(const struct cpython_layout *layout, uint64_t code_type, uint64_t frame,
                         struct chain_frame *frame_out)
{
    struct frame_chain alone = {.layout = layout, .code_type = code_type};
    bool is_shown;
    if (!object_can_read_of(&alone.pages, frame, layout->frame_bytes) ||
        !look(&alone, layout, frame, frame_out, &is_shown)) {
        return false;
    }
    frame_out->is_generator = true;
    return true;
}

/* Reads from the current frame outwards, until FRAMES_AHEAD frames and one more are known, or the chain ends. */
PER_VERSION bool read_ahead(struct frame_chain *chain, const struct cpython_layout *layout)
{
    uint64_t frame = chain->frame, mark = chain->mark;
    uint32_t count = 0;
    if (chain->is_held) {
        chain->ahead[count++] = chain->ahead[FRAMES_AHEAD];
    }
    while (count <= FRAMES_AHEAD && chain->left > 0 && frame != mark && is_frame(chain, layout, frame)) {
        mark = mark_of(FRAME_CHAIN_MAX - chain->left, frame, mark);
        bool ends_entry = layout->entry_mark == CPYTHON_EACH_IS_ENTRY || is_entry(layout, frame);
        bool is_shown = false;
        if (layout->entry_mark == CPYTHON_SHIM && ends_entry) {
            /* a shim stands for the C function that called Python here */
        } else if (!look(chain, layout, frame, &chain->ahead[count], &is_shown)) {
            frame = 0;
            break;
        }
        count += is_shown;
        if (ends_entry && count > 0) {
            chain->ahead[count - 1].is_border = true;
        }
        chain->left--;
        frame = object_word_at(frame, layout->frame_previous);
    }
    chain->is_held = count > FRAMES_AHEAD;
    chain->frame = frame;
    chain->mark = mark;
    chain->count = chain->is_held ? FRAMES_AHEAD : count;
    chain->at = 0;
    return chain->count > 0;
}

bool frame_chain_read(struct frame_chain *chain)
{
    static const struct cpython_layout of_3_9 = CPYTHON_LAYOUT_3_9, of_3_10 = CPYTHON_LAYOUT_3_10,
                                       of_3_11 = CPYTHON_LAYOUT_3_11, of_3_12 = CPYTHON_LAYOUT_3_12,
                                       of_3_13 = CPYTHON_LAYOUT_3_13;
    switch (chain->layout->minor) {
    case 9:
        return read_ahead(chain, &of_3_9);
    case 10:
        return read_ahead(chain, &of_3_10);
    case 11:
        return read_ahead(chain, &of_3_11);
    case 12:
        return read_ahead(chain, &of_3_12);
    case 13:
        return read_ahead(chain, &of_3_13);
    default:
        return false; /* cpython_layout_of() knows no other version */
    }
}
