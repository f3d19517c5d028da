/* SPDX-License-Identifier: Apache-2.0 */
/* policy.c - `stallbox policy`: makes keys, and signs, verifies and shows remote flags. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "options.h"
#include "policy_key_file.h"
#include "policy_text.h"
#include "policy_trust.h"

enum {
    TEXT_BYTES_MAX = 1 << 20,
    PATH_BYTES = 4096
};

enum {
    SIGN_KEY,
    SIGN_ADD,
    SIGN_OUT,
    SIGN_NOW,
    SIGN_COUNT
};
static const struct sbx_option sign_options[SIGN_COUNT] = {
    [SIGN_KEY] = {"--key", 'k', "FILE", "sign with this secret key; may be repeated (required)"},
    [SIGN_ADD] = {"--add", 'a', NULL, "FIELDS is a signed document: add signatures to those it has"},
    [SIGN_OUT] = {"--output", 'o', "FILE", "where the document goes (default: standard output)"},
    [SIGN_NOW] = {"--now", 0, "TIME", "what \"now\" means in the text, for builds that must be repeatable"},
};

enum {
    VERIFY_TRUST,
    VERIFY_AFTER,
    VERIFY_NOW,
    VERIFY_COUNT
};
static const struct sbx_option verify_options[VERIFY_COUNT] = {
    [VERIFY_TRUST] = {"--trust", 't', "FILE", "the KEYSET that ships with the application (required)"},
    [VERIFY_AFTER] = {"--after", 'a', "FILE", "the documents that machines have already: an older FILE is refused"},
    [VERIFY_NOW] = {"--now", 0, "TIME", "judge as of this time"},
};

void sbx_usage_policy(FILE *out)
{
    fputs("usage: stallbox policy keygen NAME\n"
          "       stallbox policy sign --key FILE [OPTION]... FIELDS\n"
          "       stallbox policy verify --trust KEYSET [OPTION]... FILE...\n"
          "       stallbox policy show FILE...\n"
          "\n"
          "Signed documents steer what a fleet records and sends. They are signed here and verified on every machine.\n"
          "\n"
          "  keygen   make a key pair, NAME.key (secret, 0600) and NAME.pub\n"
          "  sign     make a document from a text of fields (\"-\": standard input)\n"
          "  verify   say whether a machine would accept these documents, and why not\n"
          "  show     print the fields, in the form that sign reads; verifies nothing\n"
          "\n"
          "Machines read a bundle: documents one after the other. cat KEYSETs... POLICY > BUNDLE\n"
          "\n"
          "sign:\n",
          out);
    sbx_options_print(sign_options, SIGN_COUNT, out);
    fputs("\nverify:\n", out);
    sbx_options_print(verify_options, VERIFY_COUNT, out);
    fputs("\nTIME is 2027-01-31, 2027-01-31T10:00:00Z or Unix seconds. Fields and a worked example: docs/POLICY.md\n",
          out);
}

/* ---- files ---- */

/* Read a whole file, with a NUL after it. `path` "-": standard input. Returns 0 or an exit status, after a message. */
static int read_whole(const char *command, const char *path, size_t bytes_max, uint8_t **bytes_out, size_t *count_out)
{
    int file = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    uint8_t *bytes = malloc(bytes_max + 2);
    size_t count = 0;
    int status = SBX_EXIT_DONE;
    if (file < 0 || bytes == NULL) {
        status = sbx_failure(command, "%s: %s", path, strerror(file < 0 ? errno : ENOMEM));
    }
    while (status == SBX_EXIT_DONE) {
        ssize_t got = read(file, bytes + count, bytes_max + 1 - count);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            status = sbx_failure(command, "%s: %s", path, strerror(errno));
        }
        if (got <= 0) {
            break;
        }
        count += (size_t)got;
        if (count > bytes_max) {
            status = sbx_failure(command, "%s: larger than %zu bytes", path, bytes_max);
        }
    }
    if (file > STDIN_FILENO) {
        close(file);
    }
    if (status != SBX_EXIT_DONE) {
        free(bytes);
        return status;
    }
    bytes[count] = '\0';
    *bytes_out = bytes;
    *count_out = count;
    return SBX_EXIT_DONE;
}

