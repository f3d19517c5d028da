/* SPDX-License-Identifier: Apache-2.0 */
/* stack_maze.c - one function for each frame shape; each goes one level deeper in its own way.
 *
 * Compiled optimized and without frame pointers in every build, because applications are built that way. */
#include "stack_maze.h"

#include <alloca.h>
#include <link.h>
#include <pthread.h>
#include <search.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEVEL __attribute__((noinline))

static __thread struct stack_maze *maze_of_thread; /* for callbacks without an argument */

static uint64_t next_random(struct stack_maze *maze)
{
    maze->random ^= maze->random << 13;
    maze->random ^= maze->random >> 7;
    maze->random ^= maze->random << 17;
    return maze->random;
}

static LEVEL void descend(struct stack_maze *maze);

static LEVEL uint64_t through_saved_registers(struct stack_maze *maze, uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t d = a * 3 + b, e = b * 5 + c, f = c * 7 + a;
    descend(maze);
    return a ^ b ^ c ^ (d + e * f);
}

static LEVEL uint64_t through_stack_arguments(struct stack_maze *maze, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                                              uint64_t e, uint64_t f, uint64_t g, uint64_t h)
{
    if ((h & 3) != 0) {
        return through_stack_arguments(maze, b, c, d, e, f, g, h - 1, h & ~UINT64_C(3)) + a;
    }
    descend(maze);
    return a + g + h;
}

static LEVEL uint64_t through_locals(struct stack_maze *maze)
{
    volatile unsigned char locals[3000];
    locals[next_random(maze) % sizeof locals] = 1;
    descend(maze);
    return locals[17];
}

static LEVEL uint64_t through_alloca(struct stack_maze *maze)
{
    size_t bytes = next_random(maze) % 2000 + 1;
    volatile unsigned char *block = alloca(bytes);
    block[bytes - 1] = 3;
    descend(maze);
    return block[bytes - 1];
}

static LEVEL uint64_t through_aligned_locals(struct stack_maze *maze)
{
    volatile _Alignas(64) uint64_t words[16];
    words[next_random(maze) % 16] = 5;
    descend(maze);
    return words[3];
}

/* Aligned, with stack arguments and alloca: gcc keeps the old stack pointer in r10 and in a slot (DRAP). */
static LEVEL uint64_t through_realigned(struct stack_maze *maze, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                                        uint64_t e, uint64_t on_stack)
{
    volatile _Alignas(64) uint64_t words[16];
    size_t bytes = next_random(maze) % 500 + 1;
    volatile unsigned char *block = alloca(bytes);
    block[0] = (unsigned char)on_stack;
    words[next_random(maze) % 16] = a + b + c + d + e;
    descend(maze);
    return words[1] + block[0] + on_stack;
}

#if defined(__x86_64__)
#define ALIGNS_ITSELF __attribute__((force_align_arg_pointer))
#else
#define ALIGNS_ITSELF /* the architecture always aligns the stack pointer */
#endif

ALIGNS_ITSELF static LEVEL uint64_t through_forced_alignment(struct stack_maze *maze)
{
    volatile uint64_t words[9];
    words[next_random(maze) % 9] = 1;
    descend(maze);
    return words[2];
}

static LEVEL uint64_t through_frame_pointer(struct stack_maze *maze)
{
    uint64_t frame = (uint64_t)(uintptr_t)__builtin_frame_address(0); /* makes the compiler keep a frame pointer */
    descend(maze);
    return frame ^ maze->random;
}

/* Descends in one call of a callback that is called many times. */
static void descend_once(int *done, struct stack_maze *maze)
{
    if (!*done) {
        *done = 1;
        descend(maze);
    }
}

static __thread int *done_of_thread;

static int compare_plainly(const void *left, const void *right)
{
    return (left > right) - (left < right);
}

static int compare_and_descend(const void *left, const void *right)
{
    descend_once(done_of_thread, maze_of_thread);
    int a = *(const int *)left, b = *(const int *)right;
    return (a > b) - (a < b);
}

static int compare_with_argument(const void *left, const void *right, void *argument)
{
    descend_once(done_of_thread, argument);
    return compare_plainly(left, right);
}

