/* SPDX-License-Identifier: Apache-2.0 */
/* tls_server.c - libssl, one thread, one connection at a time. */
#include "tls_server.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "envelope_format.h"
#include "http_head.h"
#include "loopback.h"

struct authority {
    EVP_PKEY *key;
    X509 *certificate;
    char *pem;
};

struct sbx_tls_server {
    struct sbx_loopback *loopback;
    char url[64];
    SSL_CTX *context;
    EVP_PKEY *key;
    pthread_mutex_t lock; /* protects the fields below */
    size_t request_count;
};

static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "tls_server: %s\n", what);
    ERR_print_errors_fp(stderr);
    abort();
}

static EVP_PKEY *make_key(void)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    if (key == NULL) {
        give_up("no key");
    }
    return key;
}

static void add_extension(X509 *certificate, X509 *issuer, int kind, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, kind, value);
    if (extension == NULL || X509_add_ext(certificate, extension, -1) != 1) {
        give_up(value);
    }
    X509_EXTENSION_free(extension);
}

/* Valid from `from_s` to `to_s` seconds from now; signed by `issuer`, or by itself when that is NULL. */
static X509 *make_certificate(EVP_PKEY *key, const char *name, const struct authority *issuer, long from_s, long to_s,
                              const char *alternative_name)
{
    static long serial = 1000;
    X509 *certificate = X509_new();
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
    X509_gmtime_adj(X509_getm_notBefore(certificate), from_s);
    X509_gmtime_adj(X509_getm_notAfter(certificate), to_s);
    X509_set_pubkey(certificate, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC, (const unsigned char *)name, -1,
                               -1, 0);
    X509_set_issuer_name(certificate, issuer != NULL ? X509_get_subject_name(issuer->certificate)
                                                     : X509_get_subject_name(certificate));
    add_extension(certificate, issuer != NULL ? issuer->certificate : certificate, NID_basic_constraints,
                  alternative_name == NULL ? "critical,CA:TRUE" : "critical,CA:FALSE");
    if (alternative_name != NULL) {
        add_extension(certificate, issuer != NULL ? issuer->certificate : certificate, NID_subject_alt_name,
                      alternative_name);
    }
    if (X509_sign(certificate, issuer != NULL ? issuer->key : key, EVP_sha256()) == 0) {
        give_up("a certificate cannot be signed");
    }
    return certificate;
}

static const struct authority *authority(bool is_other)
{
    static struct authority authorities[2];
    struct authority *one = &authorities[is_other];
    if (one->key == NULL) {
        one->key = make_key();
        one->certificate = make_certificate(one->key, is_other ? "nobody's" : "ours", NULL, -86400, 86400, NULL);
        BIO *memory = BIO_new(BIO_s_mem());
        char *text;
        PEM_write_bio_X509(memory, one->certificate);
        long length = BIO_get_mem_data(memory, &text);
        one->pem = strndup(text, (size_t)length);
        BIO_free(memory);
    }
    return one;
}

const char *sbx_tls_authority(void)
{
    return authority(false)->pem;
}

const char *sbx_tls_other_authority(void)
{
    return authority(true)->pem;
}

static int choose_protocol(SSL *ssl, const unsigned char **chosen, unsigned char *length, const unsigned char *offered,
                           unsigned offered_bytes, void *context)
{
    static const unsigned char smtp[] = "smtp";
    (void)ssl, (void)offered, (void)offered_bytes, (void)context;
    *chosen = smtp; /* the client did not offer it */
    *length = sizeof smtp - 1;
    return SSL_TLSEXT_ERR_OK;
}