/* Write the file completely or not at all, so that a pipeline that fails publishes nothing. */
static int write_whole(const char *path, const uint8_t *bytes, size_t count)
{
    char temporary[PATH_BYTES];
    if (path == NULL || strcmp(path, "-") == 0) {
        return fwrite(bytes, 1, count, stdout) == count ? SBX_EXIT_DONE : SBX_EXIT_FAILED; /* main() says why */
    }
    if ((size_t)snprintf(temporary, sizeof temporary, "%s.%d.tmp", path, (int)getpid()) >= sizeof temporary) {
        return sbx_failure("policy sign", "%s: %s", path, strerror(ENAMETOOLONG));
    }
    int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (file < 0) {
        return sbx_failure("policy sign", "%s: %s", temporary, strerror(errno));
    }
    int error = 0;
    size_t done = 0;
    while (done < count && error == 0) {
        ssize_t written = write(file, bytes + done, count - done);
        error = written < 0 ? errno : 0;
        done += written > 0 ? (size_t)written : 0;
    }
    error = error == 0 && fsync(file) != 0 ? errno : error;
    error = close(file) != 0 && error == 0 ? errno : error;
    error = error == 0 && rename(temporary, path) != 0 ? errno : error;
    if (error != 0) {
        unlink(temporary);
        return sbx_failure("policy sign", "%s: %s", path, strerror(error));
    }
    return SBX_EXIT_DONE;
}

/* ---- keygen ---- */

static int keygen(int argc, char **argv)
{
    uint8_t secret[SBX_SECRET_KEY_BYTES], key[SBX_PUBLIC_KEY_BYTES], id[SBX_KEY_ID_BYTES];
    char why[PATH_BYTES + 128], hex[2 * SBX_KEY_ID_BYTES + 1];
    if (argc != 2 || argv[1][0] == '-') {
        return sbx_usage_error("policy",
                               argc == 2 && argv[1][0] == '-' ? "unknown option '%s'" : "keygen takes one NAME%s",
                               argc == 2 && argv[1][0] == '-' ? argv[1] : "");
    }
    int result = sbx_key_make(secret, key);
    if (result != 0) {
        return sbx_failure("policy keygen", "%s", strerror(-result));
    }
    result = sbx_key_files_write(argv[1], secret, key, why, sizeof why);
    explicit_bzero(secret, sizeof secret);
    if (result != 0) {
        return sbx_failure("policy keygen", "%s", why);
    }
    if (sbx_key_id(key, id) == 0) {
        sbx_key_hex_print(id, sizeof id, hex);
        fprintf(stderr, "stallbox policy keygen: key %s in %s.key (keep it secret) and %s.pub\n", hex, argv[1],
                argv[1]);
    }
    return SBX_EXIT_DONE;
}

/* ---- sign ---- */

struct signing {
    const char *keys[SBX_SIGNED_SIGNATURES_MAX];
    uint32_t key_count;
    bool is_adding;
    const char *output, *fields;
    uint64_t now_s;
    enum sbx_signed_role role;
    uint8_t payload[SBX_SIGNED_PAYLOAD_MAX];
    size_t payload_bytes;
    uint8_t slots[SBX_SIGNED_SIGNATURES_MAX * SBX_SIGNED_SLOT_BYTES];
    uint32_t slot_count;
};

