/* SPDX-License-Identifier: Apache-2.0 */
/* host_fixed.c - a program that is not position independent and takes the addresses of functions that we hook. These
 * addresses are then those of its own PLT entries, in every module, as in Debian's python3. A separate program because
 * of the way it is linked. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    /* Taken by instructions, because the loader would fill a pointer in initialized data with the function itself. */
    int (*volatile sync_by_pointer)(int) = fsync;
    void (*volatile free_by_pointer)(void *) = free;
    int file = open(argv[argc - 1], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    free_by_pointer(malloc(10));
    free(malloc(10));
    return file >= 0 && sync_by_pointer(file) == 0 && fsync(file) == 0 ? 0 : 1;
}
