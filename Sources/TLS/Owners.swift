import COpenSSL

// One owner per C object adopts it when made and frees it in `deinit`. Certificates count their references with atomics
// and never change once built, so their owners may cross threads. `KeyOwner` owns keys.

/// An X.509 certificate. Proof for `@unchecked`: as above.
@safe final class CertificateHandle: @unchecked Sendable {
    let pointer: OpaquePointer
    init(adopting pointer: OpaquePointer) { unsafe self.pointer = unsafe pointer }
    deinit { unsafe X509_free(pointer) }
}

/// An in-memory buffer of OpenSSL, to read from or to write into. Stays on one thread.
@safe struct MemoryBIO: ~Copyable {
    let pointer: OpaquePointer

    /// - Parameter bytes: the bytes to read, which then end.
    init(holding bytes: [UInt8]) throws(TLSError) {
        let made = unsafe BIO_new(BIO_s_mem())
        guard unsafe bytes.isEmpty || BIO_write(made, bytes, Int32(bytes.count)) == bytes.count,
            let made = unsafe made
        else {
            unsafe BIO_free_all(made)
            throw ErrorQueue.asLibraryError
        }
        unsafe shim_BIO_set_mem_eof_means_end(made)
        unsafe pointer = unsafe made
    }

    /// Creates an empty buffer to write into.
    init() throws(TLSError) { try self.init(holding: []) }

    deinit { unsafe BIO_free_all(pointer) }

    func bytes() -> [UInt8] {
        var start: UnsafePointer<UInt8>?
        let count = unsafe shim_BIO_get_mem_data(pointer, &start)
        return unsafe Array(UnsafeBufferPointer(start: start, count: max(0, count)))
    }
}
