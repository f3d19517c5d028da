/* SPDX-License-Identifier: Apache-2.0 */
/* make_corpus.c - writes the seeds of this target: make_signed_corpus FOLDER. Bundles signed by the fixture's keys, and
 * payloads after the byte that names their role. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "signed_fixture.h"

static void write_seed(const char *folder, const char *name, const void *bytes, size_t count)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(bytes, 1, count, file) != count || fclose(file) != 0) {
        perror(path);
        exit(1);
    }
}

int main(int count, char **arguments)
{
    if (count != 2) {
        fprintf(stderr, "usage: make_signed_corpus FOLDER\n");
        return 2;
    }
    struct sbx_keyset keyset = fixture_keyset();
    struct sbx_policy_document policy = fixture_policy(7);
    struct fixture_document document = {.count = 0};
    uint8_t payload[4096];
    keyset.seal_key_count = keyset.pin_count = 1;
    keyset.seal_keys[0].not_after_s = 1;
    keyset.cap_count = 2;
    keyset.caps[0] = (struct sbx_field_cap){13, 1000, 5000};
    keyset.caps[1] = (struct sbx_field_cap){12, 0, 255};
    fixture_sign_keyset(&keyset, "root-a root-b", &document);
    write_seed(arguments[1], "keyset", document.bytes, document.count);
    policy.policy.capture.limits[1] = (struct sbx_point_limits){5000, 300};
    policy.rollout_count = 2;
    policy.rollouts[0] = (struct sbx_rollout){.id = 1, .salt_bytes = 3, .salt = "abc", .threshold = 5000, .effects = 3};
    policy.rollouts[1] = (struct sbx_rollout){.id = 2, .salt_bytes = 32, .threshold = 1, .points = 6};
    fixture_sign_policy(&policy, &document);
    write_seed(arguments[1], "keyset_and_policy", document.bytes, document.count);
    document.count = 0;
    fixture_sign_kill(&policy, "kill", &document);
    write_seed(arguments[1], "kill", document.bytes, document.count);
    fixture_sign_policy(&policy, &document);
    write_seed(arguments[1], "kill_and_policy", document.bytes, document.count);
    write_seed(arguments[1], "cut", document.bytes, document.count - 10);
    payload[0] = 1;
    write_seed(arguments[1], "keyset.payload", payload,
               1 + sbx_keyset_encode(&keyset, payload + 1, sizeof payload - 1));
    payload[0] = 0;
    write_seed(arguments[1], "policy.payload", payload,
               1 + sbx_policy_document_encode(&policy, false, payload + 1, sizeof payload - 1));
    policy.policy.capture.points = UINT32_MAX;
    write_seed(arguments[1], "out_of_range.payload", payload,
               1 + sbx_policy_document_encode(&policy, false, payload + 1, sizeof payload - 1));
    static const uint8_t odd[] = "\0\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x9b\x06\xca\x02\x02\x08\x01";
    write_seed(arguments[1], "odd.payload", odd, sizeof odd - 1);
    return 0;
}
