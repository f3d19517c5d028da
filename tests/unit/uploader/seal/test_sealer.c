/* SPDX-License-Identifier: Apache-2.0 */
/* test_sealer.c - plain envelopes are sealed, and opened again with the other side's code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "envelope.h"
#include "hpke_sender.h"
#include "sealer.h"
#include "unseal.h"

static const uint8_t id[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

struct scene {
    struct sbx_sealer *sealer;
    struct sbx_unseal_keys keys; /* 0 and 1 */
    uint8_t *envelope;
    size_t bytes;
};

static int make_scene(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    uint8_t secret[32], key[32];
    scene->sealer = sbx_sealer_create();
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sbx_x25519_make(secret, key), 0);
        assert_int_equal(sbx_unseal_key_init(secret, &scene->keys.keys[i]), 0);
    }
    scene->keys.count = 2;
    char text[3000];
    for (size_t i = 0; i < sizeof text; i++) {
        text[i] = (char)(i * i >> 3);
    }
    assert_int_equal(sbx_envelope_write(id, text, sizeof text, &scene->envelope, &scene->bytes), 0);
    *state = scene;
    return scene->sealer == NULL;
}

static int remove_scene(void **state)
{
    struct scene *scene = *state;
    sbx_sealer_destroy(scene->sealer);
    sbx_unseal_keys_wipe(&scene->keys);
    free(scene->envelope);
    free(scene);
    return 0;
}

static uint8_t *seal(struct scene *scene, size_t *bytes_out)
{
    uint8_t *sealed;
    char why[160] = "";
    assert_int_equal(sbx_sealer_seal(scene->sealer, scene->envelope, scene->bytes, &sealed, bytes_out, why, sizeof why),
                     0);
    return sealed;
}

static struct sbx_seal_key key_between(const struct scene *scene, int index, uint64_t from_s, uint64_t until_s)
{
    struct sbx_seal_key key = {.not_before_s = from_s, .not_after_s = until_s};
    memcpy(key.key, scene->keys.keys[index].key, 32);
    return key;
}

static void test_what_was_sealed_is_opened_to_the_same_bytes(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(sbx_sealer_hold(scene->sealer, scene->keys.keys[1].key), 0);
    size_t bytes, plain_bytes;
    uint8_t *sealed = seal(scene, &bytes), *plain;
    char why[160];
    struct sbx_envelope header;
    assert_int_equal(sbx_envelope_read(sealed, bytes, &header, why, sizeof why), 0);
    assert_true(header.is_sealed);
    assert_memory_equal(header.id, id, 16);
    assert_memory_equal(header.key_id, scene->keys.keys[1].id, 8);
    uint8_t *payload;
    size_t payload_bytes;
    assert_int_equal(sbx_envelope_payload(&header, &payload, &payload_bytes, why, sizeof why), -ENOKEY);
    assert_true(sbx_sealed_is(sealed, bytes));
    assert_int_equal(sbx_sealed_open(&scene->keys, sealed, bytes, &plain, &plain_bytes, why, sizeof why), 0);
    assert_int_equal(plain_bytes, scene->bytes);
    assert_memory_equal(plain, scene->envelope, plain_bytes);
    free(plain);
    free(sealed);
}

static void test_nothing_of_the_plain_bytes_shows_and_no_two_are_equal(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(sbx_sealer_hold(scene->sealer, scene->keys.keys[0].key), 0);
    size_t bytes[3];
    uint8_t *sealed[3];
    for (int i = 0; i < 3; i++) {
        sealed[i] = seal(scene, &bytes[i]);
        assert_int_equal(bytes[i], bytes[0]);
        assert_null(memmem(sealed[i] + 40, bytes[i] - 40, "\x28\xb5\x2f\xfd", 4)); /* zstd's magic number */
    }
    assert_memory_not_equal(sealed[0] + 40, sealed[1] + 40, 32);
    assert_memory_not_equal(sealed[1] + 40, sealed[2] + 40, 32);
    assert_memory_not_equal(sealed[0] + 72, sealed[1] + 72, 64);
    for (int i = 0; i < 3; i++) {
        free(sealed[i]);
    }
}

static void test_any_flipped_bit_of_header_or_body_is_refused(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(sbx_sealer_hold(scene->sealer, scene->keys.keys[0].key), 0);
    size_t bytes, plain_bytes;
    uint8_t *sealed = seal(scene, &bytes), *plain;
    char why[160];
    for (size_t at = 0; at < bytes; at += at < 120 ? 1 : 97) {
        sealed[at] ^= 1;
        assert_true(sbx_sealed_open(&scene->keys, sealed, bytes, &plain, &plain_bytes, why, sizeof why) < 0);
        if (at < 36 || at >= 40) { /* and with a correct checksum, which anybody can calculate */
            uint32_t crc = sbx_crc32c(sbx_crc32c(0, sealed, 36), sealed + 40, bytes - 40);
            uint8_t kept[4];
            memcpy(kept, sealed + 36, 4);
            memcpy(sealed + 36, &crc, 4);
            int result = sbx_sealed_open(&scene->keys, sealed, bytes, &plain, &plain_bytes, why, sizeof why);
            assert_true(result == -EPROTO || result == -ENOTSUP || (result == -ENOKEY && at >= 8 && at < 16));
            memcpy(sealed + 36, kept, 4);
        }
        sealed[at] ^= 1;
    }
    assert_int_equal(sbx_sealed_open(&scene->keys, sealed, bytes, &plain, &plain_bytes, why, sizeof why), 0);
    free(plain);
    free(sealed);
}

