/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_image.c - the names of one program or library, read from a file or from another source. */
#include "symbol_image.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mbedtls/sha256.h>
#include <zstd.h>

#include "image_layout.h"
#include "stall_crc32c.h"
#include "symbol_chunk.h"

enum {
    GROUP_CHUNKS = 128,    /* chunks that are requested from a source in one batch ... */
    GROUP_BYTES = 8 << 20, /* ... if they have no more bytes than this */
    NONE = UINT32_MAX
};

/* A decompressed chunk, in a list ordered by last use. */
struct kept {
    uint8_t *bytes; /* NULL: not kept */
    struct sbx_symbol_chunk chunk;
    uint32_t newer, older;
    bool is_lost; /* missing or damaged in the source: not requested again */
};

struct sbx_symbol_image {
    int fd; /* -1: `source` is used */
    struct sbx_image_source source;
    uint64_t generation; /* of the source's head */
    struct sbx_image_facts facts;
    struct sbx_image_entry *entries; /* in this machine's byte order */
    struct kept *kept;               /* one per entry */
    uint32_t newest, oldest;
    size_t kept_bytes, cache_bytes;
    ZSTD_DCtx *decompression;
    bool is_troubled, lacked_memory;
};

const char *sbx_image_kind_name(enum sbx_image_kind kind)
{
    static const char *const names[SBX_IMAGE_KINDS] = {"elf", "macho", "dsym"};
    return (size_t)kind < SBX_IMAGE_KINDS ? names[kind] : names[SBX_IMAGE_ELF];
}

/* ---- opening ---- */

/* Returns 0, -EBADMSG when the file is shorter, or -errno. */
static int read_at(int fd, void *into, size_t count, uint64_t offset)
{
    char *at = into;
    while (count > 0) {
        ssize_t got = offset > INT64_MAX ? 0 : pread(fd, at, count, (off_t)offset);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got < 0 ? -errno : -EBADMSG;
        }
        at += got;
        offset += (uint64_t)got;
        count -= (size_t)got;
    }
    return 0;
}

/* Read the header. It is not checked yet. */
static int read_facts(const struct sbx_image_header *header, struct sbx_image_facts *facts)
{
    if (memcmp(header->magic, SBX_IMAGE_MAGIC, sizeof header->magic) != 0) {
        return -EBADMSG;
    }
    if (le32toh(header->parser_version) != SBX_SYMBOL_PARSER_VERSION) {
        return -EPROTONOSUPPORT;
    }
    *facts = (struct sbx_image_facts){.build_id_bytes = le32toh(header->build_id_bytes),
                                      .machine = le16toh(header->machine),
                                      .kind = (enum sbx_image_kind)le16toh(header->kind),
                                      .best = (enum sbx_symbol_source)le16toh(header->best),
                                      .base = (uint64_t)le16toh(header->base) << 32,
                                      .made_s = le64toh(header->made_s),
                                      .chunk_count = le64toh(header->chunk_count),
                                      .function_count = le64toh(header->function_count),
                                      .place_count = le64toh(header->place_count),
                                      .code_bytes = le64toh(header->code_bytes)};
    memcpy(facts->build_id, header->build_id, sizeof facts->build_id);
    memcpy(facts->digest, header->digest, sizeof facts->digest);
    memcpy(facts->name, header->name, sizeof facts->name);
    bool is_valid = le32toh(header->header_bytes) == sizeof *header && facts->build_id_bytes > 0 &&
                    facts->build_id_bytes <= SBX_IMAGE_BUILD_ID_BYTES_MAX &&
                    le16toh(header->best) < SBX_SYMBOLS_SOURCES && le16toh(header->kind) < SBX_IMAGE_KINDS &&
                    facts->chunk_count <= SBX_IMAGE_CHUNKS_MAX && memchr(facts->name, '\0', sizeof facts->name) != NULL;
    return is_valid ? 0 : -EBADMSG;
}

