/* SPDX-License-Identifier: Apache-2.0 */
/* test_tls.c - only the right server gets a payload, whatever other servers present and whatever the environment
 * contains.
 *
 * Run as "test_tls URL FILE" it sends one payload to URL, trusts the authorities in FILE, and exits with the verdict.
 * This is needed because libraries read some of the environment only once, when they are loaded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "deliver.h"
#include "http_exchange.h"
#include "http_server.h"
#include "payloads.h"
#include "test_folder.h"
#include "tls_server.h"

static const uint8_t id[16] = {0xde, 0xad, 0xbe, 0xef};
static uint8_t envelope[5000];

static struct sbx_send_result send_pinned(const char *url, const uint8_t (*pins)[32], uint32_t pin_count)
{
    const struct sbx_destination to = {.url = url, .pins = pins, .pin_count = pin_count};
    return sbx_send_to(&to, id, envelope, sizeof envelope);
}

static int trust_ours(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN); /* for the servers */
    return sbx_http_trust(sbx_tls_authority());
}

static void test_net_07_servers_that_cannot_prove_themselves_get_nothing(void **state)
{
    static const struct {
        struct sbx_tls_terms terms;
        const char *what;
        bool is_good;
    } cases[] = {
        {{.name = "127.0.0.1"}, "the right one", true},
        {{.name = "127.0.0.1", .is_expired = true}, "expired", false},
        {{.name = "127.0.0.1", .is_not_yet = true}, "not yet valid", false},
        {{.name = "stalls.example.org"}, "another name", false},
        {{.name = "127.0.0.2"}, "another address", false},
        {{.name = "127.0.0.1", .is_self_signed = true}, "self-signed", false},
        {{.name = "127.0.0.1", .is_of_other_authority = true}, "of another authority", false},
        {{.name = "127.0.0.1", .has_old_version = true}, "TLS 1.1", false},
        {{.name = "127.0.0.1", .has_no_certificate = true}, "anonymous", false},
        {{.name = "127.0.0.1", .has_null_cipher = true}, "unencrypted", false},
        {{.name = "127.0.0.1", .has_wrong_protocol = true}, "a protocol that was not offered", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sbx_tls_server *server = sbx_tls_server_start(&cases[i].terms);
        struct sbx_send_result result = send_pinned(sbx_tls_server_url(server), NULL, 0);
        size_t got = sbx_tls_server_request_count(server);
        if ((result.verdict == SBX_SEND_STORED) != cases[i].is_good || got != cases[i].is_good) {
            fail_msg("%s: verdict %d, %zu requests: %s", cases[i].what, result.verdict, got, result.why);
        }
        if (!cases[i].is_good) {
            assert_int_equal(result.verdict, SBX_SEND_LATER); /* kept, and tried again */
            assert_int_equal(result.http_status, 0);
            assert_true(result.why[0] != '\0');
        }
        sbx_tls_server_stop(server);
    }
}

static void test_net_07_a_server_with_another_key_than_the_pinned_ones_gets_nothing(void **state)
{
    const struct sbx_tls_terms right = {.name = "127.0.0.1"}, unproven = {.name = "127.0.0.1", .is_self_signed = true};
    uint8_t pins[2][32];
    (void)state;
    struct sbx_tls_server *server = sbx_tls_server_start(&right), *other = sbx_tls_server_start(&right),
                          *self_signed = sbx_tls_server_start(&unproven);
    sbx_tls_server_pin(server, pins[0]);
    memset(pins[1], 0x55, 32); /* the next pin, which is not in use yet */
    assert_int_equal(send_pinned(sbx_tls_server_url(server), (const uint8_t(*)[32])pins, 2).verdict, SBX_SEND_STORED);
    assert_int_equal(send_pinned(sbx_tls_server_url(server), (const uint8_t(*)[32])(pins + 1), 1).verdict,
                     SBX_SEND_LATER);
    assert_int_equal(sbx_tls_server_request_count(server), 1);
    assert_int_equal(send_pinned(sbx_tls_server_url(other), (const uint8_t(*)[32])pins, 2).verdict, SBX_SEND_LATER);
    assert_int_equal(sbx_tls_server_request_count(other), 0);
    sbx_tls_server_pin(self_signed, pins[0]); /* a pin is required in addition to the certificate */
    assert_int_equal(send_pinned(sbx_tls_server_url(self_signed), (const uint8_t(*)[32])pins, 1).verdict,
                     SBX_SEND_LATER);
    assert_int_equal(sbx_tls_server_request_count(self_signed), 0);
    sbx_tls_server_stop(server);
    sbx_tls_server_stop(other);
    sbx_tls_server_stop(self_signed);
}

struct pinned_gate {
    uint8_t pin[32];
};

static bool always(void *context, uint64_t bytes)
{
    (void)context, (void)bytes;
    return true;
}

static void never_mind(void *context, uint64_t bytes)
{
    (void)context, (void)bytes;
}

static uint32_t one_pin(void *context, uint8_t pins_out[][32])
{
    const struct pinned_gate *gate = context;
    memcpy(pins_out[0], gate->pin, 32);
    return 1;
}

static void test_net_07_the_pins_of_the_policy_hold_for_deliveries(void **state)
{
    const struct sbx_tls_terms right = {.name = "127.0.0.1"};
    struct pinned_gate pinned = {{0x55}};
    const struct sbx_delivery_gate gate = {
        .context = &pinned, .may_send = always, .was_sent = never_mind, .pins = one_pin};
    char *path = sbx_test_folder_make();
    (void)state;
    struct sbx_tls_server *server = sbx_tls_server_start(&right);
    struct sbx_spool *spool = sbx_test_spool(path, NULL);
    struct sbx_deliverer *deliverer = sbx_deliverer_create(spool, sbx_tls_server_url(server), NULL);
    sbx_deliverer_set_gate(deliverer, &gate);
    assert_int_equal(sbx_test_put(spool, 1), 0);
    assert_true(sbx_deliverer_step(deliverer) != UINT64_MAX);
    assert_int_equal(sbx_tls_server_request_count(server), 0);
    assert_int_equal(sbx_test_count(path, ".sbx"), 1);
    sbx_tls_server_pin(server, pinned.pin); /* the KEYSET was rotated */
    assert_true(sbx_test_deliver_all(deliverer, 20));
    assert_int_equal(sbx_tls_server_request_count(server), 1);
    sbx_deliverer_destroy(deliverer);
    sbx_spool_close(spool);
    sbx_tls_server_stop(server);
    sbx_test_folder_remove(path);
}

static void test_net_07_plain_http_leaves_this_machine_never(void **state)
{
    (void)state;
    struct sbx_send_result result = send_pinned("http://192.0.2.1", NULL, 0);
    assert_int_equal(result.verdict, SBX_SEND_LATER);
    assert_non_null(strstr(result.why, "use https"));
    assert_int_equal(sbx_http_trust("no certificate"), -22);
}

/* ---- NET-9 ---- */

/* The verdict of a separate process with NAME=VALUE in its environment. */
static int send_elsewhere(const char *url, const char *trust, const char *name, const char *value)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv(name, value, 1);
        execl("/proc/self/exe", "test_tls", url, trust, (char *)NULL);
        _exit(99);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_net_09_the_hosts_environment_sends_nothing_elsewhere_and_weakens_nothing(void **state)
{
    const struct sbx_tls_terms right = {.name = "127.0.0.1"},
                               rogue = {.name = "127.0.0.1", .is_of_other_authority = true},
                               old = {.name = "127.0.0.1", .has_old_version = true};
    char *folder = sbx_test_folder_make();
    const char *ours = sbx_test_path(folder, "ours.pem"), *others = sbx_test_path(folder, "others.pem"),
               *weak = sbx_test_path(folder, "weak.cnf"), *broken = sbx_test_path(folder, "broken.cnf"),
               *keys = sbx_test_path(folder, "keys.log");
    static const char weakening[] = "openssl_conf = a\n[a]\nssl_conf = b\n[b]\nsystem_default = c\n[c]\n"
                                    "MinProtocol = TLSv1\nCipherString = ALL:@SECLEVEL=0\nVerifyMode = None\n";
    (void)state;
    sbx_test_write(ours, sbx_tls_authority(), strlen(sbx_tls_authority()));
    sbx_test_write(others, sbx_tls_other_authority(), strlen(sbx_tls_other_authority()));
    sbx_test_write(weak, weakening, sizeof weakening - 1);
    sbx_test_write(broken, "[[[\n", 4);
    struct sbx_tls_server *server = sbx_tls_server_start(&right), *robber = sbx_tls_server_start(&rogue),
                          *weakling = sbx_tls_server_start(&old);
    struct sbx_http_server *proxy = sbx_http_server_start(0, NULL, 0);
    const char *url = sbx_tls_server_url(server);
    const char *const proxies[] = {"https_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy", "http_proxy"};
    for (size_t i = 0; i < sizeof proxies / sizeof proxies[0]; i++) {
        assert_int_equal(send_elsewhere(url, ours, proxies[i], sbx_http_server_url(proxy)), SBX_SEND_STORED);
    }
    assert_int_equal(sbx_http_server_connection_count(proxy), 0);
    assert_int_equal(send_elsewhere(url, ours, "SSL_CERT_FILE", others), SBX_SEND_STORED);
    assert_int_equal(send_elsewhere(url, ours, "CURL_CA_BUNDLE", others), SBX_SEND_STORED);
    assert_int_equal(sbx_tls_server_request_count(server), 7);
    assert_int_equal(send_elsewhere(url, ours, "SSLKEYLOGFILE", keys), SBX_SEND_LATER); /* skipped */
    assert_int_equal(sbx_tls_server_request_count(server), 7);
    assert_false(sbx_test_exists(keys));
    const char *const makers[][2] = {
        {"SSL_CERT_FILE", others}, {"SSL_CERT_DIR", folder}, {"CURL_CA_BUNDLE", others}, {"OPENSSL_CONF", weak}};
    for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++) {
        assert_int_equal(send_elsewhere(sbx_tls_server_url(robber), ours, makers[i][0], makers[i][1]), SBX_SEND_LATER);
    }
    assert_int_equal(sbx_tls_server_request_count(robber), 0);
    assert_int_equal(send_elsewhere(sbx_tls_server_url(weakling), ours, "OPENSSL_CONF", weak), SBX_SEND_LATER);
    assert_int_equal(sbx_tls_server_request_count(weakling), 0);
    int verdict = send_elsewhere(url, ours, "OPENSSL_CONF", broken); /* it works or waits, but never crashes */
    assert_true(verdict == SBX_SEND_STORED || verdict == SBX_SEND_LATER);
    sbx_tls_server_stop(server);
    sbx_tls_server_stop(robber);
    sbx_tls_server_stop(weakling);
    sbx_http_server_stop(proxy);
    sbx_test_folder_remove(folder);
}

int main(int argc, char **argv)
{
    memcpy(envelope + 16, id, sizeof id);
    if (argc == 3) {
        size_t bytes;
        char *pem = (char *)sbx_test_read(argv[2], &bytes);
        int result = sbx_http_trust(pem);
        free(pem);
        return result != 0 ? 99 : (int)send_pinned(argv[1], NULL, 0).verdict;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_net_07_servers_that_cannot_prove_themselves_get_nothing),
        cmocka_unit_test(test_net_07_a_server_with_another_key_than_the_pinned_ones_gets_nothing),
        cmocka_unit_test(test_net_07_the_pins_of_the_policy_hold_for_deliveries),
        cmocka_unit_test(test_net_07_plain_http_leaves_this_machine_never),
        cmocka_unit_test(test_net_09_the_hosts_environment_sends_nothing_elsewhere_and_weakens_nothing),
    };
    return cmocka_run_group_tests(tests, trust_ours, NULL);
}
