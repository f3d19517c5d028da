/* SPDX-License-Identifier: Apache-2.0 */
/* delivery_options.h - the options that `run` and `deliver` share: where payloads go, and under whose rules. */
#ifndef SBX_DELIVERY_OPTIONS_H
#define SBX_DELIVERY_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "options.h"
#include "sealer.h"
#include "token_file.h"

/* The first rows of the command's table; its own begin at SBX_DELIVERY_OPTION_COUNT. */
enum sbx_delivery_option {
    SBX_DELIVERY_OPTION_SPOOL,
    SBX_DELIVERY_OPTION_SERVER,
    SBX_DELIVERY_OPTION_TOKEN_FILE,
    SBX_DELIVERY_OPTION_CA_FILE,
    SBX_DELIVERY_OPTION_POLICY,
    SBX_DELIVERY_OPTION_POLL,
    SBX_DELIVERY_OPTION_SEAL_KEY,
    SBX_DELIVERY_OPTION_COUNT
};

/* Those rows, as initializers: a table of options is constant. The help of three differs from command to command. */
#define SBX_DELIVERY_OPTION_ROWS(spool_help, server_help, policy_help)                                              \
    [SBX_DELIVERY_OPTION_SPOOL] = {"--spool", 's', "DIR", spool_help},                                              \
    [SBX_DELIVERY_OPTION_SERVER] = {"--server", 'u', "URL", server_help},                                           \
    [SBX_DELIVERY_OPTION_TOKEN_FILE] = {"--token-file", 't', "FILE",                                                \
                                        "its first line is the secret that the server requires"},                   \
    [SBX_DELIVERY_OPTION_CA_FILE] = {"--ca-file", 0, "FILE",                                                        \
                                     "trust only servers whose certificate an authority in FILE (PEM) has signed"}, \
    [SBX_DELIVERY_OPTION_POLICY] = {"--policy", 'p', "FILE", policy_help},                                          \
    [SBX_DELIVERY_OPTION_POLL] = {"--poll-ms", 0, "N",                                                              \
                                  "ask the server for a policy every N ms; this overrides the policy"},             \
    [SBX_DELIVERY_OPTION_SEAL_KEY] = {                                                                              \
        "--seal-key", 'k', "FILE",                                                                                  \
        "seal payloads to this public key of `stallbox seal keygen`; without it, to the\n"                          \
        "key of the policy's KEYSET, if it names one"}

/* The options of the command line; NULL and 0 for those not given. Borrowed from argv. */
struct sbx_delivery_options {
    const char *spool_path, *server_url, *token_path, *ca_path, *policy_path, *seal_key_path;
    uint32_t poll_ms;
    const char *token; /* first line of the file at token_path, set by prepare; NULL: none */
    char token_text[SBX_TOKEN_MAX + 1];
};

/* Take the value of `option`, which is one of the rows above. Returns false after a message. */
bool sbx_delivery_options_take(struct sbx_delivery_options *told, const struct sbx_option_reader *reader, int option);

/* Can payloads be sent to told->server_url? NULL: none are sent, which is fine. Returns false after a message with the
 * reason. */
bool sbx_delivery_options_check_server(const struct sbx_delivery_options *told, const char *command);

/* Warn when payloads leave this machine unsealed. The warning is given until one has left `spool` (a path), not each
 * time. Returns whether it was given. */
bool sbx_delivery_options_tell_unsealed(const struct sbx_delivery_options *told, const char *command, const char *spool,
                                        struct sbx_sealer *sealer);

/* Read what the files named hold: the token, the authorities to believe in this process, and the key to seal to.
 * *sealer_out (given: sbx_sealer_destroy) is NULL with neither a key nor a policy, which may name one. Returns
 * SBX_EXIT_DONE, or SBX_EXIT_FAILED after a message. */
int sbx_delivery_options_prepare(struct sbx_delivery_options *told, const char *command,
                                 struct sbx_sealer **sealer_out);

#endif
