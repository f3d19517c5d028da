/* SPDX-License-Identifier: Apache-2.0 */
/* erasure.c - SPOOL/identity.*.erase -> POST /v1/erasures. */
#include "erasure.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "audit.h"
#include "deliver.h"
#include "http_exchange.h"
#include "identity.h"
#include "spool_folders.h"

enum {
    NAME_MAX_BYTES = 64,
    PROOF_LINE = 2 * SBX_ERASURE_PROOF_BYTES + 1
};
static const char prefix[] = "identity.", suffix[] = ".erase";

static bool is_erasure(const char *name)
{
    size_t length = strlen(name), suffix_length = sizeof suffix - 1;
    return strncmp(name, prefix, sizeof prefix - 1) == 0 && length > sizeof prefix - 1 + suffix_length &&
           length < NAME_MAX_BYTES && strcmp(name + length - suffix_length, suffix) == 0;
}

/* Prints the proofs for all periods in which the identity was used, the newest ones if there are too many. Returns
 * their number, or -errno. */
static int print_proofs(const struct sbx_identity *identity, char text_out[SBX_ERASURES_MAX * PROOF_LINE + 1])
{
    uint32_t first = identity->first_period, last = identity->last_period;
    int count = 0;
    if (last < first) {
        return -EPROTO;
    }
    if (last - first >= SBX_ERASURES_MAX) {
        first = last - SBX_ERASURES_MAX + 1;
    }
    char *at = text_out;
    for (uint32_t i = 0; i <= last - first; i++) {
        uint8_t proof[SBX_ERASURE_PROOF_BYTES];
        int result = sbx_identity_proof(identity, first + i, proof);
        if (result != 0) {
            return result;
        }
        for (int byte = 0; byte < SBX_ERASURE_PROOF_BYTES; byte++) {
            at += snprintf(at, 3, "%02x", proof[byte]);
        }
        *at++ = '\n';
        count++;
    }
    *at = '\0';
    return count;
}

/* Asks for one erasure. Returns whether the server has done it. */
static bool ask(struct sbx_spool *spool, const char *server_url, const char *token, const struct sbx_identity *identity,
                uint64_t *retry_after_ms, char *why, size_t why_bytes)
{
    char text[SBX_ERASURES_MAX * PROOF_LINE + 1], answer[sizeof SBX_ERASED_ANSWER] = "";
    int count = print_proofs(identity, text);
    if (count < 0) {
        snprintf(why, why_bytes, "deletion request: %s", strerror(-count));
        return false;
    }
    static const char *const headers[] = {"Content-Type: text/plain", NULL};
    const struct sbx_http_question question = {
        .server_url = server_url,
        .path = SBX_ERASURES_PATH,
        .token = token,
        .headers = headers,
        .body = text,
        .body_bytes = strlen(text),
        .answer_bytes_max = 4096,
    };
    struct sbx_http_reply reply;
    bool is_answered = sbx_http_exchange(&question, (uint8_t *)answer, sizeof answer, &reply);
    bool is_done = is_answered && reply.status == 200 && reply.body_bytes == sizeof SBX_ERASED_ANSWER - 1 &&
                   memcmp(answer, SBX_ERASED_ANSWER, sizeof SBX_ERASED_ANSWER - 1) == 0;
    if (!is_done) {
        *retry_after_ms = reply.retry_after_ms > *retry_after_ms ? reply.retry_after_ms : *retry_after_ms;
        if (is_answered && reply.status == 202) {
            snprintf(why, why_bytes, "deletion request: the server is at work on it; it is asked again");
        } else if (is_answered) {
            snprintf(why, why_bytes, "deletion request: HTTP %ld, but not the answer of a server that deletes",
                     reply.status);
        } else {
            snprintf(why, why_bytes, "deletion request: %.140s", reply.why);
        }
    }
    if (sbx_audit_erasure(spool, (unsigned)count, is_done ? "erased" : "later", is_answered ? reply.status : 0) != 0) {
        /* A log that cannot be written does not stop a request for deletion. */
    }
    explicit_bzero(text, sizeof text);
    return is_done;
}

/* Handles one file: asks, and removes the file when the erasure is done. Returns whether it is gone. */
static bool settle(struct sbx_spool *spool, const char *server_url, const char *token, const char *name,
                   uint64_t *retry_after_ms, char *why, size_t why_bytes)
{
    struct sbx_identity identity;
    int result = sbx_identity_read(spool, name, &identity);
    if (result != 0 && result != -EPROTO) {
        snprintf(why, why_bytes, "%s: %s", name, strerror(-result));
        return result == -ENOENT;
    }
    /* A file that is no valid identity cannot be used for a request. */
    bool is_done = result == -EPROTO || ask(spool, server_url, token, &identity, retry_after_ms, why, why_bytes);
    explicit_bzero(&identity, sizeof identity);
    return is_done && (unlinkat(spool->root, name, 0) == 0 || errno == ENOENT) && fsync(spool->root) == 0;
}

/* The process that writes "no" puts the identity aside afterwards, and may be killed in between. */
static void put_aside(struct sbx_spool *spool)
{
    static const char denied[] =
        "denied\n"; /* as agent/shared/consent.c writes it; an unreadable file does not count as this */
    char text[sizeof denied] = "";
    int file = openat(spool->root, "consent", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) {
        return;
    }
    ssize_t got = read(file, text, sizeof text);
    close(file);
    if (got == (ssize_t)sizeof denied - 1 && memcmp(text, denied, sizeof denied - 1) == 0 &&
        renameat(spool->root, "identity", spool->root, "identity.0.erase") != 0) {
        return; /* usually there is no such file */
    }
}

uint64_t sbx_erasures_step(struct sbx_spool *spool, const char *server_url, const char *token,
                           struct sbx_erasure_pace *pace, uint64_t now_ms, uint64_t random, char *why, size_t why_bytes)
{
    char names[8][NAME_MAX_BYTES];
    size_t count = 0;
    DIR *listing;
    put_aside(spool);
    if (sbx_spool_list(spool->root, &listing) != 0) {
        return UINT64_MAX; /* the deliverer reports the reason itself */
    }
    for (struct dirent *entry = readdir(listing); entry != NULL && count < 8; entry = readdir(listing)) {
        if (is_erasure(entry->d_name)) {
            strcpy(names[count++], entry->d_name);
        }
    }
    closedir(listing);
    if (count == 0) {
        *pace = (struct sbx_erasure_pace){.fails = 0};
        return UINT64_MAX;
    }
    if (pace->due_ms > now_ms) {
        return pace->due_ms - now_ms;
    }
    uint64_t retry_after_ms = 0;
    size_t left = count;
    for (size_t i = 0; i < count; i++) {
        left -= settle(spool, server_url, token, names[i], &retry_after_ms, why, why_bytes);
    }
    pace->fails = left == 0 ? 0 : pace->fails + 1;
    uint64_t wait_ms = left == 0 ? (count == 8 ? 1 : UINT64_MAX) : sbx_backoff_ms(pace->fails, retry_after_ms, random);
    pace->due_ms = left == 0 ? 0 : now_ms + wait_ms;
    return wait_ms;
}
