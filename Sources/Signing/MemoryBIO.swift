import COpenSSL

/// An in-memory buffer of OpenSSL, to read from or to write into. Stays on one thread.
@safe package struct MemoryBIO: ~Copyable {
    package let pointer: OpaquePointer

    /// Returns nil if OpenSSL has no memory for it.
    /// - Parameter bytes: the bytes to read, which then end; empty for a buffer to write into.
    package init?(holding bytes: [UInt8] = []) {
        let made = unsafe BIO_new(BIO_s_mem())
        guard unsafe bytes.isEmpty || BIO_write(made, bytes, Int32(bytes.count)) == bytes.count,
            let made = unsafe made
        else {
            unsafe BIO_free_all(made)
            return nil
        }
        unsafe shim_BIO_set_mem_eof_means_end(made)
        unsafe pointer = unsafe made
    }

    deinit { unsafe BIO_free_all(pointer) }

    package func bytes() -> [UInt8] {
        var start: UnsafePointer<UInt8>?
        let count = unsafe shim_BIO_get_mem_data(pointer, &start)
        return unsafe Array(UnsafeBufferPointer(start: start, count: max(0, count)))
    }
}
