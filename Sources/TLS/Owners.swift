import COpenSSL

// One owner per C object adopts it when made and frees it in `deinit`. Certificates count their references with atomics
// and never change once built, so their owners may cross threads. `KeyOwner` owns keys.

/// An X.509 certificate. Proof for `@unchecked`: as above.
@safe final class CertificateHandle: @unchecked Sendable {
    let pointer: OpaquePointer
    init(adopting pointer: OpaquePointer) { unsafe self.pointer = unsafe pointer }
    deinit { unsafe X509_free(pointer) }
}
