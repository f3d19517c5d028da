/* SPDX-License-Identifier: Apache-2.0 */
/* consent.c - `stallbox consent`: shows what the user of a spool said, and answers for an application that does not
 * ask. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "consent.h"
#include "consent_order.h"
#include "erasure.h"
#include "options.h"
#include "own_folder.h"
#include "preload.h"
#include "recording_folder.h"
#include "spool.h"
#include "token_file.h"

enum {
    ANSWER_MS = 5000 /* time for an application to obey; it may be making a snapshot */
};

enum {
    OPTION_SERVER,
    OPTION_TOKEN_FILE,
    OPTION_COUNT
};
static const struct sbx_option options[OPTION_COUNT] = {
    [OPTION_SERVER] = {"--server", 'u', "URL", "with denied: ask this server now to delete its data"},
    [OPTION_TOKEN_FILE] = {"--token-file", 't', "FILE", "its first line is the secret that the server requires"},
};

static const char *const words[] = {
    [SBX_CONSENT_UNKNOWN] = "unknown", [SBX_CONSENT_GRANTED] = "granted", [SBX_CONSENT_DENIED] = "denied"};

void sbx_usage_consent(FILE *out)
{
    fputs("usage: stallbox consent SPOOL\n"
          "       stallbox consent [OPTION]... SPOOL granted|denied|unknown\n"
          "\n"
          "Show, or set, the answer of the user of a spool.\n"
          "\n"
          "  unknown  The user was not asked. An application that demands consent keeps and sends nothing until the\n"
          "           user has answered. Any other application records and sends.\n"
          "  granted  Data recorded from now on may be kept and sent. Nothing older is kept or sent.\n"
          "  denied   Nothing is kept or sent. Waiting payloads are deleted. The next program that delivers asks the\n"
          "           server to delete what this machine sent, until the server has done it.\n"
          "\n",
          out);
    sbx_options_print(options, OPTION_COUNT, out);
    fputs(
        "\nRunning applications, and programs that deliver, obey at once. Applications are found by their recordings\n"
        "($STALLBOX_RECORDINGS, or the default folder). An application that keeps its recording elsewhere reads a no\n"
        "within seconds while it works, and a yes at its next start.\n",
        out);
}

/* Ask the server once. What is not done stays in the spool for a later deliverer. */
static int ask_server(const char *spool_path, const char *server_url, const char *token)
{
    struct sbx_erasure_pace pace = {.fails = 0};
    struct sbx_spool *spool;
    char why[600] = "";
    if (sbx_spool_open(spool_path, NULL, &spool, why, sizeof why) != 0) {
        return sbx_failure("consent", "%s", why);
    }
    uint64_t due_ms = sbx_erasures_step(spool, server_url, token, &pace, 0, 0, why, sizeof why);
    sbx_spool_close(spool);
    if (due_ms != UINT64_MAX) {
        return sbx_failure("consent", "%s: %s; it is asked again by the next program that delivers from %s", server_url,
                           why, spool_path);
    }
    return SBX_EXIT_DONE;
}

/* An application that does not answer still finds the word on its control page, and in the spool. */
static int tell_applications(const char *spool_path, enum sbx_consent consent)
{
    struct sbx_recording_folders folders;
    struct sbx_consent_told told = {.told = 0};
    sbx_recordings_find(sbx_recordings_given(), &folders);
    for (unsigned i = 0; i < folders.count; i++) {
        struct sbx_consent_told there;
        int result = sbx_consent_tell(folders.paths[i], spool_path, sbx_consent_order_of(consent), ANSWER_MS, &there);
        if (result != 0) {
            return sbx_failure("consent", "%s: %s: no running application was notified", folders.paths[i],
                               strerror(-result));
        }
        told.told += there.told;
        told.silent += there.silent;
        told.silent_pid = there.silent != 0 ? there.silent_pid : told.silent_pid;
    }
    if (told.silent != 0) {
        return sbx_failure("consent",
                           "process %u did not answer within %d s (is it stopped?); it obeys when it goes on",
                           told.silent_pid, ANSWER_MS / 1000);
    }
    if (told.told != 0) {
        fprintf(stderr, "stallbox consent: %u running application%s notified\n", told.told, told.told == 1 ? "" : "s");
    }
    return SBX_EXIT_DONE;
}

