/* SPDX-License-Identifier: Apache-2.0 */
/* epoch.pml - interning while the epoch turns: writers, some left behind, the turn with its sweep, a snapshot.
 *
 * Follows capture/recording/callstack_table.c and agent/snapshot/callstack_reader.c. Each half has two slots, which all
 * words visit in the same order, so that each insertion is contested. A stack is one node on one frame; what is checked is
 * that the frame is the one the stack was made of. A frame's tag has six values here (256 in life), so that it comes
 * round within the search; a node's is whole, as is the epoch of an id: of a node 16 bits, of an id the time, tell the rest.
 *
 * Loads and swaps of one slot are steps of their own: a writer may be stopped in front of its swap for several epochs.
 * Not for half the range of a tag: that is assumed (STANDS_STILL), and callstack_table.c says what it would cost.
 *
 * Holds: E1 a stack that the reader resolves is the one that was recorded;
 *        E2 a stack of the current epoch resolves, when the epoch did not turn during the copy: no silent loss;
 *        E3 equal frames have equal ids in an epoch that can still be read;
 *        E4 a writer gives up at a newer word only when it has been left behind.
 * Broken on purpose, each must fail: NO_TAGS (the reader takes the epoch before the table, and believes any frame),
 * NO_GIVE_UP (a writer overwrites what has another tag than its own), NO_SWEEP. */

#define SLOTS 2
#define M 6       /* a frame's tag is its epoch modulo M; even, so that halves stay halves */
#ifndef TURNS
#define TURNS 4
#endif
#define WRITERS 2
#ifndef ROUNDS
#define ROUNDS 1 /* stacks of each writer; with 2 there are more than 25 million states, too many for a test */
#endif
#define NONE 99
#define GIVEN_UP 98

byte epoch = 1;
/* half * SLOTS + slot. A frame slot: 0 empty, else tag and content. */
byte frame_tag[4], frame[4];  /* content 1 or 2; 0: empty */
byte node_epoch[4], node[4];  /* content: frame slot + 1; 0: empty */

/* The newest record of each writer. */
byte record_epoch[WRITERS], record_node[WRITERS], record_frame[WRITERS];

/* What a writer is in front of: the epoch of a swap it has checked; 0: none. */
byte armed[WRITERS];

byte id_of[2]; /* of content 1 and 2 in epoch id_epoch: slot + 1 */
byte id_epoch[2];

#define AHEAD(tag, mine) (((tag) + M - ((mine) % M)) % M)   /* 0: same; below M / 2: newer; from M / 2: older */

inline intern_frame(w, e, content, out) {
    slot = 0;
    out = NONE;
    do
    :: slot == SLOTS -> break
    :: else ->
        at = (e & 1) * SLOTS + slot;
        atomic { seen = frame[at]; seen_tag = frame_tag[at] };
again_f:
        if
        :: atomic { seen == 0 || (seen_tag != e % M && (AHEAD(seen_tag, e) >= M / 2
#ifdef NO_GIVE_UP
            || true
#endif
            )) ->
            if
#ifdef NO_GIVE_UP
            :: true -> armed[w] = e
#else
            :: epoch - e > 1 -> out = GIVEN_UP
            :: else -> armed[w] = e
#endif
            fi };
            if
            :: out == GIVEN_UP -> break
            :: else ->
                atomic {
                    armed[w] = 0;
                    if
                    :: frame[at] == seen && frame_tag[at] == seen_tag ->
                        frame[at] = content; frame_tag[at] = e % M; out = at
                    :: else -> seen = frame[at]; seen_tag = frame_tag[at]
                    fi
                };
                if
                :: out != NONE -> break
                :: else -> goto again_f
                fi
            fi
        :: else ->
            if
            :: seen_tag == e % M && seen == content -> out = at; break
            :: seen_tag != e % M ->
                assert(epoch != e); /* E4 */
                out = GIVEN_UP; break
            :: else -> slot++
            fi
        fi
    od
}

