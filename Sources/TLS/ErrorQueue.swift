import COpenSSL

/// OpenSSL's per-thread queue of errors. Cleared before each call, so that an entry belongs to that call.
enum ErrorQueue {
    struct Entry {
        let library: Int32
        let reason: Int32
        /// OpenSSL's text for the reason. It never holds the data it worked on.
        let text: String

        static let unexplained = Entry(library: 0, reason: 0, text: "unexplained")

        /// The alert that the peer sent, if this entry reports one: OpenSSL adds 1000 to its number.
        var alert: TLSAlert? {
            guard library == ERR_LIB_SSL, (1_000..<1_256).contains(reason) else { return nil }
            return TLSAlert(code: UInt8(reason - 1_000))
        }
    }

    static func clear() { ERR_clear_error() }

    /// Returns the first failure, which is the cause, and empties the queue.
    static func drain() -> Entry {
        let code = ERR_get_error()
        ERR_clear_error()
        guard code != 0 else { return .unexplained }
        let text = unsafe ERR_reason_error_string(code).map { unsafe String(cString: $0) } ?? "unexplained"
        return Entry(library: shim_err_library(code), reason: shim_err_reason(code), text: text)
    }

    static var asLibraryError: TLSError { .library(reason: drain().text) }
}
