import COpenSSL

/// An in-memory buffer of OpenSSL, to read from or to write into. Stays on one thread.
@safe package struct MemoryBIO: ~Copyable {
    package let pointer: OpaquePointer

    /// Returns nil if OpenSSL has no memory for it.
    /// - Parameter bytes: the bytes to read, which then end; empty for a buffer to write into.
    package init?(holding bytes: [UInt8] = []) {
        let made = unsafe BIO_new(BIO_s_mem())
        guard unsafe bytes.isEmpty || BIO_write(made, bytes, Int32(bytes.count)) == bytes.count, let made = unsafe made
        else {
            unsafe BIO_free_all(made)
            return nil
        }
        unsafe shim_BIO_set_mem_eof_means_end(made)
        unsafe pointer = unsafe made
    }

    /// A PEM text to read. Two characters, `\n`, stand for a line break in texts copied from JSON or a variable.
    init?(pem text: [UInt8]) { self.init(holding: Self.withLineBreaks(text)) }

    /// PEM itself has no backslash. `\r` is left out: a blank line would end the lines before the base64.
    private static func withLineBreaks(_ text: [UInt8]) -> [UInt8] {
        let backslash = UInt8(ascii: "\\")
        guard text.contains(backslash) else { return text }
        var plain: [UInt8] = []
        var remaining = text[...]
        while let byte = remaining.popFirst() {
            switch (byte, remaining.first) {
            case (backslash, UInt8(ascii: "n")):
                plain.append(UInt8(ascii: "\n"))
                remaining.removeFirst()
            case (backslash, UInt8(ascii: "r")): remaining.removeFirst()
            default: plain.append(byte)
            }
        }
        return plain
    }

    deinit { unsafe BIO_free_all(pointer) }

    package func bytes() -> [UInt8] {
        var start: UnsafePointer<UInt8>?
        let count = unsafe shim_BIO_get_mem_data(pointer, &start)
        return unsafe Array(UnsafeBufferPointer(start: start, count: max(0, count)))
    }
}
