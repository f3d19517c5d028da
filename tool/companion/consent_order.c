/* SPDX-License-Identifier: Apache-2.0 */
/* consent_order.c - goes from recording to recording, and writes one word on each control page. */
#include "consent_order.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "attachment.h"
#include "order.h"
#include "recording_file.h"
#include "shared_mapping.h"

/* Is it the same folder, seen from the process? */
static bool has_spool(const struct sbx_attachment *attachment, uint32_t pid, const struct stat *spool)
{
    char path[SBX_PATH_MAX + 40];
    struct stat status;
    const char *named = attachment->header->spool_path;
    snprintf(path, sizeof path, "/proc/%u/%s/%.*s", pid, named[0] == '/' ? "root" : "cwd", SBX_PATH_MAX - 1, named);
    return stat(path, &status) == 0 && status.st_dev == spool->st_dev && status.st_ino == spool->st_ino;
}

/* Write the word on the control page. Returns whether the agent took it in time. */
static bool tell(const struct sbx_attachment *attachment, enum sbx_consent_order order, uint32_t timeout_ms)
{
    uint32_t *word = &attachment->control->consent_order, none = SBX_CONSENT_ORDER_NONE;
    if (order != SBX_CONSENT_ORDER_READ) {
        sbx_store_release(word, (uint32_t)order);                /* order: release control.consent_order */
    } else if (!sbx_cas_acq_rel(word, &none, (uint32_t)order)) { /* order: release control.consent_order */
        return true;
    }
    sbx_attachment_ring(attachment);
    return sbx_attachment_wait(word, SBX_CONSENT_ORDER_NONE, timeout_ms); /* order: acquire control.consent_order */
}

/* State of a function that is left by a jump when the process truncates its recording. */
struct telling {
    const struct sbx_attachment *attachment;
    const struct stat *spool;
    enum sbx_consent_order order;
    uint32_t timeout_ms, pid;
    struct sbx_consent_told *told;
};

static void tell_if_it_is(void *context)
{
    const struct telling *telling = context;
    if (!has_spool(telling->attachment, telling->pid, telling->spool)) {
        return;
    }
    if (tell(telling->attachment, telling->order, telling->timeout_ms)) {
        telling->told->told++;
    } else {
        telling->told->silent++;
        telling->told->silent_pid = telling->pid;
    }
}

enum sbx_consent_order sbx_consent_order_of(enum sbx_consent said)
{
    return said == SBX_CONSENT_UNKNOWN ? SBX_CONSENT_ORDER_NOT_ASKED : (enum sbx_consent_order)(said + 1);
}

int sbx_consent_tell(const char *recordings, const char *spool_path, enum sbx_consent_order order, uint32_t timeout_ms,
                     struct sbx_consent_told *told_out)
{
    struct sbx_consent_told told = {.told = 0};
    struct stat spool;
    char path[SBX_RECORDING_PATH_MAX + 300];
    *told_out = told;
    if (stat(spool_path, &spool) != 0) {
        return -errno;
    }
    DIR *folder = opendir(recordings);
    if (folder == NULL) {
        return errno == ENOENT ? 0 : -errno;
    }
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        size_t length = strlen(entry->d_name), suffix = sizeof SBX_RECORDING_SUFFIX - 1;
        struct sbx_attachment attachment;
        uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);
        if (length <= suffix || strcmp(entry->d_name + length - suffix, SBX_RECORDING_SUFFIX) != 0) {
            continue;
        }
        snprintf(path, sizeof path, "%s/%s", recordings, entry->d_name);
        if (sbx_attachment_open(&attachment, path, pid) != 0) {
            continue; /* it belongs to no running process, or to a version that reads only the spool */
        }
        struct telling telling = {&attachment, &spool, order, timeout_ms, pid, &told};
        (void)sbx_mapping_survive(tell_if_it_is, &telling); /* a process that truncates its file reads the spool */
        sbx_attachment_close(&attachment);
    }
    closedir(folder);
    *told_out = told;
    return 0;
}
