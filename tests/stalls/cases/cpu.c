/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.c - computing, in all the forms that it has in programs. */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "stall.h"

#define LASTS_NS (stall_ms * INT64_C(1000000))

/* ---- one deep recursion ---- */

static STALL_FUNCTION uint64_t fold_tree(unsigned depth, uint64_t seed)
{
    if (depth == 0) {
        return seed * 31 + 7;
    }
    return fold_tree(depth - 1, seed) + 3 * fold_tree(depth - 1, seed + 1);
}

static STALL_FUNCTION void evaluate_tree(int n)
{
    for (int64_t until_ns = stall_now_ns() + LASTS_NS; stall_now_ns() < until_ns;) {
        stall_sink += fold_tree(18, (uint64_t)n);
    }
}

/* ---- one slow function ---- */

static STALL_FUNCTION void render_report(int n)
{
    static double cells[4096];
    for (int64_t until_ns = stall_now_ns() + LASTS_NS; stall_now_ns() < until_ns;) {
        for (int i = 1; i < 4096; i++) {
            cells[i] = cells[i] * 0.5 + cells[i - 1] * 0.25 + n;
        }
    }
    stall_sink += (uint64_t)cells[9];
}

static STALL_FUNCTION void open_report(int n)
{
    render_report(n);
    STALL_STAY();
}

/* ---- backtracking, as a bad regular expression does ---- */

static STALL_FUNCTION bool match_here(const char *pattern, const char *text);

static STALL_FUNCTION bool match_star(char c, const char *pattern, const char *text)
{
    do {
        if (match_here(pattern, text)) {
            return true;
        }
    } while (*text != 0 && *text++ == c);
    return false;
}

static bool match_here(const char *pattern, const char *text)
{
    if (pattern[0] == 0) {
        return *text == 0;
    }
    if (pattern[1] == '*') {
        return match_star(pattern[0], pattern + 2, text);
    }
    return *text != 0 && *text == pattern[0] && match_here(pattern + 1, text + 1);
}

static STALL_FUNCTION void filter_rows(int n)
{
    for (int64_t until_ns = stall_now_ns() + LASTS_NS; stall_now_ns() < until_ns;) {
        stall_sink += (uint64_t)match_here("a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaa") + (uint64_t)n;
    }
}

/* ---- one cheap function, called a hundred million times ---- */

static STALL_FUNCTION uint64_t hash_key(uint64_t key)
{
    for (int i = 0; i < 24; i++) {
        key ^= key >> 29;
        key *= UINT64_C(0xbf58476d1ce4e5b9);
    }
    return key;
}

static STALL_FUNCTION void index_rows(int n)
{
    uint64_t sum = 0, buckets[64] = {0};
    for (int64_t until_ns = stall_now_ns() + LASTS_NS; stall_now_ns() < until_ns;) {
        for (uint64_t i = 0; i < 20000; i++) {
            uint64_t h = hash_key(i + (uint64_t)n);
            for (unsigned k = 0; k < 6; k++) {
                buckets[(h >> k) & 63] += h ^ sum;
            }
            sum += buckets[h & 63];
        }
    }
    stall_sink += sum;
}

/* ---- spinning until another thread is ready ---- */

static atomic_int is_ready;

static void *warm_up(void *unused)
{
    stall_pause_ms(stall_ms);
    atomic_store(&is_ready, 1);
    return unused;
}

static STALL_FUNCTION void await_ready(int n)
{
    stall_thread("warm-up", warm_up, NULL, NULL);
    while (atomic_load_explicit(&is_ready, memory_order_acquire) == 0) {
        stall_sink += (uint64_t)n;
    }
}

static STALL_FUNCTION void yield_until_ready(int n)
{
    stall_thread("warm-up", warm_up, NULL, NULL);
    while (atomic_load_explicit(&is_ready, memory_order_acquire) == 0) {
        sched_yield();
        stall_sink += (uint64_t)n;
    }
}

/* ---- the time is spent inside libc, called by this ---- */

