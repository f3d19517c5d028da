/* SPDX-License-Identifier: Apache-2.0 */
/* policy_key_file.c - writes keys to files, and reads them. */
#include "policy_key_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy_text.h"

enum {
    LINE_MAX_BYTES = 256
};

/* What begins the lines of one sort of key. */
struct key_words {
    const char *secret, *public_;
    size_t public_bytes; /* a secret has 32 */
};
static const struct key_words signing = {"stallbox-secret-key p256 ", "stallbox-public-key p256 ",
                                         SBX_PUBLIC_KEY_BYTES};
static const struct key_words sealing = {"stallbox-secret-key x25519 ", "stallbox-public-key x25519 ",
                                         SBX_SEAL_KEY_BYTES};
_Static_assert((int)SBX_SECRET_KEY_BYTES == (int)SBX_SEAL_KEY_BYTES, "secrets of both sorts have 32 bytes");

/* Write a new file with one line, durably. */
static int write_new(const char *path, mode_t mode, const char *line, char *why, size_t why_bytes)
{
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (file < 0) {
        int result = -errno;
        snprintf(why, why_bytes, "%s: %s", path,
                 errno == EEXIST ? "is there already, and a key is never overwritten" : strerror(errno));
        return result;
    }
    size_t length = strlen(line);
    int result = 0;
    if (fchmod(file, mode) != 0 || write(file, line, length) != (ssize_t)length || fsync(file) != 0) {
        result = errno != 0 ? -errno : -EIO;
    }
    if (close(file) != 0 && result == 0) {
        result = -errno;
    }
    if (result != 0) {
        snprintf(why, why_bytes, "%s: %s", path, strerror(-result));
        unlink(path);
    }
    return result;
}

static int write_pair(const struct key_words *words, const char *name, const uint8_t *secret, const uint8_t *key,
                      char *why, size_t why_bytes)
{
    char path[2][4096], line[LINE_MAX_BYTES], hex[2 * SBX_PUBLIC_KEY_BYTES + 1];
    for (int i = 0; i < 2; i++) {
        if ((size_t)snprintf(path[i], sizeof path[i], "%s.%s", name, i == 0 ? "key" : "pub") >= sizeof path[i]) {
            snprintf(why, why_bytes, "the name is too long");
            return -ENAMETOOLONG;
        }
    }
    struct stat status;
    if (lstat(path[1], &status) == 0) {
        snprintf(why, why_bytes, "%s: is there already, and a key is never overwritten", path[1]);
        return -EEXIST;
    }
    sbx_key_hex_print(secret, SBX_SECRET_KEY_BYTES, hex);
    snprintf(line, sizeof line, "%s%s\n", words->secret, hex);
    int result = write_new(path[0], 0600, line, why, why_bytes);
    explicit_bzero(hex, sizeof hex);
    explicit_bzero(line, sizeof line);
    if (result != 0) {
        return result;
    }
    sbx_key_hex_print(key, words->public_bytes, hex);
    snprintf(line, sizeof line, "%s%s\n", words->public_, hex);
    result = write_new(path[1], 0644, line, why, why_bytes);
    if (result != 0) {
        unlink(path[0]);
    }
    return result;
}

int sbx_key_files_write(const char *name, const uint8_t secret[SBX_SECRET_KEY_BYTES],
                        const uint8_t key[SBX_PUBLIC_KEY_BYTES], char *why, size_t why_bytes)
{
    return write_pair(&signing, name, secret, key, why, why_bytes);
}

int sbx_seal_key_files_write(const char *name, const uint8_t secret[SBX_SEAL_KEY_BYTES],
                             const uint8_t key[SBX_SEAL_KEY_BYTES], char *why, size_t why_bytes)
{
    return write_pair(&sealing, name, secret, key, why, why_bytes);
}

/* Read the bytes after `word` in the file's first line. */
static int read_line(const char *path, const char *word, bool is_secret, uint8_t *bytes_out, size_t bytes, char *why,
                     size_t why_bytes)
{
    char line[LINE_MAX_BYTES];
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (file < 0 || fstat(file, &status) != 0) {
        int result = -errno;
        snprintf(why, why_bytes, "%s: %s", path, strerror(errno));
        if (file >= 0) {
            close(file);
        }
        return result;
    }
    if (is_secret && S_ISREG(status.st_mode) && (status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        snprintf(why, why_bytes, "%s: others may read or write it; use chmod 600", path);
        close(file);
        return -EPERM;
    }
    ssize_t got = read(file, line, sizeof line - 1);
    close(file);
    line[got > 0 ? got : 0] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    size_t word_bytes = strlen(word);
    bool is_whole = strncmp(line, word, word_bytes) == 0 && sbx_key_hex_read(line + word_bytes, bytes_out, bytes);
    explicit_bzero(line, sizeof line);
    if (!is_whole) {
        snprintf(why, why_bytes, "%s: not a %s key (its first line should be \"%sHEX\")", path,
                 is_secret ? "secret" : "public", word);
        return -EINVAL;
    }
    return 0;
}

int sbx_secret_key_read(const char *path, uint8_t secret_out[SBX_SECRET_KEY_BYTES], char *why, size_t why_bytes)
{
    return read_line(path, signing.secret, true, secret_out, SBX_SECRET_KEY_BYTES, why, why_bytes);
}

int sbx_public_key_read(const char *path, uint8_t key_out[SBX_PUBLIC_KEY_BYTES], char *why, size_t why_bytes)
{
    int result = read_line(path, signing.public_, false, key_out, SBX_PUBLIC_KEY_BYTES, why, why_bytes);
    if (result == 0 && sbx_key_check(key_out) != 0) {
        snprintf(why, why_bytes, "%s: its key is no point of P-256", path);
        result = -EINVAL;
    }
    return result;
}

int sbx_seal_secret_read(const char *path, uint8_t secret_out[SBX_SEAL_KEY_BYTES], char *why, size_t why_bytes)
{
    return read_line(path, sealing.secret, true, secret_out, SBX_SEAL_KEY_BYTES, why, why_bytes);
}

int sbx_seal_public_read(const char *path, uint8_t key_out[SBX_SEAL_KEY_BYTES], char *why, size_t why_bytes)
{
    return read_line(path, sealing.public_, false, key_out, SBX_SEAL_KEY_BYTES, why, why_bytes);
}
