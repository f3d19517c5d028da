/* SPDX-License-Identifier: Apache-2.0 */
/* run.pml - the seqlock around a run of equal samples (capture/recording/sample_run.h), its writer dying anywhere.
 *
 * The writer stores `sequence` odd, two fields, `sequence` even. Stores wait in a place of their own and arrive in any
 * order but for what the fence and the release hold back (aarch64 allows that much, x86-64 less). A reader's loads are in
 * order at both ends of its look (acquire, acquire fence), the two fields come in either order. The writer may die at
 * any point, what it stored so far arriving or not as if it had been stopped there; then the watch thread reads the run
 * (sbx_run_tell()) and begins another one in its place (sbx_run_begin()).
 *
 * Holds: E1 a reader accepts only fields of one and the same store; E2 so does who stands in for the dead writer.
 * Broken on purpose, each must fail: NO_FENCE (the release fence behind the odd number), NO_RELEASE (the even number),
 * ONE_LOOK (the reader's second), PLUS_ONE (open adds 1 to whatever is there), BLIND_TELL (odd numbers are told). */

#define STORES 2
#define NONE 255

byte sequence = 0, first = 0, second = 0;
byte late_odd = NONE, late_first = NONE, late_second = NONE, late_even = NONE;
bool is_dead = false, is_done = false;

#ifdef NO_FENCE
#define ODD_IS_OUT true
#else
#define ODD_IS_OUT (late_odd == NONE)
#endif
#ifdef NO_RELEASE
#define FIELDS_ARE_OUT true
#else
#define FIELDS_ARE_OUT (late_first == NONE && late_second == NONE)
#endif

/* The store buffer of whoever writes: one writer at a time. */
active proctype buffer() {
end:
    do
    :: atomic { late_odd != NONE -> sequence = late_odd; late_odd = NONE }
    :: atomic { late_first != NONE && ODD_IS_OUT -> first = late_first; late_first = NONE }
    :: atomic { late_second != NONE && ODD_IS_OUT -> second = late_second; late_second = NONE }
    :: atomic { late_even != NONE && late_odd == NONE && FIELDS_ARE_OUT -> sequence = late_even; late_even = NONE }
    od
}

#define ALL_OUT (late_odd == NONE && late_first == NONE && late_second == NONE && late_even == NONE)

inline open(now) {
#ifdef PLUS_ONE
    atomic { now = now + 1; late_odd = now }
#else
    atomic { now = (now + 1) | 1; late_odd = now }
#endif
}

/* A thread sees its own stores: `now` is what it would load. It goes on before they have arrived; only the next odd number
 * waits for the even one before it, which stores to one word keep apart anyway. */
active proctype writing() {
    byte now = 0, value = 0;
    do
    :: value == STORES -> break
    :: is_dead = true; goto died
    :: value < STORES ->
        value++;
        (late_even == NONE && late_odd == NONE);
        open(now);
        if
        :: is_dead = true; goto died
        :: (late_first == NONE); late_first = value
        fi;
        if
        :: is_dead = true; goto died
        :: (late_second == NONE); late_second = value
        fi;
        if
        :: is_dead = true; goto died
        :: (late_even == NONE); atomic { now++; late_even = now }
        fi
    od;
    is_done = true;
died:
    skip
}

/* The watch thread, once the kernel says that the thread is gone: its stores have arrived by then. */
active proctype standing_in() {
    byte now = 0;
    if
    :: (is_done)
    :: atomic { is_dead && ALL_OUT -> now = sequence };
        if
#ifdef BLIND_TELL
        :: true ->
#else
        :: now % 2 == 0 ->
#endif
            assert(first == second) /* E2 */
        :: else
        fi;
        open(now);
        late_first = 77;
        late_second = 77;
        atomic { now++; late_even = now }
    fi
}

active [2] proctype reading() {
    byte before = 0, a = 0, b = 0;
    before = sequence;
    if
    :: a = first; b = second
    :: b = second; a = first
    fi;
    if
#ifdef ONE_LOOK
    :: before % 2 == 0 ->
#else
    :: before % 2 == 0 && sequence == before ->
#endif
        assert(a == b) /* E1 */
    :: else
    fi
}
