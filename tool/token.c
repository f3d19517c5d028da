/* SPDX-License-Identifier: Apache-2.0 */
/* token.c - `stallbox token`: makes, lists and removes the tokens of a server. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "command.h"
#include "options.h"
#include "policy_text.h"
#include "token_book.h"

enum {
    PATH_BYTES = 4096,
    DAY_S = 86400
};

enum {
    OPTION_DATA,
    OPTION_BOOK,
    OPTION_ROLE,
    OPTION_APP,
    OPTION_DAYS,
    OPTION_RATE,
    OPTION_NOTE,
    OPTION_COUNT
};
static const struct sbx_option options[OPTION_COUNT] = {
    [OPTION_DATA] = {"--data", 'd', "DIR", "the server's folder; its tokens are in DIR/tokens"},
    [OPTION_BOOK] = {"--tokens", 0, "FILE", "the file itself, where serve --tokens names another one"},
    [OPTION_ROLE] =
        {"--role", 'r', "ROLES",
         "send, symbols, read, several of them with commas, or admin,\nwhich is everything (add; required)"},
    [OPTION_APP] = {"--app", 'a', "NAME",
                    "for this application alone: the name of run --app, else its\nexecutable's name (add; default: all "
                    "applications)"},
    [OPTION_DAYS] = {"--days", 0, "N", "the token ends N days from now (add; default: never)"},
    [OPTION_RATE] =
        {"--rate", 0, "N",
         "the token may send N payloads and symbol files an hour (add; default:\nthat of serve --token-rate)"},
    [OPTION_NOTE] = {"--note", 0, "TEXT", "a description for people (add)"},
};

void sbx_usage_token(FILE *out)
{
    fputs("usage: stallbox token add --data DIR --role ROLES [--app NAME] [OPTION]...\n"
          "       stallbox token list --data DIR\n"
          "       stallbox token remove --data DIR ID\n"
          "\n"
          "Make and remove the secrets that senders and readers of a server must know. A running server applies a "
          "change\n"
          "within a second.\n"
          "\n"
          "  add      print a new secret on standard output, once: only its SHA-256 is kept\n"
          "  list     print all tokens, without their secrets\n"
          "  remove   remove one; sessions of people who logged in with it end too\n"
          "\n",
          out);
    sbx_options_print(options, OPTION_COUNT, out);
    fputs("\n"
          "As soon as one token is for one application alone, reading always needs a token, even on this machine. So\n"
          "applications that share a server see nothing of one another.\n",
          out);
}

struct request {
    char book[PATH_BYTES];
    const char *id; /* operand */
    struct sbx_token token;
};

/* Copy a text, which must fit. */
static int take_text(const char *option, const char *value, char *out, size_t room)
{
    if (*value == '\0' || strlen(value) >= room) {
        return sbx_usage_error("token", "%s takes 1 to %zu bytes", option, room - 1);
    }
    for (const char *at = value; *at != '\0'; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f) {
            return sbx_usage_error("token", "%s takes text without control characters", option);
        }
    }
    snprintf(out, room, "%s", value);
    return SBX_EXIT_DONE;
}

static int read_request(int argc, char **argv, struct request *request, bool *help_out)
{
    struct sbx_option_reader reader;
    uint64_t number;
    int status = SBX_EXIT_DONE;
    sbx_option_reader_init(&reader, "token", options, OPTION_COUNT, argc, argv);
    while (status == SBX_EXIT_DONE) {
        switch (sbx_option_next(&reader)) {
        case OPTION_DATA:
            snprintf(request->book, sizeof request->book, "%s/tokens", reader.value);
            if (mkdir(reader.value, 0700) != 0 && errno != EEXIST) {
                return sbx_failure("token", "%s: %s", reader.value, strerror(errno));
            }
            break;
        case OPTION_BOOK:
            snprintf(request->book, sizeof request->book, "%s", reader.value);
            break;
        case OPTION_ROLE:
            request->token.rights = sbx_token_rights_read(reader.value);
            if (request->token.rights == 0) {
                return sbx_usage_error("token", "--role takes send, symbols, read or admin, not '%s'", reader.value);
            }
            break;
        case OPTION_APP:
            status = take_text("--app", reader.value, request->token.app, sizeof request->token.app);
            break;
        case OPTION_DAYS:
            if (!sbx_option_number(&reader, OPTION_DAYS, 1, 36500, &number)) {
                return SBX_EXIT_USAGE;
            }
            request->token.ends_s = time(NULL) + (int64_t)number * DAY_S;
            break;
        case OPTION_RATE:
            if (!sbx_option_number(&reader, OPTION_RATE, 1, 1000000000, &number)) {
                return SBX_EXIT_USAGE;
            }
            request->token.an_hour = (uint32_t)number;
            break;
        case OPTION_NOTE:
            status = take_text("--note", reader.value, request->token.note, sizeof request->token.note);
            break;
        case SBX_OPTION_HELP:
            *help_out = true;
            return SBX_EXIT_DONE;
        case SBX_OPTION_OPERAND:
            if (request->id != NULL) {
                return sbx_usage_error("token", "unexpected argument '%s'", reader.value);
            }
            request->id = reader.value;
            break;
        case SBX_OPTION_END:
            return request->book[0] != '\0' ? SBX_EXIT_DONE : sbx_usage_error("token", "--data DIR is missing");
        default:
            return SBX_EXIT_USAGE;
        }
    }
    return status;
}