static int read_fields(struct signing *signing)
{
    char why[PATH_BYTES + 256], folder[PATH_BYTES] = "";
    uint8_t *text;
    size_t count;
    int status = read_whole("policy sign", signing->fields, TEXT_BYTES_MAX, &text, &count);
    if (status != SBX_EXIT_DONE) {
        return status;
    }
    const char *slash = strrchr(signing->fields, '/');
    if (slash != NULL) {
        snprintf(folder, sizeof folder, "%.*s", (int)(slash + 1 - signing->fields), signing->fields);
    }
    struct sbx_policy_draft draft;
    if (memchr(text, '\0', count) != NULL) {
        status = sbx_failure("policy sign", "%s: not a text", signing->fields);
    } else if (sbx_policy_text_read((char *)text,
                                    strcmp(signing->fields, "-") == 0 ? "standard input" : signing->fields, folder,
                                    signing->now_s, &draft, why, sizeof why) != 0) {
        status = sbx_failure("policy sign", "%s", why);
    } else {
        signing->role = draft.role;
        signing->payload_bytes = sbx_policy_draft_encode(&draft, signing->payload, sizeof signing->payload);
    }
    free(text);
    return status;
}

static int read_signed(struct signing *signing)
{
    struct sbx_signed_document document;
    uint8_t *bytes;
    size_t count;
    int status = read_whole("policy sign", signing->fields, SBX_SIGNED_BYTES_MAX, &bytes, &count);
    if (status != SBX_EXIT_DONE) {
        return status;
    }
    const char *wrong = sbx_signed_document_parse(bytes, count, &document);
    if (wrong == NULL && document.byte_count != count) {
        wrong = "more than one document";
    }
    if (wrong != NULL) {
        status = sbx_failure("policy sign", "%s: %s", signing->fields, wrong);
    } else {
        signing->role = document.role;
        signing->payload_bytes = document.payload_bytes;
        signing->slot_count = document.signature_count;
        memcpy(signing->payload, document.payload, document.payload_bytes);
        memcpy(signing->slots, document.signatures, (size_t)document.signature_count * SBX_SIGNED_SLOT_BYTES);
    }
    free(bytes);
    return status;
}

static int sign_with_keys(struct signing *signing)
{
    static uint8_t document[SBX_SIGNED_BYTES_MAX];
    char why[PATH_BYTES + 128];
    int count = 0;
    for (uint32_t i = 0; i < signing->key_count; i++) {
        uint8_t secret[SBX_SECRET_KEY_BYTES];
        if (signing->slot_count == SBX_SIGNED_SIGNATURES_MAX) {
            return sbx_failure("policy sign", "a document has %d signatures at most", SBX_SIGNED_SIGNATURES_MAX);
        }
        if (sbx_secret_key_read(signing->keys[i], secret, why, sizeof why) != 0) {
            return sbx_failure("policy sign", "%s", why);
        }
        count = sbx_signed_document_write(signing->role, signing->payload, signing->payload_bytes, signing->slots,
                                          signing->slot_count, secret, document, sizeof document);
        explicit_bzero(secret, sizeof secret);
        if (count < 0) {
            return sbx_failure("policy sign", "%s: %s", signing->keys[i],
                               count == -EEXIST ? "this key has signed it already" : strerror(-count));
        }
        signing->slot_count++;
        memcpy(signing->slots, document + SBX_SIGNED_HEADER_BYTES + signing->payload_bytes,
               (size_t)signing->slot_count * SBX_SIGNED_SLOT_BYTES);
    }
    return write_whole(signing->output, document, (size_t)count);
}

/* Read "--now TIME". Returns SBX_EXIT_USAGE after a message when it is no time. */
static int read_now(const char *command, const char *text, uint64_t *now_out)
{
    if (!sbx_policy_time_read(text, *now_out, now_out)) {
        return sbx_usage_error(command, "'%s' is no time: 2027-01-31, 2027-01-31T10:00:00Z or Unix seconds", text);
    }
    return SBX_EXIT_DONE;
}