/* Read header and directory from `count` bytes. Checks their CRC and, for a file, its length. */
static int read_head(struct sbx_symbol_image *image, const uint8_t *bytes, size_t count, uint64_t file_bytes)
{
    struct sbx_image_header header;
    struct sbx_image_facts facts;
    if (count < sizeof header) {
        return -EBADMSG;
    }
    memcpy(&header, bytes, sizeof header);
    int result = read_facts(&header, &facts);
    if (result != 0) {
        return result;
    }
    size_t chunks = (size_t)facts.chunk_count, directory_bytes = chunks * sizeof *image->entries;
    if (count - sizeof header < directory_bytes) {
        return -EBADMSG; /* checked before memory is allocated for it */
    }
    image->entries = malloc(directory_bytes + 1);
    image->kept = calloc(chunks + 1, sizeof *image->kept);
    if (image->entries == NULL || image->kept == NULL) {
        return -ENOMEM;
    }
    memcpy(image->entries, bytes + sizeof header, directory_bytes);
    uint32_t crc = le32toh(header.crc);
    header.crc = 0;
    if (sbx_stall_crc32c(sbx_stall_crc32c(0, &header, sizeof header), image->entries, directory_bytes) != crc) {
        return -EBADMSG;
    }
    for (size_t i = 0; i < chunks; i++) {
        struct sbx_image_entry *entry = &image->entries[i];
        *entry = (struct sbx_image_entry){le64toh(entry->number),    le64toh(entry->offset), le32toh(entry->bytes),
                                          le32toh(entry->raw_bytes), le32toh(entry->crc),    0};
        if ((i > 0 && entry->number <= image->entries[i - 1].number) || entry->raw_bytes > SBX_CHUNK_BYTES_MAX ||
            entry->offset > file_bytes || entry->bytes > file_bytes - entry->offset ||
            entry->bytes > ZSTD_COMPRESSBOUND(SBX_CHUNK_BYTES_MAX)) {
            return -EBADMSG;
        }
    }
    image->facts = facts;
    return 0;
}

/* Header and directory of the file: given in *head_out (free). */
static int load_head(int fd, uint8_t **head_out, size_t *count_out, uint64_t *file_bytes_out)
{
    struct sbx_image_header header;
    struct sbx_image_facts facts;
    struct stat status;
    int result = read_at(fd, &header, sizeof header, 0);
    result = result != 0 ? result : read_facts(&header, &facts);
    if (result != 0) {
        return result;
    }
    size_t count = sizeof header + (size_t)facts.chunk_count * sizeof(struct sbx_image_entry);
    if (fstat(fd, &status) != 0) {
        return -errno;
    }
    if (status.st_size < 0 || (uint64_t)status.st_size < count) {
        return -EBADMSG; /* checked before memory is allocated for it */
    }
    *head_out = malloc(count);
    result = *head_out == NULL ? -ENOMEM : read_at(fd, *head_out, count, 0);
    *count_out = count;
    *file_bytes_out = (uint64_t)status.st_size;
    return result;
}

/* Drop everything that the head gave, and the chunks. */
static void forget(struct sbx_symbol_image *image)
{
    while (image->oldest != NONE) {
        uint32_t at = image->oldest;
        image->oldest = image->kept[at].newer;
        free(image->kept[at].bytes);
    }
    free(image->kept);
    free(image->entries);
    image->kept = NULL;
    image->entries = NULL;
    image->newest = NONE;
    image->kept_bytes = 0;
    image->facts.chunk_count = 0;
}

static int take_head(struct sbx_symbol_image *image)
{
    uint8_t *head = NULL;
    size_t count = 0;
    uint64_t file_bytes = UINT64_MAX, generation = 0;
    int result = image->fd >= 0 ? load_head(image->fd, &head, &count, &file_bytes)
                                : image->source.calls->read_head(image->source.context, &head, &count, &generation);
    if (result == 0) {
        forget(image);
        image->generation = generation;
        result = read_head(image, head, count, file_bytes);
    }
    free(head);
    return result;
}