static int add(struct request *request)
{
    char secret[SBX_TOKEN_SECRET_BYTES], why[PATH_BYTES + 200];
    if (request->token.rights == 0) {
        return sbx_usage_error("token", "add needs --role");
    }
    if (request->id != NULL) {
        return sbx_usage_error("token", "unexpected argument '%s'", request->id);
    }
    if (request->token.app[0] != '\0') {
        if (sbx_app_id_of_name(request->token.app, request->token.policy_id) != 0) {
            return sbx_failure("token", "%s", strerror(EIO));
        }
        request->token.has_policy_id = true;
    }
    if (sbx_token_book_add(request->book, &request->token, secret, why, sizeof why) != 0) {
        return sbx_failure("token", "%s", why);
    }
    puts(secret);
    explicit_bzero(secret, sizeof secret);
    fprintf(stderr, "stallbox token: %s is in %s; its secret is not kept anywhere\n", request->token.id, request->book);
    return fflush(stdout) == 0 ? SBX_EXIT_DONE : sbx_failure("token", "%s", strerror(errno));
}

static void print_day(int64_t seconds, const char *otherwise, char text_out[16])
{
    struct tm date;
    time_t time = seconds;
    snprintf(text_out, 16, "%s", otherwise);
    if (seconds != 0 && gmtime_r(&time, &date) != NULL) {
        strftime(text_out, 16, "%Y-%m-%d", &date);
    }
}

static int list(const struct request *request)
{
    struct sbx_token *tokens;
    size_t count;
    char why[PATH_BYTES + 200], rights[32], made[16], ends[16], rate[16];
    int result = sbx_token_book_read(request->book, &tokens, &count, why, sizeof why);
    if (result != 0 && result != -ENOENT) {
        return sbx_failure("token", "%s", why);
    }
    for (size_t i = 0; i < count; i++) {
        sbx_token_rights_print(tokens[i].rights, rights);
        print_day(tokens[i].made_s, "-", made);
        print_day(tokens[i].ends_s, "never", ends);
        snprintf(rate, sizeof rate, "%u", tokens[i].an_hour);
        printf("%s\t%s\t%s\tmade %s\tends %s\trate %s\t%s\n", tokens[i].id, rights,
               tokens[i].app[0] != '\0' ? tokens[i].app : "(all applications)", made, ends,
               tokens[i].an_hour != 0 ? rate : "-", tokens[i].note);
    }
    free(tokens);
    return SBX_EXIT_DONE;
}

static int remove_one(const struct request *request)
{
    char why[PATH_BYTES + 200];
    if (request->id == NULL) {
        return sbx_usage_error("token", "remove takes the ID that list shows");
    }
    if (sbx_token_book_remove(request->book, request->id, why, sizeof why) != 0) {
        return sbx_failure("token", "%s", why);
    }
    return SBX_EXIT_DONE;
}

int sbx_command_token(int argc, char **argv)
{
    static struct request request;
    bool help = false;
    const char *verb = argc > 1 ? argv[1] : "";
    if (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0) {
        sbx_usage_token(stdout);
        return SBX_EXIT_DONE;
    }
    if (strcmp(verb, "add") != 0 && strcmp(verb, "list") != 0 && strcmp(verb, "remove") != 0) {
        return *verb == '\0' ? sbx_usage_error("token", "add, list or remove is missing")
                             : sbx_usage_error("token", "unknown verb '%s'; there are add, list and remove", verb);
    }
    int status = read_request(argc - 1, argv + 1, &request, &help);
    if (help) {
        sbx_usage_token(stdout);
        return SBX_EXIT_DONE;
    }
    if (status != SBX_EXIT_DONE) {
        return status;
    }
    return verb[0] == 'a' ? add(&request) : verb[0] == 'l' ? list(&request) : remove_one(&request);
}