proctype writing(byte w; byte content) {
    byte e = 0, slot = 0, at = 0, seen = 0, seen_tag = 0, id = 0, rounds = 0;
    do
    :: rounds == ROUNDS -> break
    :: else ->
        rounds++;
        e = epoch;
        intern_frame(w, e, content, id);
        if
        :: id < NONE - 1 ->
            atomic { /* E3 */
                if
                :: epoch - e <= 1 && id_epoch[content - 1] == e -> assert(id_of[content - 1] == id + 1)
                :: epoch - e <= 1 && id_epoch[content - 1] < e -> id_epoch[content - 1] = e; id_of[content - 1] = id + 1
                :: else
                fi
            };
            /* The node. Its tag does not come round; otherwise as above. */
            slot = 0;
            seen = NONE;
            do
            :: slot == SLOTS -> break
            :: else ->
                at = (e & 1) * SLOTS + slot;
                atomic {
                    if
                    :: node[at] != 0 && node_epoch[at] == e && node[at] == id + 1 -> seen = at
                    :: node[at] != 0 && node_epoch[at] == e && node[at] != id + 1 -> slot++
                    :: node[at] != 0 && node_epoch[at] > e -> assert(epoch != e); seen = GIVEN_UP
                    :: (node[at] == 0 || node_epoch[at] < e) && epoch - e > 1 -> seen = GIVEN_UP
                    :: (node[at] == 0 || node_epoch[at] < e) && epoch - e <= 1 -> node[at] = id + 1; node_epoch[at] = e; seen = at
                    fi
                };
                if
                :: seen != NONE -> break
                :: else
                fi
            od;
            if
            :: seen < GIVEN_UP ->
                atomic { record_epoch[w] = e; record_node[w] = seen; record_frame[w] = content }
            :: else
            fi
        :: else
        fi;
        atomic { e = 0; slot = 0; at = 0; seen = 0; seen_tag = 0; id = 0 }
    od
}

#define STANDS_STILL(w) (armed[w] != 0 && epoch + 1 - armed[w] >= M / 2)

proctype turning() {
    byte i = 0, at = 0;
    do
    :: epoch == 1 + TURNS -> break
    :: epoch < 1 + TURNS && !STANDS_STILL(0) && !STANDS_STILL(1) ->
#ifndef NO_SWEEP
        i = 0;
        do
        :: i == SLOTS -> break
        :: else ->
            at = ((epoch + 1) & 1) * SLOTS + i;
            atomic {
                if
                :: frame[at] != 0 && frame_tag[at] != (epoch + M - 1) % M -> frame[at] = 0; frame_tag[at] = 0
                :: else
                fi;
                if
                :: node[at] != 0 && node_epoch[at] != epoch - 1 -> node[at] = 0; node_epoch[at] = 0
                :: else
                fi
            };
            i++
        od;
#endif
        atomic { !STANDS_STILL(0) && !STANDS_STILL(1) -> epoch++; i = 0; at = 0 }
    od
}

proctype copying() {
    byte began = 0, e[WRITERS], n[WRITERS], f[WRITERS];
    byte nodes[4], node_epochs[4], frames[4], frame_tags[4];
    byte i = 0, now = 0, w = 0;
    bool is_whole = false;
    d_step { /* the records; one step, for each is whole or torn by itself */
        began = epoch;
        w = 0;
        do
        :: w == WRITERS -> break
        :: else -> e[w] = record_epoch[w]; n[w] = record_node[w]; f[w] = record_frame[w]; w++
        od
    };
    i = 0;
    do
    :: i == 2 -> break
    :: else -> d_step { nodes[i * 2] = node[i * 2]; node_epochs[i * 2] = node_epoch[i * 2];
                        nodes[i * 2 + 1] = node[i * 2 + 1]; node_epochs[i * 2 + 1] = node_epoch[i * 2 + 1]; i++ }
    od;
    i = 0;
    do
    :: i == 2 -> break
    :: else -> d_step { frames[i * 2] = frame[i * 2]; frame_tags[i * 2] = frame_tag[i * 2];
                        frames[i * 2 + 1] = frame[i * 2 + 1]; frame_tags[i * 2 + 1] = frame_tag[i * 2 + 1]; i++ }
    od;
#ifdef NO_TAGS
    now = began;
#else
    now = epoch;
#endif
    d_step {
        w = 0;
        do
        :: w == WRITERS -> break
        :: else ->
            is_whole = e[w] != 0 && (e[w] == now || e[w] + 1 == now) && nodes[n[w]] != 0 && node_epochs[n[w]] == e[w];
#ifndef NO_TAGS
            is_whole = is_whole && frames[nodes[n[w]] - 1] != 0 && frame_tags[nodes[n[w]] - 1] == e[w] % M;
#endif
            assert(!is_whole || frames[nodes[n[w]] - 1] == f[w]);             /* E1 */
            assert(is_whole || e[w] == 0 || e[w] != now || began != now);     /* E2 */
            w++
        od
    }
}

init {
    atomic {
        run writing(0, 1);
        run writing(1, 2);
        run turning();
        run copying()
    }
}