static int open_image(int fd, struct sbx_image_source source, size_t cache_bytes, struct sbx_symbol_image **image_out)
{
    struct sbx_symbol_image *image = calloc(1, sizeof *image);
    if (image == NULL) {
        if (fd >= 0) {
            close(fd);
        } else {
            source.calls->close(source.context);
        }
        return -ENOMEM;
    }
    image->fd = fd;
    image->source = source;
    image->cache_bytes = cache_bytes;
    image->newest = image->oldest = NONE;
    image->decompression = ZSTD_createDCtx();
    int result = image->decompression == NULL ? -ENOMEM : take_head(image);
    if (result != 0) {
        sbx_symbol_image_close(image);
        return result;
    }
    *image_out = image;
    return 0;
}

int sbx_symbol_image_open(int fd, size_t cache_bytes, struct sbx_symbol_image **image_out)
{
    return open_image(fd, (struct sbx_image_source){0}, cache_bytes, image_out);
}

int sbx_symbol_image_open_source(struct sbx_image_source source, size_t cache_bytes,
                                 struct sbx_symbol_image **image_out)
{
    return open_image(-1, source, cache_bytes, image_out);
}

struct sbx_image_source sbx_symbol_image_source(const struct sbx_symbol_image *image)
{
    return image->source;
}

void sbx_symbol_image_close(struct sbx_symbol_image *image)
{
    if (image == NULL) {
        return;
    }
    forget(image);
    ZSTD_freeDCtx(image->decompression);
    if (image->fd >= 0) {
        close(image->fd);
    } else {
        image->source.calls->close(image->source.context);
    }
    free(image);
}

const struct sbx_image_facts *sbx_symbol_image_facts(const struct sbx_symbol_image *image)
{
    return &image->facts;
}

bool sbx_symbol_image_is_troubled(const struct sbx_symbol_image *image)
{
    return image->is_troubled;
}

bool sbx_symbol_image_lacked_memory(struct sbx_symbol_image *image)
{
    bool lacked = image->lacked_memory;
    image->lacked_memory = false;
    return lacked;
}

/* ---- chunks ---- */

static void unlink_kept(struct sbx_symbol_image *image, uint32_t index)
{
    const struct kept *kept = &image->kept[index];
    *(kept->newer == NONE ? &image->newest : &image->kept[kept->newer].older) = kept->older;
    *(kept->older == NONE ? &image->oldest : &image->kept[kept->older].newer) = kept->newer;
}

static void link_newest(struct sbx_symbol_image *image, uint32_t index)
{
    image->kept[index].newer = NONE;
    image->kept[index].older = image->newest;
    *(image->newest == NONE ? &image->oldest : &image->kept[image->newest].newer) = index;
    image->newest = index;
}

/* Decompress chunk `index` into new memory, given in *bytes_out, and check it. */
static int decode(struct sbx_symbol_image *image, uint32_t index, const uint8_t *compressed, uint8_t **bytes_out,
                  struct sbx_symbol_chunk *chunk_out)
{
    const struct sbx_image_entry *entry = &image->entries[index];
    if (sbx_stall_crc32c(0, compressed, entry->bytes) != entry->crc) {
        return -EBADMSG;
    }
    uint8_t *raw = malloc(entry->raw_bytes + 1);
    if (raw == NULL) {
        return -ENOMEM;
    }
    size_t bytes = ZSTD_decompressDCtx(image->decompression, raw, entry->raw_bytes, compressed, entry->bytes);
    int result =
        ZSTD_isError(bytes) || bytes != entry->raw_bytes ? -EBADMSG : sbx_symbol_chunk_open(raw, bytes, chunk_out);
    if (result != 0) {
        free(raw);
        return result;
    }
    *bytes_out = raw;
    return 0;
}

