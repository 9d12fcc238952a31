import COpenSSL

/// OpenSSL's per-thread list of what went wrong. Cleared before each call, so that what is drained after a failure
/// belongs to it.
enum ErrorQueue {
    struct Entry {
        let library: Int32
        let reason: Int32
        /// OpenSSL's own words for the reason; never holds what it worked on.
        let text: String

        static let unexplained = Entry(library: 0, reason: 0, text: "unexplained")

        /// The alert that the peer sent, where this says so: OpenSSL adds 1000 to its number.
        var alert: TLSAlert? {
            guard library == ERR_LIB_SSL, (1_000..<1_256).contains(reason) else { return nil }
            return TLSAlert(code: UInt8(reason - 1_000))
        }
    }

    static func clear() { ERR_clear_error() }

    /// The first failure, which is the cause; empties the queue.
    static func drain() -> Entry {
        let code = ERR_get_error()
        ERR_clear_error()
        guard code != 0 else { return .unexplained }
        let text = unsafe ERR_reason_error_string(code).map { unsafe String(cString: $0) } ?? "unexplained"
        return Entry(library: shim_err_library(code), reason: shim_err_reason(code), text: text)
    }

    /// The last failure, which names the outermost step that gave up; empties the queue.
    static func drainLast() -> Entry {
        let code = ERR_peek_last_error()
        ERR_clear_error()
        guard code != 0 else { return .unexplained }
        let text = unsafe ERR_reason_error_string(code).map { unsafe String(cString: $0) } ?? "unexplained"
        return Entry(library: shim_err_library(code), reason: shim_err_reason(code), text: text)
    }

    static var asLibraryError: TLSError { .library(reason: drain().text) }
}
