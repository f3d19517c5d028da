/* SPDX-License-Identifier: Apache-2.0 */
/* nasty_deep_plain.c - a plugin that is loaded with RTLD_DEEPBIND and defines no function itself. It calls libc's
 * functions, also in a program with its own allocator (nasty_allocator.c). */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VISIBLE __attribute__((visibility("default")))

VISIBLE const char *nasty_deep_check(void);
VISIBLE const char *nasty_deep_check(void)
{
    void (*volatile free_by_pointer)(void *block) = free;
    void *(*volatile malloc_by_pointer)(size_t bytes) = malloc;
    char *one = malloc(100), *two = malloc_by_pointer(200), *three = calloc(3, 50);
    if (one == NULL || two == NULL || three == NULL) {
        return "no memory";
    }
    memset(one, 1, 100);
    one = realloc(one, 300);
    memset(two, 2, 200);
    free_by_pointer(one);
    free(two);
    free_by_pointer(three);
    return usleep(10) == 0 ? NULL : "usleep() failed";
}