static int set_consent(const char *spool_path, const char *word, const char *server_url, const char *token)
{
    enum sbx_consent consent = SBX_CONSENT_UNKNOWN;
    while (consent <= SBX_CONSENT_DENIED && strcmp(words[consent], word) != 0) {
        consent++;
    }
    if (consent > SBX_CONSENT_DENIED) {
        return sbx_usage_error("consent", "unknown word '%s': granted, denied or unknown", word);
    }
    int result = sbx_consent_write(spool_path, consent);
    if (result != 0) {
        return sbx_failure("consent", "%s: %s", spool_path, strerror(-result));
    }
    /* After the word is written, so that an application that starts now reads it; before the deletion, so that no new
     * payload comes after it. */
    int status = tell_applications(spool_path, consent);
    if (consent == SBX_CONSENT_DENIED) {
        result = sbx_consent_delete_unsent(spool_path);
        if (result != 0) {
            return sbx_failure("consent", "%s: not all that waits could be deleted: %s", spool_path, strerror(-result));
        }
    }
    int asked =
        consent == SBX_CONSENT_DENIED && server_url != NULL ? ask_server(spool_path, server_url, token) : SBX_EXIT_DONE;
    return status != SBX_EXIT_DONE ? status : asked;
}

/* A folder that is not trusted gives no answer; the user is told why. */
static int show_consent(const char *spool_path)
{
    char why[600];
    int folder = sbx_believed_folder_open(spool_path);
    if (folder < 0 && folder != -ENOENT) {
        sbx_own_folder_explain(spool_path, folder, why, sizeof why);
        return sbx_failure("consent", "%s", why);
    }
    if (folder >= 0) {
        close(folder);
    }
    puts(words[sbx_consent_read(spool_path)]);
    return SBX_EXIT_DONE;
}

int sbx_command_consent(int argc, char **argv)
{
    const char *spool_path = NULL, *word = NULL, *server_url = NULL, *token_path = NULL;
    char token[SBX_TOKEN_MAX + 1], why[600];
    struct sbx_option_reader reader;
    sbx_option_reader_init(&reader, "consent", options, OPTION_COUNT, argc, argv);
    for (int event = sbx_option_next(&reader); event != SBX_OPTION_END; event = sbx_option_next(&reader)) {
        switch (event) {
        case OPTION_SERVER:
            server_url = reader.value;
            break;
        case OPTION_TOKEN_FILE:
            token_path = reader.value;
            break;
        case SBX_OPTION_OPERAND:
            if (word != NULL) {
                return sbx_usage_error("consent", "unexpected argument '%s'", reader.value);
            }
            *(spool_path == NULL ? &spool_path : &word) = reader.value;
            break;
        case SBX_OPTION_HELP:
            sbx_usage_consent(stdout);
            return SBX_EXIT_DONE;
        default:
            return SBX_EXIT_USAGE;
        }
    }
    if (spool_path == NULL) {
        return sbx_usage_error("consent", "no SPOOL: of which folder?");
    }
    /* Tell the user when the application never ran, or its name was mistyped. */
    if (access(spool_path, F_OK) != 0) {
        fprintf(stderr, "stallbox consent: %s: there is no such folder%s\n", spool_path,
                word != NULL ? " yet: it is made" : "");
    }
    if (word == NULL) {
        return show_consent(spool_path);
    }
    if (server_url != NULL && strcmp(word, words[SBX_CONSENT_DENIED]) != 0) {
        return sbx_usage_error("consent", "--server goes with denied: there is nothing to ask it for");
    }
    if (server_url != NULL && !sbx_option_is_server("consent", server_url)) {
        return SBX_EXIT_USAGE;
    }
    if (token_path != NULL && sbx_token_read(token_path, token, why, sizeof why) != 0) {
        return sbx_failure("consent", "%s", why);
    }
    return set_consent(spool_path, word, server_url, token_path == NULL ? NULL : token);
}