static void test_another_key_opens_nothing(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(sbx_sealer_hold(scene->sealer, scene->keys.keys[0].key), 0);
    size_t bytes, plain_bytes;
    uint8_t *sealed = seal(scene, &bytes), *plain;
    char why[160];
    struct sbx_unseal_keys other = {.count = 1};
    other.keys[0] = scene->keys.keys[1];
    assert_int_equal(sbx_sealed_open(&other, sealed, bytes, &plain, &plain_bytes, why, sizeof why), -ENOKEY);
    assert_non_null(strstr(why, "which is not here"));
    memcpy(other.keys[0].id, scene->keys.keys[0].id, 8); /* the same name proves nothing */
    assert_int_equal(sbx_sealed_open(&other, sealed, bytes, &plain, &plain_bytes, why, sizeof why), -EPROTO);
    free(sealed);
}

static void test_sizes_tell_only_the_power_of_two(void **state)
{
    (void)state;
    assert_int_equal(sbx_sealed_bytes(0), 4096);
    assert_int_equal(sbx_sealed_bytes(4096 - 92), 4096);
    assert_int_equal(sbx_sealed_bytes(4096 - 91), 8192);
    assert_int_equal(sbx_sealed_bytes((1 << 20) - 92), 1 << 20);
    assert_int_equal(sbx_sealed_bytes((1 << 20) - 91), 0);
    for (size_t frame = 0; frame <= (1 << 20) - 92; frame += 1237) {
        size_t bytes = sbx_sealed_bytes(frame);
        assert_true((bytes & (bytes - 1)) == 0 && bytes >= frame + 92 && (bytes == 4096 || bytes / 2 < frame + 92));
    }
}

/* The largest plain envelope can be sealed, so the packer need not check that. */
static void test_the_largest_plain_envelope_fits_sealed(void **state)
{
    struct scene *scene = *state;
    size_t noise_bytes = (1 << 20) - 40 - 52 - 100, bytes, sealed_bytes;
    uint8_t *noise = malloc(noise_bytes), *envelope, *sealed;
    char why[160];
    uint64_t random = 1;
    for (size_t i = 0; i < noise_bytes; i++) {
        random = random * UINT64_C(6364136223846793005) + 1;
        noise[i] = (uint8_t)(random >> 56);
    }
    assert_int_equal(sbx_envelope_write(id, noise, noise_bytes, &envelope, &bytes), 0);
    assert_true(bytes > (1 << 20) - 200);
    assert_int_equal(sbx_sealer_hold(scene->sealer, scene->keys.keys[0].key), 0);
    assert_int_equal(sbx_sealer_seal(scene->sealer, envelope, bytes, &sealed, &sealed_bytes, why, sizeof why), 0);
    assert_int_equal(sealed_bytes, 1 << 20);
    free(sealed);
    free(envelope);
    free(noise);
}

static void test_what_is_sealed_is_counted(void **state)
{
    struct scene *scene = *state;
    struct sbx_sealer_counts counts;
    size_t bytes;
    assert_false(sbx_sealer_is_demanded(scene->sealer));
    assert_int_equal(sbx_sealer_hold(scene->sealer, scene->keys.keys[0].key), 0);
    assert_true(sbx_sealer_is_demanded(scene->sealer));
    for (int i = 0; i < 9; i++) {
        free(seal(scene, &bytes));
    }
    sbx_sealer_read_counts(scene->sealer, &counts);
    assert_int_equal(counts.sealed, 9);
}

static void test_the_newest_key_that_holds_is_taken(void **state)
{
    struct scene *scene = *state;
    uint64_t now_s = (uint64_t)time(NULL);
    struct sbx_seal_key keys[2] = {key_between(scene, 0, now_s - 1000, now_s + 1000),
                                   key_between(scene, 1, now_s - 10, now_s + 1000)};
    assert_int_equal(sbx_seal_key_choose(keys, 2, now_s - 1001), -1);
    assert_int_equal(sbx_seal_key_choose(keys, 2, now_s - 11), 0);
    assert_int_equal(sbx_seal_key_choose(keys, 2, now_s), 1);
    assert_int_equal(sbx_seal_key_choose(keys, 2, now_s + 1000), -1);
    assert_int_equal(sbx_seal_key_choose(NULL, 0, now_s), -1);

    size_t bytes;
    uint8_t *sealed;
    sbx_sealer_follow(scene->sealer, keys, 1, now_s);
    sealed = seal(scene, &bytes);
    assert_memory_equal(sealed + 8, scene->keys.keys[0].id, 8);
    free(sealed);
    sbx_sealer_follow(scene->sealer, keys, 2, now_s); /* a rotation */
    sealed = seal(scene, &bytes);
    assert_memory_equal(sealed + 8, scene->keys.keys[1].id, 8);
    uint8_t *plain;
    size_t plain_bytes;
    char why[160];
    assert_int_equal(sbx_sealed_open(&scene->keys, sealed, bytes, &plain, &plain_bytes, why, sizeof why), 0);
    free(plain);
    free(sealed);
}

