/* SPDX-License-Identifier: Apache-2.0 */
/* own_scope_plugin.c - a plugin for dlopen(RTLD_DEEPBIND). With OWN_FUNCTIONS it defines functions with libc's names
 * for itself, which is the purpose of that flag. Without, it uses libc's allocator while the program has another
 * one. */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *plugin_begin(void);
int plugin_end(void *memory); /* 0: everything is as without the recorder */

#ifdef OWN_FUNCTIONS
enum {
    ANSWER = 1048,
    ARENA_BYTES = 65536
};

static char arena[ARENA_BYTES];
static size_t used;

int usleep(useconds_t time_us)
{
    (void)time_us;
    return ANSWER;
}

int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    (void)fds, (void)count, (void)timeout_ms;
    return ANSWER;
}

void *malloc(size_t bytes)
{
    void *memory = arena + used;
    used += (bytes + 15) & ~(size_t)15;
    return memory;
}

static int is_of_arena(const void *memory)
{
    return (const char *)memory >= arena && (const char *)memory < arena + ARENA_BYTES;
}

void free(void *memory)
{
    if (!is_of_arena(memory)) {
        abort();
    }
}

void *plugin_begin(void)
{
    return malloc(100);
}

int plugin_end(void *memory)
{
    int wrong = !is_of_arena(memory) || usleep(1) != ANSWER || poll(NULL, 0, 1) != ANSWER;
    void *other = malloc(100);
    wrong |= !is_of_arena(other);
    free(other);
    free(memory);
    return wrong;
}
#else
void *plugin_begin(void)
{
    return malloc(100); /* binds malloc(); the others are bound later */
}

int plugin_end(void *memory)
{
    char *copy = realloc(memory, 100000);
    memset(copy, 1, 100000);
    free(copy);
    return 0;
}
#endif