static STALL_FUNCTION void join_lines(int n)
{
    enum {
        ROOM = 1 << 20
    };
    char *text = calloc(1, ROOM);
    for (int64_t until_ns = stall_now_ns() + LASTS_NS; text != NULL && stall_now_ns() < until_ns;) {
        text[0] = 0;
        for (int i = 0; i < 300; i++) {
            memset(text + strlen(text), 'a' + n % 20, 100);
            stall_sink += strlen(text);
        }
        memset(text, 0, ROOM);
    }
    free(text);
}

static STALL_FUNCTION int compare_orders(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static STALL_FUNCTION void sort_orders(int n)
{
    enum {
        COUNT = 20000
    };
    static uint32_t orders[COUNT];
    uint32_t seed = (uint32_t)n;
    for (int64_t until_ns = stall_now_ns() + LASTS_NS; stall_now_ns() < until_ns;) {
        for (int i = 0; i < COUNT; i++) {
            seed = seed * 1664525 + 1013904223;
            orders[i] = seed;
        }
        qsort(orders, COUNT, sizeof orders[0], compare_orders);
    }
    stall_sink += orders[5];
}

/* ---- spread over several callees: their caller is what a person would look at ---- */

#define PASS(name, factor)                              \
    static STALL_FUNCTION uint64_t name(uint64_t value) \
    {                                                   \
        for (int i = 0; i < 400000; i++) {              \
            value = value * (factor) + (value >> 7);    \
        }                                               \
        return value;                                   \
    }
PASS(pass_blur, 3)
PASS(pass_edge, 5)
PASS(pass_tone, 9) /* one instruction, like 3 and 5; 7 would take three, and this pass half of the time */

static STALL_FUNCTION void apply_filters(int n)
{
    uint64_t value = (uint64_t)n;
    for (int64_t until_ns = stall_now_ns() + LASTS_NS; stall_now_ns() < until_ns;) {
        value = pass_blur(value) + pass_edge(value) + pass_tone(value);
    }
    stall_sink += value;
}

/* ---- a loop that asks what time it is in each turn: it is to blame, not who tells the time ---- */

static STALL_FUNCTION int64_t monotonic_ms(void)
{
    return stall_now_ns() / 1000000;
}

static STALL_FUNCTION void settle_motor(int n)
{
    for (int64_t until_ms = monotonic_ms() + LASTS_NS / 1000000; monotonic_ms() < until_ms;) {
        stall_sink += (uint64_t)n;
    }
}

/* ---- one long loop over a function that the compiler puts into it: nothing is called again and again ---- */

static inline __attribute__((always_inline)) uint64_t stir(uint64_t state, uint64_t word)
{
    for (int i = 0; i < 24; i++) {
        state ^= word + (uint64_t)i;
        state *= UINT64_C(0x9e3779b97f4a7c15);
        state ^= state >> 31;
    }
    return state;
}

static STALL_FUNCTION void digest_archive(int n)
{
    uint64_t state = (uint64_t)n;
    for (int64_t until_ns = stall_now_ns() + LASTS_NS; stall_now_ns() < until_ns;) {
        for (uint64_t i = 0; i < 20000; i++) {
            state = stir(state, i);
            for (int k = 0; k < 10; k++) {
                state += state << (k & 7);
                state ^= i;
            }
        }
    }
    stall_sink += state;
}

const struct stall stalls_cpu[] = {
    {.name = "cpu_recursion", .message = evaluate_tree},     {.name = "cpu_slow_function", .message = open_report},
    {.name = "cpu_backtracking", .message = filter_rows},    {.name = "cpu_cheap_calls", .message = index_rows},
    {.name = "cpu_spin_flag", .message = await_ready},       {.name = "cpu_spin_yield", .message = yield_until_ready},
    {.name = "cpu_inside_libc", .message = join_lines},      {.name = "cpu_callback", .message = sort_orders},
    {.name = "cpu_spread", .message = apply_filters},        {.name = "cpu_clock_loop", .message = settle_motor},
    {.name = "cpu_inlined_loop", .message = digest_archive}, {.name = NULL},
};
