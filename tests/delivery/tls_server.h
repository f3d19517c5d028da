/* SPDX-License-Identifier: Apache-2.0 */
/* tls_server.h - an HTTPS server on loopback with a certificate, version and cipher that the test chooses, made when it
 * starts. */
#ifndef SBX_TEST_TLS_SERVER_H
#define SBX_TEST_TLS_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sbx_tls_terms {
    const char *name; /* in the certificate: "127.0.0.1" as an address, any other as a DNS name */
    bool is_expired, is_not_yet, is_self_signed;
    bool is_of_other_authority; /* signed by the authority that nobody trusts */
    bool has_old_version;       /* TLS 1.1 at most */
    bool has_no_certificate;    /* an anonymous cipher */
    bool has_null_cipher;       /* nothing is encrypted */
    bool has_wrong_protocol;    /* ALPN: only "smtp" */
};

struct sbx_tls_server;

/* Ends the program on failure. */
struct sbx_tls_server *sbx_tls_server_start(const struct sbx_tls_terms *terms);
uint16_t sbx_tls_server_port(const struct sbx_tls_server *server);
const char *sbx_tls_server_url(const struct sbx_tls_server *server); /* "https://127.0.0.1:PORT" */
/* The number of complete requests after a finished handshake. */
size_t sbx_tls_server_request_count(struct sbx_tls_server *server);
/* SHA-256 of the server's public key. */
void sbx_tls_server_pin(const struct sbx_tls_server *server, uint8_t pin_out[32]);
void sbx_tls_server_stop(struct sbx_tls_server *server);

/* PEM of the authority that the tests trust, and of the other one. Never freed. */
const char *sbx_tls_authority(void);
const char *sbx_tls_other_authority(void);

#endif
