/* SPDX-License-Identifier: Apache-2.0 */
/* chunk.pml - the life of one chunk: two owners, the watch thread that takes it back, a snapshot that copies it.
 *
 * Follows capture/recording/ring_writer.c, capture/recording_upkeep.c (O1..O4, W1..W5) and copy_chunk() of
 * agent/snapshot/snapshot_copy.c. The ring has this one chunk, so that every claim is contested.
 *
 * Spin interleaves; it knows no store buffers. Where the argument is about them they are spelled out: what an owner
 * stores without a fence (its `inside`, the bytes, `committed`) waits in a place of its own until deliver() takes it to
 * memory, in any order, but for what a release holds back. Its loads pass its own waiting stores. That is more than
 * x86-64 allows and as much as aarch64 does. A compare-and-swap, a release and a fence deliver what came before them.
 * membarrier(2) delivers everybody's.
 *
 * Holds: E1 a byte arrives in the chunk only while it has the turn of who wrote it: no two owners at a time;
 *        E2 a copy that the reader accepts is of one turn, and `committed` counts nothing that is not there.
 * Broken on purpose, each must fail: NO_MEMBARRIER (W2), NO_LOOK (W3), NO_SECOND_BARRIER (W4), NO_CLAIM_FENCE (A.3),
 * ONE_LOOK (the reader's second), BLIND_CLAIM (an open chunk may be claimed). */

#define CELLS 2   /* records that a chunk holds */
#define RECORDS 2 /* records that an owner makes */
#define NONE 255

mtype = { FREE, OPENING, OPEN, CLOSED, REVOKED };

/* The chunk. A cell holds the turn of who wrote it. */
mtype state = FREE;
byte turn = 0;
byte owner = NONE;
byte committed = 0;
byte cell[CELLS];

byte ticket = 0;
bool inside[2];
bool in_swap = false; /* NO_CLAIM_FENCE: a swap whose own store is late; its line is held meanwhile */

/* What waits in an owner's store buffer; NONE: nothing. Of a record both its bytes and `committed`, whose release lets it
 * out behind the bytes: nobody looks at bytes that are not committed, so that they arrive at once is no loss. */
byte late_inside[2] = NONE;
byte late_count[2] = NONE; /* `committed` with the record below it */
byte late_turn[2];         /* who wrote that record */

inline deliver_record(me) {
    d_step {
        if
        :: late_count[me] != NONE ->
            assert(late_turn[me] == turn); /* E1 */
            if
            :: late_count[me] > 0 -> cell[late_count[me] - 1] = late_turn[me]
            :: else
            fi;
            committed = late_count[me];
            late_count[me] = NONE;
            late_turn[me] = 0
        :: else
        fi
    }
}

inline deliver_inside(me) {
    d_step {
        if
        :: late_inside[me] != NONE -> inside[me] = late_inside[me]; late_inside[me] = NONE
        :: else
        fi
    }
}

inline deliver_all(me) {
    atomic { deliver_record(me); deliver_inside(me) }
}

/* The store buffers of both owners, working on their own. */
active proctype buffers() {
end:
    do
    :: atomic { late_count[0] != NONE -> deliver_record(0) }
    :: atomic { late_count[1] != NONE -> deliver_record(1) }
    :: atomic { late_inside[0] != NONE -> deliver_inside(0) }
    :: atomic { late_inside[1] != NONE -> deliver_inside(1) }
    od
}

inline append(me) { /* a record that is still waiting goes before */
    atomic { deliver_record(me); used++; late_turn[me] = mine; late_count[me] = used }
}

inline close(me) { /* sbx_ring_close(): OPEN or REVOKED of our turn becomes CLOSED. The swap releases. */
    atomic {
        if
        :: mine != 0 ->
            deliver_all(me);
            if
            :: (state == OPEN || state == REVOKED) && turn == mine -> state = CLOSED
            :: else
            fi;
            mine = 0
        :: else
        fi
    }
}

#define IS_MINE (mine != 0 && state == OPEN && turn == mine && used < CELLS)

proctype owning(byte me) {
    byte made = 0, mine = 0, used = 0, next = 0, seen_turn = 0;
    mtype seen_state = FREE;
    bool has_claimed = false;
    do
    :: made == RECORDS -> break
    :: atomic { made < RECORDS -> made++; late_inside[me] = 1 };              /* O1 */
        if
        :: atomic { IS_MINE -> skip };                                        /* O2 */
            append(me)                                                        /* O3 */
        :: atomic { !IS_MINE -> close(me); ticket++; next = ticket };
            atomic { seen_state = state; seen_turn = turn };
            if
            :: atomic { (seen_state == FREE || seen_state == CLOSED
#ifdef BLIND_CLAIM
                || seen_state == OPEN
#endif
                ) && seen_turn < next && state == seen_state && turn == seen_turn && !in_swap ->
                    deliver_all(me);
                    has_claimed = true;
#ifdef NO_CLAIM_FENCE
                    in_swap = true;
                    cell[0] = next /* a later store passes the swap's own */
#else
                    state = OPENING;
                    turn = next
#endif
                };
#ifdef NO_CLAIM_FENCE
                atomic { state = OPENING; turn = next; in_swap = false }
#endif
            :: else /* the swap failed, or there was none */
            fi;
            atomic { seen_state = FREE; seen_turn = 0 };
            if
            :: atomic { has_claimed -> has_claimed = false; mine = next; used = 0; next = 0; owner = me };
                atomic { late_turn[me] = mine; late_count[me] = 0 };
                atomic { deliver_all(me); state = OPEN }; /* release */
                append(me)
            :: atomic { !has_claimed -> next = 0; used = 0 } /* dropped, and counted */
            fi
        fi;
        late_inside[me] = 0                                                   /* O4 */
    od;
    close(me) /* the thread ends */
}

proctype watching() {
    byte opened = 0, whose = 0;
    bool is_out = false;
    do
    :: atomic { state == OPEN -> opened = turn; state = REVOKED; whose = owner }; /* W1 */
#ifndef NO_MEMBARRIER
        deliver_all(0); deliver_all(1);                                       /* W2 */
#endif
#ifdef NO_LOOK
        is_out = true;
#else
        is_out = !inside[whose];                                              /* W3 */
#endif
#ifndef NO_SECOND_BARRIER
        deliver_all(0); deliver_all(1);                                       /* W4 */
#endif
        if
        :: atomic { is_out && state == REVOKED && turn == opened -> state = CLOSED } /* W5 */
        :: else
        fi;
        atomic { is_out = false; opened = 0; whose = 0 }
    :: true -> break
    od
}

proctype copying() {
    byte before = 0, count = 0, got[CELLS];
    byte i = 0;
    atomic {
        if
        :: state == OPEN || state == CLOSED || state == REVOKED -> before = turn
        :: else
        fi
    };
    if
    :: before != 0 ->
        count = committed;
        do
        :: i < count -> got[i] = cell[i]; i++
        :: else -> break
        od;
        if
#ifdef ONE_LOOK
        :: true ->
#else
        :: turn == before ->
#endif
            d_step {
                assert(count < 1 || got[0] == before); /* E2 */
                assert(count < 2 || got[1] == before)
            }
        :: else /* torn, and counted */
        fi
    :: else
    fi
}

init {
    atomic {
        run owning(0);
        run owning(1);
        run watching();
        run copying()
    }
}
