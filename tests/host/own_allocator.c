/* SPDX-License-Identifier: Apache-2.0 */
/* own_allocator.c - a program with an allocator of its own, which ends the program when it gets a pointer that it did
 * not return. The program loads the given plugin with RTLD_DEEPBIND, lazily bound if requested, and its exit status is
 * the result. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static _Alignas(16) char arena[16 << 20];
static size_t used;

void *malloc(size_t bytes)
{
    size_t at = __atomic_fetch_add(&used, ((bytes + 15) & ~(size_t)15) + 16, __ATOMIC_RELAXED);
    memcpy(arena + at, &bytes, sizeof bytes);
    return at + bytes + 16 <= sizeof arena ? arena + at + 16 : NULL;
}

void free(void *memory)
{
    if (memory != NULL && ((char *)memory < arena || (char *)memory >= arena + sizeof arena)) {
        static const char why[] = "free(): made by another allocator\n";
        (void)!write(2, why, sizeof why - 1);
        _exit(134);
    }
}

void *calloc(size_t count, size_t bytes)
{
    return malloc(count * bytes); /* memory is never given out twice, so it is zero */
}

void *realloc(void *old, size_t bytes)
{
    void *made = malloc(bytes);
    size_t had;
    if (old != NULL && made != NULL) {
        memcpy(&had, (char *)old - 16, sizeof had);
        memcpy(made, old, had < bytes ? had : bytes);
    }
    free(old);
    return made;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        return 2;
    }
    void *plugin = dlopen(argv[1], (strcmp(argv[2], "lazy") == 0 ? RTLD_LAZY : RTLD_NOW) | RTLD_DEEPBIND);
    if (plugin == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 3;
    }
    void *(*begin)(void) = (void *(*)(void))dlsym(plugin, "plugin_begin");
    int (*end)(void *) = (int (*)(void *))dlsym(plugin, "plugin_end");
    void *memory = begin();
    const struct timespec pause = {0, 500000000}; /* the module thread looks within milliseconds */
    nanosleep(&pause, NULL);
    return end(memory) == 0 ? 0 : 4;
}
