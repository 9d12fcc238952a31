#ifndef CARILLON_COPENSSL_SHIM_H
#define CARILLON_COPENSSL_SHIM_H

#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/pkcs7.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

// Swift imports neither function-like macros nor variadic functions. What it needs of them stands here, one
// function each, named after the macro.

static inline long shim_SSL_CTX_set_mode(SSL_CTX *context, long mode) { return SSL_CTX_set_mode(context, mode); }

static inline int shim_SSL_CTX_set_min_proto_version(SSL_CTX *context, int version) {
    return (int)SSL_CTX_set_min_proto_version(context, version);
}

static inline void shim_SSL_CTX_set_session_cache_off(SSL_CTX *context) {
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}

static inline int shim_SSL_CTX_add_chain_certificate(SSL_CTX *context, X509 *certificate) {
    return (int)SSL_CTX_add1_chain_cert(context, certificate);
}

static inline int shim_SSL_set_tlsext_host_name(SSL *session, const char *name) {
    return (int)SSL_set_tlsext_host_name(session, name);
}

// OpenSSL 3 made these function-like; the values of SSL_OP_* are macros with a cast that Swift can't read.
static inline void shim_SSL_CTX_set_common_options(SSL_CTX *context) {
    // No renegotiation: nothing of ours needs it. No compression. No tickets: connections live for hours, and a resumed
    // session would skip the look at a changed certificate.
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
}

// A memory BIO that ran empty: "come again" while a conversation goes on (its default), "the end" for a document.
static inline void shim_BIO_set_mem_eof_means_end(BIO *bio) { BIO_set_mem_eof_return(bio, 0); }

static inline long shim_BIO_get_mem_data(BIO *bio, const unsigned char **bytes) {
    return BIO_get_mem_data(bio, (char **)bytes);
}

static inline EVP_PKEY *shim_EVP_generate_p256(void) { return EVP_EC_gen("P-256"); }
static inline EVP_PKEY *shim_EVP_generate_rsa(unsigned int bits) { return EVP_RSA_gen(bits); }

static inline int shim_sk_PKCS7_num(const STACK_OF(PKCS7) *stack) { return sk_PKCS7_num(stack); }
static inline PKCS7 *shim_sk_PKCS7_value(const STACK_OF(PKCS7) *stack, int index) {
    return sk_PKCS7_value(stack, index);
}
static inline void shim_sk_PKCS7_free_all(STACK_OF(PKCS7) *stack) { sk_PKCS7_pop_free(stack, PKCS7_free); }

static inline int shim_sk_PKCS12_SAFEBAG_num(const STACK_OF(PKCS12_SAFEBAG) *stack) {
    return sk_PKCS12_SAFEBAG_num(stack);
}
static inline PKCS12_SAFEBAG *shim_sk_PKCS12_SAFEBAG_value(const STACK_OF(PKCS12_SAFEBAG) *stack, int index) {
    return sk_PKCS12_SAFEBAG_value(stack, index);
}
static inline void shim_sk_PKCS12_SAFEBAG_free_all(STACK_OF(PKCS12_SAFEBAG) *stack) {
    sk_PKCS12_SAFEBAG_pop_free(stack, PKCS12_SAFEBAG_free);
}

// PKCS7 is a union behind its type, which Swift would have to trust.
static inline int shim_PKCS7_nid(const PKCS7 *contents) { return OBJ_obj2nid(contents->type); }
static inline const X509_ALGOR *shim_PKCS7_encryption(const PKCS7 *contents) {
    if (shim_PKCS7_nid(contents) != NID_pkcs7_encrypted || !contents->d.encrypted) return 0;
    return contents->d.encrypted->enc_data ? contents->d.encrypted->enc_data->algorithm : 0;
}

static inline int shim_err_library(unsigned long code) { return ERR_GET_LIB(code); }
static inline int shim_err_reason(unsigned long code) { return ERR_GET_REASON(code); }

#endif
