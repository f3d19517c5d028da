/* SPDX-License-Identifier: Apache-2.0 */
/* token_book.c - reads the whole file, and writes the whole file. */
#include "token_book.h"

#include <errno.h>
#include <fcntl.h>
#include <mbedtls/sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    RANDOM_BYTES = 24
};

int sbx_token_digest(const char *secret, size_t bytes, uint8_t digest_out[SBX_TOKEN_DIGEST])
{
    return mbedtls_sha256_ret((const unsigned char *)secret, bytes, digest_out, 0) == 0 ? 0 : -EIO;
}

static int say(char *why, size_t why_bytes, const char *path, int result)
{
    snprintf(why, why_bytes, "%s: %s", path, strerror(-result));
    return result;
}

/* Append a line's token. */
static int take_line(struct sbx_token **tokens, size_t *count, const char *line, size_t bytes, const char **wrong_out)
{
    if (bytes > 0 && line[bytes - 1] == '\n')
        bytes--;
    if (bytes == 0 || line[0] == '#')
        return 0;
    if (*count == SBX_TOKENS_MAX)
        return -E2BIG;
    if ((*count & (*count - 1)) == 0) { /* grow to twice the size */
        struct sbx_token *grown = reallocarray(*tokens, *count ? 2 * *count : 1, sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        *tokens = grown;
    }
    *wrong_out = sbx_token_line_read(line, bytes, &(*tokens)[*count]);
    if (*wrong_out)
        return -EINVAL;
    (*count)++;
    return 0;
}

int sbx_token_book_read(const char *path, struct sbx_token **tokens_out, size_t *count_out, char *why, size_t why_bytes)
{
    struct stat status;
    *tokens_out = NULL;
    *count_out = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    if (!file) {
        int result = -errno;
        if (fd >= 0)
            close(fd);
        return say(why, why_bytes, path, result);
    }
    int result = fstat(fd, &status) == 0 ? 0 : -errno;
    if (result == 0 && !S_ISREG(status.st_mode)) {
        snprintf(why, why_bytes, "%s: is no file", path);
        fclose(file);
        return -EPERM;
    }
    if (result == 0 && (status.st_mode & (S_IRWXG | S_IRWXO))) {
        snprintf(why, why_bytes, "%s: others may read or write it; use chmod 600", path);
        fclose(file);
        return -EPERM;
    }
    char *line = NULL;
    const char *wrong = NULL;
    size_t room = 0, number = 0;
    ssize_t bytes;
    while (result == 0 && (bytes = getline(&line, &room, file)) >= 0) {
        number++;
        result = take_line(tokens_out, count_out, line, (size_t)bytes, &wrong);
    }
    if (result == 0 && ferror(file))
        result = -EIO;
    if (result < 0) {
        if (wrong)
            snprintf(why, why_bytes, "%s, line %zu: %s", path, number, wrong);
        else
            say(why, why_bytes, path, result);
        free(*tokens_out);
        *tokens_out = NULL;
        *count_out = 0;
    }
    free(line);
    fclose(file);
    return result;
}

/* ---- writing ---- */

/* Lock the file next to it. Returns a descriptor or -errno. */
static int lock_beside(const char *path)
{
    char *lock;
    if (asprintf(&lock, "%s.lock", path) < 0)
        return -ENOMEM;
    int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600), result = fd < 0 ? -errno : fd;
    free(lock);
    while (fd >= 0 && flock(fd, LOCK_EX) < 0)
        if (errno != EINTR) {
            result = -errno;
            close(fd);
            return result;
        }
    return result;
}

static int sync_folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    int result = fd < 0 ? (folder ? -errno : -ENOMEM) : fsync(fd) < 0 ? -errno : 0;
    if (fd >= 0)
        close(fd);
    free(folder);
    return result;
}

/* Write all tokens, except the one at `without` (SIZE_MAX: none), in place of the file. */
static int write_all(const char *path, const struct sbx_token *tokens, size_t count, size_t without)
{
    char *aside, line[SBX_TOKEN_LINE_BYTES];
    if (asprintf(&aside, "%s.new", path) < 0)
        return -ENOMEM;
    unlink(aside); /* left behind by a process that was killed here */
    int fd = open(aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600), result = fd < 0 ? -errno : 0;
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (file) {
        fputs("# stallbox token: one a line; the secrets are not here, only their SHA-256\n", file);
        for (size_t i = 0; i < count; i++) {
            if (i == without)
                continue;
            sbx_token_line_print(&tokens[i], line);
            fprintf(file, "%s\n", line);
        }
        if (fflush(file) != 0 || fsync(fd) < 0)
            result = -errno;
        if (fclose(file) != 0 && result == 0)
            result = -errno;
    } else if (fd >= 0) {
        result = -ENOMEM;
        close(fd);
    }
    if (result == 0 && rename(aside, path) < 0)
        result = -errno;
    if (result == 0)
        result = sync_folder_of(path);
    else
        unlink(aside);
    free(aside);
    return result;
}

/* Write all tokens, with one added or removed. */
static int change(const char *path, const struct sbx_token *added, const char *removed, char *why, size_t why_bytes)
{
    struct sbx_token *tokens;
    size_t count, without = SIZE_MAX;
    int lock = lock_beside(path);
    if (lock < 0)
        return say(why, why_bytes, path, lock);
    int result = sbx_token_book_read(path, &tokens, &count, why, why_bytes);
    if (result == -ENOENT && added)
        result = 0;
    if (result < 0)
        goto unlock;
    for (size_t i = 0; removed && i < count; i++)
        if (strcmp(tokens[i].id, removed) == 0)
            without = i;
    if (removed && without == SIZE_MAX) {
        snprintf(why, why_bytes, "%s: there is no token %s", path, removed);
        result = -ENOENT;
    } else if (added && count == SBX_TOKENS_MAX) {
        result = say(why, why_bytes, path, -E2BIG);
    } else {
        struct sbx_token *grown = reallocarray(tokens, count + 1, sizeof(*grown));
        result = grown ? 0 : -ENOMEM;
        tokens = grown ? grown : tokens;
        if (result == 0 && added)
            tokens[count++] = *added;
        if (result == 0)
            result = write_all(path, tokens, count, without);
        if (result < 0)
            say(why, why_bytes, path, result);
    }
    free(tokens);
unlock:
    close(lock);
    return result;
}

int sbx_token_book_add(const char *path, struct sbx_token *token, char secret_out[SBX_TOKEN_SECRET_BYTES], char *why,
                       size_t why_bytes)
{
    uint8_t random[RANDOM_BYTES + (SBX_TOKEN_ID_TEXT - 1) / 2];
    size_t used = 4;
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return say(why, why_bytes, path, -EAGAIN);
    memcpy(secret_out, "sbt_", 5);
    for (size_t i = 0; i < RANDOM_BYTES; i++, used += 2)
        snprintf(secret_out + used, 3, "%02x", random[i]);
    for (size_t i = RANDOM_BYTES; i < sizeof(random); i++)
        snprintf(token->id + 2 * (i - RANDOM_BYTES), 3, "%02x", random[i]);
    explicit_bzero(random, sizeof(random));
    token->made_s = time(NULL);
    int result = sbx_token_digest(secret_out, used, token->digest);
    return result < 0 ? say(why, why_bytes, path, result) : change(path, token, NULL, why, why_bytes);
}

int sbx_token_book_remove(const char *path, const char *id, char *why, size_t why_bytes)
{
    return change(path, NULL, id, why, why_bytes);
}