/* The bytes of chunks, as they are stored. Returns 0 also if some are missing; those are marked. */
static int fetch(struct sbx_symbol_image *image, struct sbx_image_chunk *chunks, size_t count)
{
    if (image->fd < 0) {
        return image->source.calls->fetch(image->source.context, chunks, count);
    }
    for (size_t i = 0; i < count; i++) {
        int result = read_at(image->fd, chunks[i].bytes, chunks[i].byte_count, image->entries[chunks[i].index].offset);
        if (result != 0 && result != -EBADMSG) {
            return result;
        }
        chunks[i].is_there = result == 0;
    }
    return 0;
}

/* Fetch `count` chunks (GROUP_CHUNKS at most). Call `each` for every chunk: with its bytes (taken) if they are valid,
 * else with NULL. Returns the result of the fetch. */
static int fetch_group(struct sbx_symbol_image *image, const uint32_t *indexes, size_t count,
                       void (*each)(struct sbx_symbol_image *image, uint32_t index, uint8_t *bytes,
                                    const struct sbx_symbol_chunk *chunk, void *context),
                       void *context)
{
    struct sbx_image_chunk chunks[GROUP_CHUNKS];
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        total += image->entries[indexes[i]].bytes;
    }
    uint8_t *bytes = malloc(total + 1), *at = bytes;
    for (size_t i = 0; i < count && bytes != NULL; i++) {
        const struct sbx_image_entry *entry = &image->entries[indexes[i]];
        chunks[i] = (struct sbx_image_chunk){indexes[i], entry->number, at, entry->bytes, false};
        at += entry->bytes;
    }
    int result = bytes == NULL ? -ENOMEM : fetch(image, chunks, count);
    for (size_t i = 0; i < count && result == 0; i++) {
        struct sbx_symbol_chunk chunk;
        uint8_t *raw = NULL;
        int decoded = chunks[i].is_there ? decode(image, indexes[i], chunks[i].bytes, &raw, &chunk) : -EBADMSG;
        if (decoded == -ENOMEM) {
            result = decoded;
        } else {
            each(image, indexes[i], decoded == 0 ? raw : NULL, &chunk, context);
        }
    }
    free(bytes);
    return result;
}

/* How many of `indexes` may be fetched in one batch. */
static size_t group_size(const struct sbx_symbol_image *image, const uint32_t *indexes, size_t count)
{
    uint64_t bytes = 0;
    size_t fitting = 0;
    while (fitting < count && fitting < GROUP_CHUNKS) {
        bytes += image->entries[indexes[fitting]].bytes;
        if (fitting > 0 && bytes > GROUP_BYTES) {
            break;
        }
        fitting++;
    }
    return fitting;
}

static void keep(struct sbx_symbol_image *image, uint32_t index, uint8_t *bytes, const struct sbx_symbol_chunk *chunk,
                 void *context)
{
    struct kept *kept = &image->kept[index];
    size_t *lost = context;
    if (bytes == NULL) {
        kept->is_lost = true;
        ++*lost;
        return;
    }
    kept->bytes = bytes;
    kept->chunk = *chunk;
    link_newest(image, index);
    image->kept_bytes += image->entries[index].raw_bytes;
    while (image->kept_bytes > image->cache_bytes && image->oldest != index) {
        uint32_t oldest = image->oldest;
        unlink_kept(image, oldest);
        free(image->kept[oldest].bytes);
        image->kept[oldest].bytes = NULL;
        image->kept_bytes -= image->entries[oldest].raw_bytes;
    }
}

/* If chunks are lost, another image may have replaced this one. Then the head of that image is read. Returns whether it
 * was replaced. */
