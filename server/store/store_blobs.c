/* SPDX-License-Identifier: Apache-2.0 */
/* store_blobs.c - keys, debts, and the bytes of a row. No lock is held while bytes are transferred. */
#include "store_blobs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "blobs.h"
#include "envelope_format.h"
#include "store_inside.h"
#include "wall_clock.h"

enum {
    NONCE_BYTES = 8,
    PUT_MS_MAX = 3600000, /* a put ends within a minute, or has failed */
};

/* Log once when blobs begin to fail, and once when they work again. */
static void note(struct sbx_store *store, int result, const char *why)
{
    bool is_trouble = result < 0;
    if (atomic_exchange(&store->has_blob_trouble, is_trouble) == is_trouble)
        return;
    if (is_trouble)
        sbx_operator_log(store->log, SBX_LOG_WARNING, "blobs", "blobs: %s", why);
    else
        sbx_operator_log(store->log, SBX_LOG_INFO, "blobs", "blobs are there again");
}

int sbx_store_use_blobs(struct sbx_store *store, struct sbx_blobs *blobs, const struct sbx_operator_log *log)
{
    store->blobs = blobs;
    store->log = log;
    sbx_store_handle_lock(&store->writer);
    int result = blobs ? 0 : sbx_store_step(sbx_store_handle_use(&store->writer, HAS_BLOBS));
    sbx_store_handle_use(&store->writer, HAS_BLOBS); /* reset */
    sbx_store_handle_unlock(&store->writer);
    return result > 0 ? -EINVAL : result;
}

/* ---- putting ---- */

/* "payload/5b/5b1c...-0011223344556677". It begins with the id, so that people can find it, and no key is used
 * twice. */
static int make_key(const uint8_t id[SBX_ID_BYTES], char *key_out)
{
    uint8_t nonce[NONCE_BYTES];
    char id_text[SBX_ID_TEXT_BYTES], nonce_text[2 * NONCE_BYTES + 1];
    if (getrandom(nonce, sizeof(nonce), 0) != (ssize_t)sizeof(nonce))
        return -EAGAIN;
    sbx_id_print(id, id_text);
    sbx_hex_print(nonce, sizeof(nonce), nonce_text);
    snprintf(key_out, SBX_BLOB_KEY_BYTES, "payload/%.2s/%s-%s", id_text, id_text, nonce_text);
    return 0;
}

/* Run a statement of (key, time). The lock is held. */
static int run_debt(struct sbx_store *store, enum writer_statement index, const char *key, int64_t at_ms)
{
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, index);
    sbx_bind_text(statement, 1, key);
    if (sbx_statement_parameters(statement) > 1)
        sbx_bind_integer(statement, 2, at_ms);
    int result = sbx_store_step(statement);
    sbx_statement_clear(statement);
    return result;
}

int sbx_store_blob_owe(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES], char *key_out)
{
    int result = make_key(id, key_out);
    return result < 0 ? result : run_debt(store, ADD_DEBT, key_out, sbx_wall_clock_ms());
}

int sbx_store_blob_put(struct sbx_store *store, const char *key, const void *bytes, size_t count)
{
    char why[SBX_BLOB_WHY_BYTES] = "";
    int result = sbx_blobs_put(store->blobs, key, bytes, count, why, sizeof(why));
    note(store, result, why);
    return result;
}

int sbx_store_blob_keep(struct sbx_store *store, const char *key)
{
    return run_debt(store, DROP_DEBT, key, 0);
}

int sbx_store_blob_drop(struct sbx_store *store, const char *key)
{
    return run_debt(store, ADD_DEBT, key, 0);
}

/* ---- getting ---- */

int sbx_store_blob_get(struct sbx_store *store, const char *key, struct sbx_byte_buffer *out)
{
    char why[SBX_BLOB_WHY_BYTES] = "";
    if (!store->blobs)
        return -EAGAIN;
    int result = sbx_blobs_get(store->blobs, key, SBX_ENVELOPE_BYTES_MAX, out, why, sizeof(why));
    note(store, result == -ENOENT ? 0 : result, why);
    return result == -ENOENT ? -ENODATA : result < 0 ? -EAGAIN : 0;
}

/* ---- debts ---- */

/* Returns 1 and the key, 0 when no debt is due, or -errno. */
static int next_debt(struct sbx_store *store, int64_t before_ms, char *key_out)
{
    sbx_store_handle_lock(&store->writer);
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, NEXT_DEBT);
    sbx_bind_integer(statement, 1, before_ms);
    int result = sbx_store_step(statement);
    if (result > 0)
        sbx_store_column_text(statement, 0, key_out, SBX_BLOB_KEY_BYTES);
    sbx_statement_reset(statement);
    sbx_store_handle_unlock(&store->writer);
    return result;
}

int sbx_store_settle_blobs(struct sbx_store *store, int64_t now, size_t max)
{
    char key[SBX_BLOB_KEY_BYTES], why[SBX_BLOB_WHY_BYTES] = "";
    int result = 0, paid = 0;
    while (store->blobs && (size_t)paid < max && (result = next_debt(store, now - PUT_MS_MAX, key)) > 0) {
        result = sbx_blobs_remove(store->blobs, key, why, sizeof(why));
        note(store, result, why);
        if (result < 0)
            return result;
        sbx_store_handle_lock(&store->writer);
        result = run_debt(store, DROP_DEBT, key, 0);
        sbx_store_handle_unlock(&store->writer);
        if (result < 0)
            return result;
        paid++;
    }
    return result < 0 ? result : paid;
}
