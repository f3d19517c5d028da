/* SPDX-License-Identifier: Apache-2.0 */
/* process_image.c - fields of stat, and two links. */
#include "process_image.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "proc_file.h"

bool sbx_process_image_parse(const char *text, struct sbx_process_image *image_out)
{
    const char *at = strrchr(text, ')'); /* the name may contain spaces and brackets */
    memset(image_out, 0, sizeof *image_out);
    int field = 2;
    while (at != NULL && field < 28 && (at = strchr(at + 1, ' ')) != NULL) {
        uint64_t number = strtoull(at + 1, NULL, 10);
        field++;
        image_out->start_ticks = field == 22 ? number : image_out->start_ticks;
        image_out->code_begin = field == 26 ? number : image_out->code_begin;
        image_out->stack_begin = field == 28 ? number : image_out->stack_begin;
    }
    return field == 28;
}

int sbx_process_image_read(pid_t pid, struct sbx_process_image *image_out)
{
    char text[1024], path[40];
    struct stat status;
    if (sbx_proc_file_read(text, sizeof text, "/proc/%d/stat", (int)pid) <= 0 ||
        !sbx_process_image_parse(text, image_out)) {
        return -ESRCH;
    }
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    if (stat(path, &status) == 0) {
        image_out->device = (uint64_t)status.st_dev;
        image_out->inode = (uint64_t)status.st_ino;
    }
    return 0;
}

bool sbx_process_is_in_other_namespace(pid_t pid)
{
    char path[40];
    struct stat own, other;
    snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)pid);
    return stat(path, &other) == 0 && stat("/proc/self/ns/pid", &own) == 0 &&
           (own.st_ino != other.st_ino || own.st_dev != other.st_dev);
}
