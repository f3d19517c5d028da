/* SPDX-License-Identifier: Apache-2.0 */
/* seal.c - `stallbox seal`: key pairs that payloads are sealed to, and opening by hand what was sealed. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "durable_file.h"
#include "envelope.h"
#include "hpke_sender.h"
#include "options.h"
#include "policy_key_file.h"
#include "policy_text.h"
#include "unseal_key_files.h"

enum {
    PATH_BYTES = 4096
};

enum {
    OPEN_KEY,
    OPEN_OUT,
    OPEN_COUNT
};
static const struct sbx_option open_options[OPEN_COUNT] = {
    [OPEN_KEY] = {"--unseal-key", 'k', "FILE", "a secret key to try; may be repeated (required)"},
    [OPEN_OUT] = {"--output", 'o', "FILE", "where the plain payload goes (default: standard output)"},
};

void sbx_usage_seal(FILE *out)
{
    fputs("usage: stallbox seal keygen NAME\n"
          "       stallbox seal id FILE...\n"
          "       stallbox seal open --unseal-key FILE [-o FILE] PAYLOAD\n"
          "\n"
          "Payloads can be sealed on the machine they come from (HPKE, RFC 9180), so that they can be read\n"
          "only with the secret key: not from the disk, not on the network, and not by the collector.\n"
          "\n"
          "  keygen   make a key pair, NAME.key (secret, 0600) and NAME.pub\n"
          "  id       print the 16 hex digits that identify the key of a public key file or of a sealed payload\n"
          "  open     open a sealed payload; \"stallbox show\" and \"stallbox report\" read the result like any other\n"
          "\n"
          "open:\n",
          out);
    sbx_options_print(open_options, OPEN_COUNT, out);
    fputs("\n"
          "NAME.pub goes to the machines of the applications: as --seal-key of \"stallbox run\" and \"stallbox "
          "deliver\", "
          "or in the KEYSET of\n"
          "their policy (seal_key = key:NAME.pub from:now until:now+90d). NAME.key stays where the reports are read:\n"
          "--unseal-key of \"stallbox serve\", \"stallbox report\" and \"stallbox show\".\n",
          out);
}

static int keygen(int argc, char **argv)
{
    uint8_t secret[SBX_SEAL_KEY_BYTES], key[SBX_SEAL_KEY_BYTES], id[SBX_SEAL_KEY_ID_BYTES];
    char why[PATH_BYTES + 128], hex[2 * SBX_SEAL_KEY_ID_BYTES + 1];
    if (argc != 2) {
        return sbx_usage_error("seal", "keygen takes one NAME");
    }
    if (argv[1][0] == '-') {
        return sbx_usage_error("seal", "unknown option '%s'", argv[1]);
    }
    int result = sbx_x25519_make(secret, key);
    if (result != 0) {
        return sbx_failure("seal keygen", "%s", strerror(-result));
    }
    result = sbx_seal_key_files_write(argv[1], secret, key, why, sizeof why);
    explicit_bzero(secret, sizeof secret);
    if (result != 0) {
        return sbx_failure("seal keygen", "%s", why);
    }
    if (sbx_seal_key_id(key, id) == 0) {
        sbx_key_hex_print(id, sizeof id, hex);
        fprintf(stderr, "stallbox seal keygen: key %s in %s.key (keep it secret) and %s.pub\n", hex, argv[1], argv[1]);
    }
    return SBX_EXIT_DONE;
}

/* Read a whole file of at most the size of a payload. Returns 0 or an exit status, after a message. */
static int read_payload(const char *command, const char *path, uint8_t **bytes_out, size_t *count_out)
{
    int result = sbx_durable_file_read(AT_FDCWD, path, SBX_ENVELOPE_BYTES_MAX, bytes_out, count_out);
    return result == 0 ? SBX_EXIT_DONE
                       : sbx_failure(command, "%s: %s", path,
                                     result == -EFBIG ? "larger than a payload may be" : strerror(-result));
}

static int print_id(const char *path)
{
    uint8_t key[SBX_SEAL_KEY_BYTES], id[SBX_SEAL_KEY_ID_BYTES], *bytes;
    char why[PATH_BYTES + 128], hex[2 * SBX_SEAL_KEY_ID_BYTES + 1];
    struct sbx_envelope envelope;
    size_t count;
    if (sbx_seal_public_read(path, key, why, sizeof why) == 0) {
        if (sbx_seal_key_id(key, id) != 0) {
            return sbx_failure("seal id", "%s: %s", path, strerror(EIO));
        }
    } else {
        int status = read_payload("seal id", path, &bytes, &count);
        if (status != SBX_EXIT_DONE) {
            return status;
        }
        bool is_payload = sbx_envelope_read(bytes, count, &envelope, NULL, 0) == 0;
        free(bytes);
        if (!is_payload || !envelope.is_sealed) {
            return sbx_failure("seal id", "%s: %s", path,
                               is_payload ? "a payload that is not sealed"
                                          : "neither a public key nor a sealed payload");
        }
        memcpy(id, envelope.key_id, sizeof id);
    }
    sbx_key_hex_print(id, sizeof id, hex);
    printf("%s %s\n", hex, path);
    return SBX_EXIT_DONE;
}

