/* SPDX-License-Identifier: Apache-2.0 */
/* comparison.c - compares two walks frame by frame, without side effects. */
#include "comparison.h"

static uint32_t whole_count(const struct walked_stack *stack)
{
    return stack->count + stack->gap_frames;
}

/* Find frame number `frame` of a walk, where the frames in the gap count too. False when the frame is in the gap, or
 * the walk does not have it. */
static bool find_frame(const struct walked_stack *stack, uint32_t frame, uint32_t *index_out)
{
    if (stack->gap_frames != 0 && frame >= stack->gap_at) {
        if (frame < stack->gap_at + stack->gap_frames) {
            return false;
        }
        frame -= stack->gap_frames;
    }
    *index_out = frame;
    return frame < stack->count;
}

/* After a frame that was guessed by its frame pointer, libunwind reports its own byte count and not the frame's
 * position. */
static bool is_same_frame(const struct walked_stack *ours, uint32_t at, const struct walked_stack *theirs, uint32_t to)
{
    return ours->pc[at] == theirs->pc[to] && (ours->guessed[at] || ours->sp[at] == theirs->sp[to]) &&
           (!ours->has_fp[at] || !theirs->has_fp[to] || ours->fp[at] == theirs->fp[to]);
}

struct difference compare_stacks(const struct walked_stack *ours, const struct walked_stack *theirs)
{
    uint32_t count = whole_count(ours) < whole_count(theirs) ? whole_count(ours) : whole_count(theirs);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at, to;
        if (find_frame(ours, i, &at) && find_frame(theirs, i, &to) && !is_same_frame(ours, at, theirs, to)) {
            return (struct difference){OUTCOME_OTHER_FRAME, i};
        }
    }
    if (whole_count(ours) < whole_count(theirs)) {
        return (struct difference){OUTCOME_OURS_SHORTER, count};
    }
    if (whole_count(ours) > whole_count(theirs)) {
        return (struct difference){OUTCOME_OURS_LONGER, count};
    }
    bool ours_is_whole = ours->end == SBX_WALK_COMPLETE;
    bool theirs_is_whole = theirs->end == 0;
    if (ours_is_whole != theirs_is_whole) {
        return (struct difference){OUTCOME_OTHER_END, count};
    }
    return (struct difference){ours_is_whole ? OUTCOME_EQUAL : OUTCOME_BOTH_STOPPED, count};
}

char third_opinion(const struct walked_stack *ours, const struct walked_stack *theirs, const struct walked_stack *third,
                   uint32_t frame)
{
    uint32_t at = 0;
    bool ours_has = find_frame(ours, frame, &at);
    bool theirs_has = frame < theirs->count;
    bool third_has = frame < third->count;
    if (third_has == ours_has && (!third_has || third->pc[frame] == ours->pc[at])) {
        return theirs_has == ours_has && (!theirs_has || theirs->pc[frame] == ours->pc[at]) ? 'b' : 'o';
    }
    if (third_has == theirs_has && (!third_has || third->pc[frame] == theirs->pc[frame])) {
        return 'p';
    }
    return 'n';
}

const char *outcome_name(enum outcome outcome)
{
    static const char *const names[OUTCOME_COUNT] = {
        [OUTCOME_EQUAL] = "equal",
        [OUTCOME_BOTH_STOPPED] = "both stopped",
        [OUTCOME_OURS_SHORTER] = "ours stopped",
        [OUTCOME_OURS_LONGER] = "libunwind stopped",
        [OUTCOME_OTHER_FRAME] = "other frame",
        [OUTCOME_OTHER_END] = "other end",
    };
    return names[outcome];
}