static void test_without_a_key_that_holds_nothing_is_sealed_and_it_is_counted(void **state)
{
    struct scene *scene = *state;
    uint64_t now_s = (uint64_t)time(NULL);
    struct sbx_seal_key expired = key_between(scene, 0, 1, now_s - 1);
    struct sbx_sealer_counts counts;
    char why[160] = "";
    uint8_t *sealed = NULL;
    size_t bytes;
    sbx_sealer_follow(scene->sealer, &expired, 1, now_s);
    assert_true(sbx_sealer_is_demanded(scene->sealer));
    assert_int_equal(sbx_sealer_check(scene->sealer, why, sizeof why), -ENOKEY);
    assert_non_null(strstr(why, "not sent"));
    assert_int_equal(sbx_sealer_seal(scene->sealer, scene->envelope, scene->bytes, &sealed, &bytes, why, sizeof why),
                     -ENOKEY);
    assert_null(sealed);
    sbx_sealer_read_counts(scene->sealer, &counts);
    assert_int_equal(counts.without_key, 2);
    assert_int_equal(counts.sealed, 0);
    /* The clock is behind the known time. Tomorrow's key is valid when it is known that tomorrow has come. */
    struct sbx_seal_key later = key_between(scene, 0, now_s + 5000, now_s + 9000);
    sbx_sealer_follow(scene->sealer, &later, 1, now_s + 6000);
    assert_int_equal(sbx_sealer_check(scene->sealer, why, sizeof why), 0);
}

/* Keep the memory that fork() would wipe. Two processes then share what two virtual machines share that were started
 * from one snapshot. */
static void keep_everything_across_fork(void)
{
    char line[512];
    unsigned long begin, end;
    FILE *maps = fopen("/proc/self/maps", "re");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps) != NULL) {
        if (sscanf(line, "%lx-%lx", &begin, &end) == 2) {
            (void)madvise((void *)begin, end - begin, MADV_KEEPONFORK); /* refused where it has no meaning */
        }
    }
    fclose(maps);
}

static void test_two_processes_of_one_memory_image_never_seal_with_the_same_key(void **state)
{
    struct scene *scene = *state;
    size_t bytes;
    assert_int_equal(sbx_sealer_hold(scene->sealer, scene->keys.keys[0].key), 0);
    free(seal(scene, &bytes));
    int ends[2];
    uint8_t theirs[32];
    assert_int_equal(pipe(ends), 0);
    keep_everything_across_fork();
    pid_t child = fork();
    assert_true(child >= 0);
    uint8_t *sealed = seal(scene, &bytes);
    if (child == 0) {
        _exit(write(ends[1], sealed + 40, 32) == 32 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(read(ends[0], theirs, 32), 32);
    assert_memory_not_equal(theirs, sealed + 40, 32);
    close(ends[0]);
    close(ends[1]);
    free(sealed);
}

static void test_what_is_no_plain_envelope_is_not_sealed(void **state)
{
    struct scene *scene = *state;
    char why[160];
    uint8_t *sealed, *twice;
    size_t bytes, twice_bytes;
    uint8_t zero[32] = {0};
    assert_int_equal(sbx_sealer_hold(scene->sealer, zero), -EINVAL);
    assert_int_equal(sbx_sealer_hold(scene->sealer, scene->keys.keys[0].key), 0);
    assert_int_equal(sbx_sealer_seal(scene->sealer, (const uint8_t *)"SBX1", 4, &sealed, &bytes, why, sizeof why),
                     -EPROTO);
    sealed = seal(scene, &bytes);
    assert_int_equal(sbx_sealer_seal(scene->sealer, sealed, bytes, &twice, &twice_bytes, why, sizeof why), -EPROTO);
    free(sealed);
}

#define WITH_SCENE(test) cmocka_unit_test_setup_teardown(test, make_scene, remove_scene)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SCENE(test_what_was_sealed_is_opened_to_the_same_bytes),
        WITH_SCENE(test_nothing_of_the_plain_bytes_shows_and_no_two_are_equal),
        WITH_SCENE(test_any_flipped_bit_of_header_or_body_is_refused),
        WITH_SCENE(test_another_key_opens_nothing),
        cmocka_unit_test(test_sizes_tell_only_the_power_of_two),
        WITH_SCENE(test_the_largest_plain_envelope_fits_sealed),
        WITH_SCENE(test_what_is_sealed_is_counted),
        WITH_SCENE(test_the_newest_key_that_holds_is_taken),
        WITH_SCENE(test_without_a_key_that_holds_nothing_is_sealed_and_it_is_counted),
        WITH_SCENE(test_two_processes_of_one_memory_image_never_seal_with_the_same_key),
        WITH_SCENE(test_what_is_no_plain_envelope_is_not_sealed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
