/* SPDX-License-Identifier: Apache-2.0 */
/* stack_maze.h - random stacks of every shape that compilers, libc's callbacks and signals make. */
#ifndef SBX_TEST_STACK_MAZE_H
#define SBX_TEST_STACK_MAZE_H

#include <stdint.h>

struct stack_maze {
    uint64_t random;      /* state of the generator: the seed, never 0 */
    uint32_t depth;       /* levels still to go */
    uint32_t signals;     /* how many signals may still be raised */
    void (*leaf)(void *); /* called at each level, most often at the innermost */
    void *leaf_context;
    uint64_t sink; /* keeps the compiler from dropping what the levels compute */
};

/* Install the handler through which some levels go. */
void stack_maze_init(void);

/* Descend `depth` levels and come back. */
void stack_maze_enter(struct stack_maze *maze);

#endif