static void set_terms(struct sbx_tls_server *server, const struct sbx_tls_terms *terms)
{
    char alternative_name[100];
    long from_s = terms->is_not_yet ? 3600 : -7200, to_s = terms->is_expired ? -3600 : 7200;
    bool is_address = strspn(terms->name, "0123456789.") == strlen(terms->name);
    server->key = make_key();
    server->context = SSL_CTX_new(TLS_server_method());
    SSL_CTX_set_min_proto_version(server->context, 0);
    if (terms->has_old_version || terms->has_null_cipher || terms->has_no_certificate) {
        SSL_CTX_set_security_level(server->context, 0);
        SSL_CTX_set_max_proto_version(server->context, terms->has_old_version ? TLS1_1_VERSION : TLS1_2_VERSION);
        if (SSL_CTX_set_cipher_list(server->context, terms->has_no_certificate ? "aNULL:@SECLEVEL=0"
                                                     : terms->has_null_cipher  ? "eNULL:@SECLEVEL=0"
                                                                               : "ALL:@SECLEVEL=0") != 1) {
            give_up("no such cipher");
        }
    }
    if (terms->has_wrong_protocol) {
        SSL_CTX_set_alpn_select_cb(server->context, choose_protocol, NULL);
    }
    if (terms->has_no_certificate) {
        return;
    }
    snprintf(alternative_name, sizeof alternative_name, "%s:%s", is_address ? "IP" : "DNS", terms->name);
    X509 *certificate = make_certificate(server->key, terms->name,
                                         terms->is_self_signed ? NULL : authority(terms->is_of_other_authority), from_s,
                                         to_s, alternative_name);
    if (SSL_CTX_use_certificate(server->context, certificate) != 1 ||
        SSL_CTX_use_PrivateKey(server->context, server->key) != 1) {
        give_up("the certificate is not taken");
    }
    X509_free(certificate);
}

static ssize_t take(void *ssl, void *to, size_t bytes)
{
    return SSL_read(ssl, to, (int)bytes);
}

/* Read a complete request and answer it as the collector would. */
static void serve(void *context, int connection)
{
    struct sbx_tls_server *server = context;
    static char request[1 << 20];
    struct sbx_http_head head;
    SSL *ssl = SSL_new(server->context);
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_sec = 10}, sizeof(struct timeval));
    SSL_set_fd(ssl, connection);
    if (SSL_accept(ssl) != 1) {
        ERR_clear_error();
        goto free_ssl;
    }
    if (!sbx_http_head_read(take, ssl, request, sizeof request, &head)) {
        goto free_ssl;
    }
    while (head.have < head.body_at + head.length_bytes) {
        ssize_t got = take(ssl, request + head.have, sizeof request - 1 - head.have);
        if (got <= 0) {
            goto free_ssl;
        }
        head.have += (size_t)got;
        request[head.have] = '\0';
    }
    pthread_mutex_lock(&server->lock);
    server->request_count++;
    pthread_mutex_unlock(&server->lock);
    const char *id = strcasestr(request, "\r\nX-Stallbox-Payload-Id: ");
    char answer[300];
    int bytes =
        snprintf(answer, sizeof answer, "HTTP/1.1 200 OK\r\nContent-Length: 49\r\n\r\n" SBX_STORED_PREFIX "%.32s\n",
                 id == NULL ? "00000000000000000000000000000000" : id + 25);
    (void)SSL_write(ssl, answer, bytes);
    (void)SSL_shutdown(ssl);
free_ssl:
    SSL_free(ssl);
}

struct sbx_tls_server *sbx_tls_server_start(const struct sbx_tls_terms *terms)
{
    struct sbx_tls_server *server = calloc(1, sizeof *server);
    if (server == NULL) {
        give_up("calloc");
    }
    set_terms(server, terms);
    pthread_mutex_init(&server->lock, NULL);
    server->loopback = sbx_loopback_start(0, serve, server);
    snprintf(server->url, sizeof server->url, "https://127.0.0.1:%u", sbx_tls_server_port(server));
    return server;
}

uint16_t sbx_tls_server_port(const struct sbx_tls_server *server)
{
    return sbx_loopback_port(server->loopback);
}

const char *sbx_tls_server_url(const struct sbx_tls_server *server)
{
    return server->url;
}

size_t sbx_tls_server_request_count(struct sbx_tls_server *server)
{
    pthread_mutex_lock(&server->lock);
    size_t count = server->request_count;
    pthread_mutex_unlock(&server->lock);
    return count;
}

void sbx_tls_server_pin(const struct sbx_tls_server *server, uint8_t pin_out[32])
{
    unsigned char *key = NULL;
    int bytes = i2d_PUBKEY(server->key, &key);
    if (bytes <= 0) {
        give_up("no public key");
    }
    SHA256(key, (size_t)bytes, pin_out);
    OPENSSL_free(key);
}

void sbx_tls_server_stop(struct sbx_tls_server *server)
{
    sbx_loopback_stop(server->loopback);
    SSL_CTX_free(server->context);
    EVP_PKEY_free(server->key);
    pthread_mutex_destroy(&server->lock);
    free(server);
}
