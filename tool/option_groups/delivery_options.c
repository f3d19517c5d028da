/* SPDX-License-Identifier: Apache-2.0 */
/* delivery_options.c - reads these options in the same way for all commands. */
#include "delivery_options.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "audit.h"
#include "ca_file.h"
#include "http_exchange.h"
#include "seal_option.h"

enum {
    POLL_MS_MIN = 10,
    POLL_MS_MAX = 604800000 /* a week */
};

bool sbx_delivery_options_take(struct sbx_delivery_options *told, const struct sbx_option_reader *reader, int option)
{
    uint64_t number = 0;
    switch ((enum sbx_delivery_option)option) {
    case SBX_DELIVERY_OPTION_SPOOL:
        told->spool_path = reader->value;
        break;
    case SBX_DELIVERY_OPTION_SERVER:
        told->server_url = reader->value;
        break;
    case SBX_DELIVERY_OPTION_TOKEN_FILE:
        told->token_path = reader->value;
        break;
    case SBX_DELIVERY_OPTION_CA_FILE:
        told->ca_path = reader->value;
        break;
    case SBX_DELIVERY_OPTION_POLICY:
        told->policy_path = reader->value;
        break;
    case SBX_DELIVERY_OPTION_POLL:
        if (!sbx_option_number(reader, option, POLL_MS_MIN, POLL_MS_MAX, &number)) {
            return false;
        }
        told->poll_ms = (uint32_t)number;
        break;
    case SBX_DELIVERY_OPTION_SEAL_KEY:
        told->seal_key_path = reader->value;
        break;
    case SBX_DELIVERY_OPTION_COUNT:
        break; /* the command's own */
    }
    return true;
}

bool sbx_delivery_options_check_server(const struct sbx_delivery_options *told, const char *command)
{
    bool is_local;
    if (told->server_url == NULL) {
        return true;
    }
    if (!sbx_option_is_server(command, told->server_url)) {
        return false;
    }
    const char *refusal = sbx_http_refusal(told->server_url, &is_local);
    if (refusal != NULL) {
        sbx_usage_error(command, "--server '%s': %s", told->server_url, refusal);
    }
    return refusal == NULL;
}

static int has_left(void *context, const char *line)
{
    char time[32], event[16];
    (void)context;
    return sscanf(line, "%31s %15s", time, event) == 2 && strcmp(event, "leaving") == 0;
}

bool sbx_delivery_options_tell_unsealed(const struct sbx_delivery_options *told, const char *command, const char *spool,
                                        struct sbx_sealer *sealer)
{
    bool is_local = false; /* payloads that stay on this machine are just as readable in the spool */
    if (told->server_url == NULL || sbx_http_refusal(told->server_url, &is_local) != NULL || is_local ||
        (sealer != NULL && sbx_sealer_is_demanded(sealer))) {
        return false;
    }
    int folder = open(spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is_known = folder >= 0 && sbx_audit_each(folder, has_left, NULL) > 0;
    if (folder >= 0) {
        close(folder);
    }
    if (!is_known) {
        fprintf(stderr,
                "stallbox %s: payloads are not sealed: there is no --seal-key, and no policy names a key; "
                "everybody who can read the spool or the server can read them\n",
                command);
    }
    return !is_known;
}

int sbx_delivery_options_prepare(struct sbx_delivery_options *told, const char *command, struct sbx_sealer **sealer_out)
{
    char why[PATH_MAX + 128];
    *sealer_out = NULL;
    if (told->token_path != NULL) {
        if (sbx_token_read(told->token_path, told->token_text, why, sizeof why) != 0) {
            return sbx_failure(command, "%s", why);
        }
        told->token = told->token_text;
    }
    if (sbx_ca_file_trust(told->ca_path, why, sizeof why) != 0) {
        return sbx_failure(command, "%s", why);
    }
    if (told->seal_key_path != NULL || told->policy_path != NULL) {
        *sealer_out = sbx_sealer_of_options(command, told->seal_key_path, told->policy_path != NULL);
        if (*sealer_out == NULL) {
            return SBX_EXIT_FAILED;
        }
    }
    return SBX_EXIT_DONE;
}