static int sign(int argc, char **argv)
{
    static struct signing signing;
    struct sbx_option_reader reader;
    signing.now_s = (uint64_t)time(NULL);
    sbx_option_reader_init(&reader, "policy sign", sign_options, SIGN_COUNT, argc, argv);
    for (int event = sbx_option_next(&reader); event != SBX_OPTION_END; event = sbx_option_next(&reader)) {
        switch (event) {
        case SIGN_KEY:
            if (signing.key_count == SBX_SIGNED_SIGNATURES_MAX) {
                return sbx_usage_error("policy", "more than %d keys", SBX_SIGNED_SIGNATURES_MAX);
            }
            signing.keys[signing.key_count++] = reader.value;
            break;
        case SIGN_ADD:
            signing.is_adding = true;
            break;
        case SIGN_OUT:
            signing.output = reader.value;
            break;
        case SIGN_NOW:
            if (read_now("policy", reader.value, &signing.now_s) != SBX_EXIT_DONE) {
                return SBX_EXIT_USAGE;
            }
            break;
        case SBX_OPTION_OPERAND:
            if (signing.fields != NULL) {
                return sbx_usage_error("policy", "sign takes one text, but got '%s' too", reader.value);
            }
            signing.fields = reader.value;
            break;
        case SBX_OPTION_HELP:
            sbx_usage_policy(stdout);
            return SBX_EXIT_DONE;
        default:
            return SBX_EXIT_USAGE;
        }
    }
    if (signing.fields == NULL || signing.key_count == 0) {
        return sbx_usage_error("policy", "sign needs %s", signing.fields == NULL ? "a text of fields" : "--key FILE");
    }
    int status = signing.is_adding ? read_signed(&signing) : read_fields(&signing);
    return status == SBX_EXIT_DONE ? sign_with_keys(&signing) : status;
}

/* ---- verify ---- */

static void say_policy(const struct sbx_policy_trust *trust, const struct sbx_bundle_outcome *outcome, const char *path)
{
    char until[32];
    printf("%s: %s: KEYSET %u, epoch %u", path, sbx_policy_verdict_name(outcome->report.verdict), trust->keyset.version,
           trust->keyset.epoch);
    if (trust->is_killed) {
        printf(", KILLED by %u.%llu", trust->floor.epoch, (unsigned long long)trust->floor.seq);
    } else if (outcome->has_policy) {
        sbx_policy_time_print(outcome->policy.expires_at_s, until);
        printf(", POLICY %u.%llu until %s", outcome->policy.policy.epoch,
               (unsigned long long)outcome->policy.policy.seq, until);
    }
    putchar('\n');
}

/* Take one file. Returns whether it was accepted. */
static bool take_file(struct sbx_policy_trust *trust, const char *path, uint64_t now_s, bool is_after, int *status_out)
{
    static struct sbx_bundle_outcome outcome;
    uint8_t *bytes;
    size_t count;
    *status_out = read_whole("policy verify", path, SBX_BUNDLE_BYTES_MAX, &bytes, &count);
    if (*status_out != SBX_EXIT_DONE) {
        return false;
    }
    /* Judge as a machine with a correct clock would; the build time of this command does not matter. */
    const struct sbx_policy_moment moment = {.wall_s = now_s, .build_s = now_s};
    enum sbx_policy_verdict verdict = sbx_policy_trust_take_bundle(trust, bytes, count, &moment, &outcome);
    bool is_good = verdict == SBX_POLICY_ACCEPTED || verdict == SBX_POLICY_SAME;
    if (!is_good && !(is_after && (verdict == SBX_POLICY_EXPIRED || verdict == SBX_POLICY_KEYS_EXPIRED))) {
        *status_out =
            sbx_failure("policy verify", "%s: %s: %s", path, sbx_policy_verdict_name(verdict), outcome.report.why);
    } else if (!is_after) {
        say_policy(trust, &outcome, path);
    }
    free(bytes);
    return is_good;
}