static bool was_replaced(struct sbx_symbol_image *image)
{
    uint8_t *head = NULL;
    size_t count = 0;
    uint64_t generation = image->generation;
    int result =
        image->fd >= 0 ? -ENOENT : image->source.calls->read_head(image->source.context, &head, &count, &generation);
    bool is_other = result == 0 && generation != image->generation;
    if (is_other) {
        forget(image);
        image->generation = generation;
        result = read_head(image, head, count, UINT64_MAX);
        if (result != 0) {
            forget(image); /* as if it had no chunks */
        }
    }
    image->lacked_memory = image->lacked_memory || result == -ENOMEM;
    free(head);
    return is_other && result == 0;
}

/* The chunk of an address: an index, or NONE if no code in it has a name. */
static uint32_t index_of(const struct sbx_symbol_image *image, uint64_t address)
{
    uint64_t number = address / SBX_CHUNK_CODE_BYTES;
    size_t low = 0, high = (size_t)image->facts.chunk_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (image->entries[middle].number < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low == image->facts.chunk_count || image->entries[low].number != number ? NONE : (uint32_t)low;
}

/* Fetch these chunks into the cache. None of them may be in it yet, and each may be given only once. Returns 0, -ESTALE
 * if the image was replaced, or -errno. */
static int keep_all(struct sbx_symbol_image *image, const uint32_t *indexes, size_t count)
{
    int result = 0;
    size_t lost = 0;
    for (size_t at = 0; at < count && result == 0;) {
        size_t group = group_size(image, indexes + at, count - at);
        result = fetch_group(image, indexes + at, group, keep, &lost);
        at += group;
    }
    if (result == 0 && lost > 0 && was_replaced(image)) {
        return -ESTALE;
    }
    if (result == 0 && lost > 0 && image->fd < 0) {
        image->source.calls->tell_lost(image->source.context, lost);
    }
    image->is_troubled = image->is_troubled || result != 0 || lost > 0;
    image->lacked_memory = image->lacked_memory || result == -ENOMEM;
    return result;
}

static int by_number(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* Find the chunks that must be fetched for the addresses, and write each once into `indexes`. Returns their number;
 * there are at most as many as the cache can keep. */
static size_t wanted_chunks(const struct sbx_symbol_image *image, const uint64_t *addresses, size_t count,
                            uint32_t *indexes)
{
    size_t wanted = 0, distinct = 0;
    uint64_t raw_bytes = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t index = index_of(image, addresses[i]);
        if (index != NONE && image->kept[index].bytes == NULL && !image->kept[index].is_lost) {
            indexes[wanted++] = index;
        }
    }
    if (wanted > 1) {
        qsort(indexes, wanted, sizeof *indexes, by_number);
    }
    for (size_t i = 0; i < wanted; i++) {
        if (distinct > 0 && indexes[distinct - 1] == indexes[i]) {
            continue;
        }
        raw_bytes += image->entries[indexes[i]].raw_bytes;
        if (raw_bytes > image->cache_bytes) {
            break;
        }
        indexes[distinct++] = indexes[i];
    }
    return distinct;
}

int sbx_symbol_image_prefetch(struct sbx_symbol_image *image, const uint64_t *addresses, size_t count)
{
    if (image->fd >= 0 || count == 0) {
        return 0; /* a file is read on demand */
    }
    uint32_t *indexes = calloc(count, sizeof *indexes);
    int result = indexes == NULL ? -ENOMEM : -ESTALE;
    for (int tries = 0; result == -ESTALE && tries < 2; tries++) {
        result = keep_all(image, indexes, wanted_chunks(image, addresses, count, indexes));
    }
    free(indexes);
    return result;
}

size_t sbx_symbol_image_find(struct sbx_symbol_image *image, uint64_t address, struct sbx_code_frame *frames_out,
                             size_t max)
{
    for (int tries = 0; tries < 2; tries++) {
        uint32_t index = index_of(image, address);
        struct kept *kept = index == NONE ? NULL : &image->kept[index];
        if (kept == NULL || kept->is_lost) {
            return 0;
        }
        int result = 0;
        if (kept->bytes == NULL) {
            result = keep_all(image, &index, 1);
        } else if (image->newest != index) {
            unlink_kept(image, index);
            link_newest(image, index);
        }
        if (result == 0) {
            return kept->bytes == NULL ? 0
                                       : sbx_symbol_chunk_find(&kept->chunk, (uint32_t)(address % SBX_CHUNK_CODE_BYTES),
                                                               frames_out, max);
        }
        if (result != -ESTALE) {
            return 0;
        }
    }
    return 0;
}

/* ---- the whole ---- */

struct verifying {
    mbedtls_sha256_context digest;
    bool is_damaged;
};

static void verify_chunk(struct sbx_symbol_image *image, uint32_t index, uint8_t *bytes,
                         const struct sbx_symbol_chunk *chunk, void *context)
{
    struct verifying *verifying = context;
    (void)chunk;
    if (bytes == NULL) {
        verifying->is_damaged = true;
        return;
    }
    sbx_image_digest_chunk(&verifying->digest, image->entries[index].number, bytes, image->entries[index].raw_bytes);
    free(bytes);
}

int sbx_symbol_image_verify(struct sbx_symbol_image *image)
{
    struct verifying verifying = {.is_damaged = false};
    uint8_t found[SBX_IMAGE_DIGEST_BYTES] = {0};
    mbedtls_sha256_init(&verifying.digest);
    int result = mbedtls_sha256_starts_ret(&verifying.digest, 0) == 0 ? 0 : -EIO;
    for (uint32_t at = 0; at < image->facts.chunk_count && result == 0 && !verifying.is_damaged;) {
        uint32_t indexes[GROUP_CHUNKS];
        size_t left = (size_t)image->facts.chunk_count - at;
        for (uint32_t i = 0; i < GROUP_CHUNKS && i < left; i++) {
            indexes[i] = at + i;
        }
        size_t group = group_size(image, indexes, left);
        result = fetch_group(image, indexes, group, verify_chunk, &verifying);
        at += (uint32_t)group;
    }
    (void)mbedtls_sha256_finish_ret(&verifying.digest, found);
    mbedtls_sha256_free(&verifying.digest);
    bool is_whole = !verifying.is_damaged && memcmp(found, image->facts.digest, sizeof found) == 0;
    return result == 0 && !is_whole ? -EBADMSG : result;
}

int sbx_symbol_image_read_head(const struct sbx_symbol_image *image, uint8_t **head_out, size_t *count_out)
{
    uint64_t file_bytes;
    *head_out = NULL;
    int result = image->fd < 0 ? -EINVAL : load_head(image->fd, head_out, count_out, &file_bytes);
    if (result != 0) {
        free(*head_out);
        *head_out = NULL;
    }
    return result;
}

int sbx_symbol_image_head_facts(const uint8_t *head, size_t count, struct sbx_image_facts *facts_out,
                                uint64_t *stored_out)
{
    struct sbx_symbol_image image = {.fd = -1, .newest = NONE, .oldest = NONE};
    int result = read_head(&image, head, count, UINT64_MAX);
    *stored_out = 0;
    for (size_t i = 0; result == 0 && i < image.facts.chunk_count; i++) {
        *stored_out += image.entries[i].bytes;
    }
    *facts_out = image.facts;
    forget(&image);
    return result;
}

size_t sbx_symbol_image_chunk_bytes(const struct sbx_symbol_image *image, uint32_t index, uint64_t *number_out)
{
    *number_out = image->entries[index].number;
    return image->entries[index].bytes;
}

int sbx_symbol_image_read_chunk(struct sbx_symbol_image *image, uint32_t index, uint8_t *bytes)
{
    struct sbx_image_chunk chunk = {index, image->entries[index].number, bytes, image->entries[index].bytes, false};
    int result = fetch(image, &chunk, 1);
    return result == 0 && !chunk.is_there ? -EBADMSG : result;
}