static int print_ids(int argc, char **argv)
{
    int status = argc > 1 ? SBX_EXIT_DONE : sbx_usage_error("seal", "id of which FILE?");
    for (int i = 1; i < argc; i++) {
        if (print_id(argv[i]) != SBX_EXIT_DONE) {
            status = SBX_EXIT_FAILED;
        }
    }
    return status;
}

static int write_plain(const char *output, const uint8_t *bytes, size_t count)
{
    FILE *out = output != NULL && strcmp(output, "-") != 0 ? fopen(output, "we") : stdout;
    if (out == NULL) {
        return sbx_failure("seal open", "%s: %s", output, strerror(errno));
    }
    bool is_written = fwrite(bytes, 1, count, out) == count;
    if (out != stdout && (fclose(out) != 0 || !is_written)) {
        return sbx_failure("seal open", "%s: %s", output, strerror(errno));
    }
    return is_written ? SBX_EXIT_DONE : SBX_EXIT_FAILED; /* main() says why standard output failed */
}

static int open_with(const struct sbx_unseal_keys *keys, const char *path, const char *output)
{
    uint8_t *bytes, *plain;
    size_t count, plain_count;
    char why[200];
    int status = read_payload("seal open", path, &bytes, &count);
    if (status != SBX_EXIT_DONE) {
        return status;
    }
    if (sbx_sealed_open(keys, bytes, count, &plain, &plain_count, why, sizeof why) != 0) {
        status = sbx_failure("seal open", "%s: %s", path, why);
    } else {
        status = write_plain(output, plain, plain_count);
        free(plain);
    }
    free(bytes);
    return status;
}

static int open_sealed(int argc, char **argv)
{
    static struct sbx_unseal_keys keys;
    const char *path = NULL, *output = NULL;
    char why[PATH_BYTES + 128];
    struct sbx_option_reader reader;
    int status = SBX_EXIT_DONE;
    sbx_option_reader_init(&reader, "seal open", open_options, OPEN_COUNT, argc, argv);
    for (int event = sbx_option_next(&reader); event != SBX_OPTION_END && status == SBX_EXIT_DONE;
         event = sbx_option_next(&reader)) {
        switch (event) {
        case OPEN_KEY:
            if (sbx_unseal_key_file_add(&keys, reader.value, why, sizeof why) != 0) {
                status = sbx_failure("seal open", "%s", why);
            }
            break;
        case OPEN_OUT:
            output = reader.value;
            break;
        case SBX_OPTION_OPERAND:
            if (path != NULL) {
                status = sbx_usage_error("seal", "open takes one PAYLOAD, but got '%s' too", reader.value);
            }
            path = reader.value;
            break;
        case SBX_OPTION_HELP:
            sbx_usage_seal(stdout);
            sbx_unseal_keys_wipe(&keys);
            return SBX_EXIT_DONE;
        default:
            status = SBX_EXIT_USAGE;
        }
    }
    if (status == SBX_EXIT_DONE && (path == NULL || keys.count == 0)) {
        status = sbx_usage_error("seal", "open needs %s", path == NULL ? "a PAYLOAD" : "--unseal-key FILE");
    }
    if (status == SBX_EXIT_DONE) {
        status = open_with(&keys, path, output);
    }
    sbx_unseal_keys_wipe(&keys);
    return status;
}

int sbx_command_seal(int argc, char **argv)
{
    if (argc < 2) {
        return sbx_usage_error("seal", "what: keygen, id or open?");
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        sbx_usage_seal(stdout);
        return SBX_EXIT_DONE;
    }
    if (strcmp(argv[1], "keygen") == 0) {
        return keygen(argc - 1, argv + 1);
    }
    if (strcmp(argv[1], "id") == 0) {
        return print_ids(argc - 1, argv + 1);
    }
    if (strcmp(argv[1], "open") == 0) {
        return open_sealed(argc - 1, argv + 1);
    }
    if (argv[1][0] == '-') {
        return sbx_usage_error("seal", "unknown option '%s'", argv[1]);
    }
    return sbx_usage_error("seal", "unknown word '%s': keygen, id or open", argv[1]);
}
