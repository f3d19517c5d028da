/* SPDX-License-Identifier: Apache-2.0 */
/* host_prepared.c - a program that ends with 1 when the recorder's library has prepared something in it, that is, when
 * the roster is mapped. -DASKS names a function that it imports additionally and never calls. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char line[1024];
    int is_loaded = 0, is_prepared = 0;
    (void)argv;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        is_loaded |= strstr(line, "/libstallbox.so") != NULL;
        is_prepared |= strstr(line, ".roster") != NULL;
    }
#ifdef ASKS
    if (argc > 9) {
        ASKS;
    }
#endif
    return maps == NULL || fclose(maps) != 0 || !is_loaded || argc < 1 ? 77 : is_prepared;
}
