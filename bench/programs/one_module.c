/* SPDX-License-Identifier: Apache-2.0 */
/* one_module.c - a module that module_calls.c loads in any number of copies. It allocates, reads a clock, and calls the
 * next module. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    BYTES = 200
};

typedef uint64_t module_function(void *const *next, int deep);

__attribute__((visibility("default"))) uint64_t serve_part(void *const *next, int deep);

uint64_t serve_part(void *const *next, int deep)
{
    struct timespec now;
    char *volatile memory = malloc(BYTES);
    clock_gettime(CLOCK_MONOTONIC, &now);
    memset(memory, deep, BYTES);
    uint64_t sum = (uint64_t)now.tv_nsec + (uint64_t)memory[BYTES / 2];
    if (deep > 1) {
        module_function *function;
        memcpy(&function, next, sizeof function);
        sum += function(next + 1, deep - 1);
    }
    free(memory);
    return sum;
}