static int verify(int argc, char **argv)
{
    static struct sbx_policy_trust trust;
    struct sbx_option_reader reader;
    struct sbx_policy_report report;
    const char *trust_path = NULL, *after_path = NULL, **files = calloc((size_t)argc, sizeof *files);
    uint64_t now_s = (uint64_t)time(NULL);
    uint8_t *bytes;
    size_t count, file_count = 0;
    int status = files == NULL ? sbx_failure("policy verify", "%s", strerror(ENOMEM)) : SBX_EXIT_DONE;
    sbx_option_reader_init(&reader, "policy verify", verify_options, VERIFY_COUNT, argc, argv);
    for (int event = SBX_OPTION_BAD; status == SBX_EXIT_DONE;) {
        event = sbx_option_next(&reader);
        if (event == SBX_OPTION_END) {
            break;
        }
        switch (event) {
        case VERIFY_TRUST:
            trust_path = reader.value;
            break;
        case VERIFY_AFTER:
            after_path = reader.value;
            break;
        case VERIFY_NOW:
            status = read_now("policy", reader.value, &now_s);
            break;
        case SBX_OPTION_OPERAND:
            files[file_count++] = reader.value;
            break;
        case SBX_OPTION_HELP:
            sbx_usage_policy(stdout);
            free(files);
            return SBX_EXIT_DONE;
        default:
            status = SBX_EXIT_USAGE;
            break;
        }
    }
    if (status == SBX_EXIT_DONE && (trust_path == NULL || file_count == 0)) {
        status = sbx_usage_error("policy", "verify needs %s", trust_path == NULL ? "--trust KEYSET" : "a FILE");
    }
    if (status == SBX_EXIT_DONE) {
        status = read_whole("policy verify", trust_path, SBX_BUNDLE_BYTES_MAX, &bytes, &count);
    }
    if (status == SBX_EXIT_DONE) {
        if (sbx_policy_trust_begin(bytes, count, NULL, &trust, &report) != SBX_POLICY_ACCEPTED) {
            status = sbx_failure("policy verify", "%s: %s: %s", trust_path, sbx_policy_verdict_name(report.verdict),
                                 report.why);
        }
        free(bytes);
    }
    if (status == SBX_EXIT_DONE && after_path != NULL) {
        take_file(&trust, after_path, now_s, true, &status);
    }
    for (size_t i = 0; i < file_count && status == SBX_EXIT_DONE; i++) {
        take_file(&trust, files[i], now_s, false, &status);
    }
    free(files);
    return status;
}

/* ---- show ---- */

static int show_file(const char *path)
{
    uint8_t *bytes;
    size_t count;
    int status = read_whole("policy show", path, SBX_BUNDLE_BYTES_MAX, &bytes, &count);
    if (status != SBX_EXIT_DONE) {
        return status;
    }
    size_t at = 0;
    do {
        struct sbx_signed_document document;
        const char *wrong = sbx_signed_document_parse(bytes + at, count - at, &document);
        if (wrong != NULL) {
            status = sbx_failure("policy show", "%s: at byte %zu: %s", path, at, wrong);
            break;
        }
        if (sbx_policy_text_print(&document, stdout) != 0) {
            status = sbx_failure("policy show", "%s: at byte %zu: unreadable payload", path, at);
        }
        at += document.byte_count;
    } while (at < count);
    free(bytes);
    return status;
}

static int show(int argc, char **argv)
{
    int status = SBX_EXIT_DONE;
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-' && argv[i][1] != '\0') {
            return sbx_usage_error("policy", "unknown option '%s'", argv[i]);
        }
    }
    if (argc < 2) {
        return sbx_usage_error("policy", "show needs a FILE");
    }
    for (int i = 1; i < argc; i++) {
        int one = show_file(argv[i]);
        status = one != SBX_EXIT_DONE ? one : status;
    }
    return status;
}

int sbx_command_policy(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*main)(int argc, char **argv);
    } verbs[] = {{"keygen", keygen}, {"sign", sign}, {"verify", verify}, {"show", show}};
    if (argc < 2) {
        return sbx_usage_error("policy", "what to do is missing: keygen, sign, verify or show");
    }
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            sbx_usage_policy(stdout);
            return SBX_EXIT_DONE;
        }
    }
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(argv[1], verbs[i].name) == 0) {
            return verbs[i].main(argc - 1, argv + 1);
        }
    }
    return sbx_usage_error("policy", "unknown %s '%s'", argv[1][0] == '-' ? "option" : "verb", argv[1]);
}
