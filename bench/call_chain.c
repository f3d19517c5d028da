/* SPDX-License-Identifier: Apache-2.0 */
/* call_chain.c - the functions whose frames are walked. No function is inlined, and no call is a tail call. */
#include "call_chain.h"

#include <alloca.h>

typedef uint64_t link_function(int depth, uint64_t x, uint64_t y, bench_leaf_function *leaf);

/* In a real stack, most frames are of different functions. So there are 64 functions: eight rows with eight frame
 * sizes. */
#define ROW(X, row, a, b, c, d, e, f, g) \
    X(row##0, a) X(row##1, b) X(row##2, c) X(row##3, d) X(row##4, e) X(row##5, f) X(row##6, g)
/* clang-format off */
#define LINKS(X)                                \
    ROW(X, 1, 8, 24, 40, 72, 104, 16, 200)      \
    ROW(X, 2, 56, 8, 136, 24, 312, 40, 88)      \
    ROW(X, 3, 16, 64, 8, 120, 32, 48, 8)        \
    ROW(X, 4, 24, 96, 16, 8, 160, 40, 24)       \
    ROW(X, 5, 72, 8, 56, 32, 16, 248, 8)        \
    ROW(X, 6, 40, 24, 88, 8, 112, 16, 64)       \
    ROW(X, 7, 8, 48, 24, 184, 32, 8, 56)        \
    ROW(X, 8, 16, 80, 8, 40, 24, 128, 32)
/* clang-format on */
#define ON_FRAME_POINTER(X) X(17) X(27) X(37) X(47) X(57) X(67) X(77) X(87)

#define DECLARE_SIZED(number, bytes) static link_function link_##number;
#define DECLARE(number)              static link_function link_##number;
LINKS(DECLARE_SIZED)
ON_FRAME_POINTER(DECLARE)

#define NAME_ROW(row) \
    link_##row##0, link_##row##1, link_##row##2, link_##row##3, link_##row##4, link_##row##5, link_##row##6
static link_function *const links[] = {
    NAME_ROW(1), link_17, NAME_ROW(2), link_27, NAME_ROW(3), link_37, NAME_ROW(4), link_47,
    NAME_ROW(5), link_57, NAME_ROW(6), link_67, NAME_ROW(7), link_77, NAME_ROW(8), link_87,
};
enum {
    LINK_COUNT = sizeof links / sizeof links[0]
};

/* Some values are used after the call, so that callee-saved registers are pushed, in some functions also rbp. */
#define BODY(number, memory, bytes)                                                       \
    (memory)[depth % (bytes)] = (char)x;                                                  \
    uint64_t a = x * 3 + y, b = y * 5 + (uint64_t)depth, c = a ^ b, below;                \
    if (depth <= 0) {                                                                     \
        below = leaf();                                                                   \
    } else {                                                                              \
        below = links[depth % LINK_COUNT](depth - 1, a, (number) % 3 == 0 ? b : y, leaf); \
    }                                                                                     \
    return below + ((number) % 4 == 0 ? 0 : a * b + ((number) % 4 == 1 ? 0 : c)) + (uint64_t)(memory)[1];

#define DEFINE_LINK(number, bytes)                                                             \
    __attribute__((noinline)) static uint64_t link_##number(int depth, uint64_t x, uint64_t y, \
                                                            bench_leaf_function *leaf)         \
    {                                                                                          \
        volatile char memory[bytes];                                                           \
        BODY(number, memory, bytes)                                                            \
    }
LINKS(DEFINE_LINK)

/* A function whose frame size is known only at run time addresses its frame through the frame pointer. In half of these
 * functions the compiler does not know the size. The others have room for a constant, and use the stack pointer like
 * all other functions. So some six functions in a hundred use a frame pointer. */
#define DEFINE_ON_FRAME_POINTER(number)                                                        \
    __attribute__((noinline)) static uint64_t link_##number(int depth, uint64_t x, uint64_t y, \
                                                            bench_leaf_function *leaf)         \
    {                                                                                          \
        int bytes = (number) / 10 % 2 == 0 ? 32 + depth % 32 : 64;                             \
        volatile char *memory = alloca((unsigned)bytes);                                       \
        BODY(number, memory, bytes)                                                            \
    }
ON_FRAME_POINTER(DEFINE_ON_FRAME_POINTER)

uint64_t bench_call_deep(int depth, bench_leaf_function *leaf)
{
    return links[0](depth, (uint64_t)depth, 7, leaf) + 1;
}

/* ---- varying innermost frames: four sets of functions, with one call site each ---- */

#define END(which, bytes)                                                                \
    __attribute__((noinline)) static uint64_t end_##which##_1(bench_leaf_function *leaf) \
    {                                                                                    \
        volatile char memory[bytes];                                                     \
        memory[1] = 1;                                                                   \
        return leaf() + (uint64_t)memory[1];                                             \
    }                                                                                    \
    __attribute__((noinline)) static uint64_t end_##which##_2(bench_leaf_function *leaf) \
    {                                                                                    \
        volatile char memory[(bytes) + 16];                                              \
        memory[2] = 2;                                                                   \
        return end_##which##_1(leaf) + (uint64_t)memory[2];                              \
    }                                                                                    \
    __attribute__((noinline)) static uint64_t end_##which##_3(bench_leaf_function *leaf) \
    {                                                                                    \
        volatile char memory[(bytes) + 40];                                              \
        memory[3] = 3;                                                                   \
        return end_##which##_2(leaf) + (uint64_t)memory[3];                              \
    }                                                                                    \
    __attribute__((noinline)) static uint64_t end_##which##_4(bench_leaf_function *leaf) \
    {                                                                                    \
        volatile char memory[(bytes) + 8];                                               \
        memory[4] = 4;                                                                   \
        return end_##which##_3(leaf) + (uint64_t)memory[4];                              \
    }
END(0, 24)
END(1, 56)
END(2, 8)
END(3, 104)

#define END_CASE(which, function) \
    case which:                   \
        return end_##which##_##function(leaf) + (which);
#define END_CASES(function)                \
    switch (which) {                       \
        END_CASE(0, function)              \
        END_CASE(1, function)              \
        END_CASE(2, function)              \
    default:                               \
        return end_3_##function(leaf) + 3; \
    }

__attribute__((noinline)) uint64_t bench_call_end_3(unsigned which, bench_leaf_function *leaf)
{
    END_CASES(2)
}

__attribute__((noinline)) uint64_t bench_call_end_5(unsigned which, bench_leaf_function *leaf)
{
    END_CASES(4)
}