static LEVEL uint64_t through_sorting(struct stack_maze *maze)
{
    int numbers[7] = {5, 3, 9, 1, 7, 2, 8}, done = 0;
    int *outer = done_of_thread;
    done_of_thread = &done;
    switch (next_random(maze) % 4) {
    case 0:
        qsort(numbers, 7, sizeof numbers[0], compare_and_descend);
        break;
    case 1:
        qsort_r(numbers, 7, sizeof numbers[0], compare_with_argument, maze);
        break;
    case 2:
        (void)bsearch(&numbers[6], numbers, 7, sizeof numbers[0], compare_and_descend);
        break;
    default: {
        size_t count = 7;
        (void)lfind(&numbers[6], numbers, &count, sizeof numbers[0], compare_and_descend);
    }
    }
    done_of_thread = outer;
    return (uint64_t)numbers[0];
}

static void visit_node(const void *node, VISIT which, int depth)
{
    (void)node;
    (void)which;
    (void)depth;
    descend_once(done_of_thread, maze_of_thread);
}

static void leave_node(void *node)
{
    (void)node;
}

static LEVEL uint64_t through_tree(struct stack_maze *maze)
{
    int numbers[5], done = 0;
    void *root = NULL;
    int *outer = done_of_thread;
    for (int i = 0; i < 5; i++) {
        (void)tsearch(&numbers[(i * 3) % 5], &root, compare_plainly);
    }
    done_of_thread = &done;
    twalk(root, visit_node);
    done_of_thread = outer;
    tdestroy(root, leave_node);
    return maze->random;
}

static int visit_module(struct dl_phdr_info *info, size_t bytes, void *argument)
{
    (void)info;
    (void)bytes;
    descend(argument);
    return 1;
}

static void descend_as_initializer(void)
{
    descend(maze_of_thread);
}

static ssize_t write_and_descend(void *cookie, const char *bytes, size_t count)
{
    (void)bytes;
    descend(cookie);
    return (ssize_t)count;
}

static LEVEL uint64_t through_stream(struct stack_maze *maze)
{
    FILE *stream = fopencookie(maze, "w", (cookie_io_functions_t){.write = write_and_descend});
    if (stream == NULL) {
        return 0;
    }
    setvbuf(stream, NULL, _IONBF, 0);
    fprintf(stream, "%d", 7);
    fclose(stream);
    return 1;
}

static void descend_in_handler(int number)
{
    (void)number;
    descend(maze_of_thread);
}

void stack_maze_init(void)
{
    struct sigaction action = {.sa_handler = descend_in_handler, .sa_flags = SA_NODEFER};
    sigaction(SIGUSR2, &action, NULL);
}

static LEVEL uint64_t through_signal(struct stack_maze *maze)
{
    if (maze->signals == 0) {
        return through_locals(maze);
    }
    maze->signals--;
    raise(SIGUSR2);
    return 1;
}

static LEVEL void descend(struct stack_maze *maze)
{
    if (maze->depth == 0 || next_random(maze) % 16 == 0) {
        maze->leaf(maze->leaf_context);
    }
    if (maze->depth == 0) {
        return;
    }
    maze->depth--;
    uint64_t a = next_random(maze);
    switch (a % 14) {
    case 0:
    case 1:
        maze->sink += through_saved_registers(maze, a, a >> 7, a >> 11);
        break;
    case 2:
        maze->sink += through_stack_arguments(maze, a, 1, 2, 3, 4, 5, 6, a & 7);
        break;
    case 3:
        maze->sink += through_locals(maze);
        break;
    case 4:
        maze->sink += through_alloca(maze);
        break;
    case 5:
        maze->sink += through_aligned_locals(maze);
        break;
    case 6:
        maze->sink += through_realigned(maze, a, 1, 2, 3, 4, a >> 3);
        break;
    case 7:
        maze->sink += through_forced_alignment(maze);
        break;
    case 8:
        maze->sink += through_frame_pointer(maze);
        break;
    case 9:
        maze->sink += through_sorting(maze);
        break;
    case 10:
        maze->sink += through_tree(maze);
        break;
    case 11:
        if (a & 64) {
            maze->sink += (uint64_t)dl_iterate_phdr(visit_module, maze);
        } else {
            pthread_once_t once = PTHREAD_ONCE_INIT;
            pthread_once(&once, descend_as_initializer);
        }
        break;
    case 12:
        maze->sink += through_stream(maze);
        break;
    default:
        maze->sink += through_signal(maze);
    }
}

void stack_maze_enter(struct stack_maze *maze)
{
    maze_of_thread = maze;
    descend(maze);
}
