import Basis

/// `{"reason":"Unregistered","timestamp":1700000000000}`, read in place: nothing is copied, nothing trusted.
///
/// Members in any order, unknown ones passed over. What does not parse leaves the rest unread.
struct APNsErrorBody: Equatable {
    /// Where the reason stands in the bytes, without its quotation marks. nil where there is none, it is empty, or it
    /// has an escape, which no documented reason has.
    private(set) var reasonBytes: Range<Int>?
    private(set) var timestamp = Timestamp.none

    enum Timestamp: Equatable {
        case none
        case at(WallInstant)
        /// Something stands there, and it is no time.
        case unreadable
    }

    init(reading body: Span<UInt8>) {
        var scanner = Scanner(end: min(body.count, APNsResponse.bodyBytesMax))
        guard scanner.take(UInt8(ascii: "{"), in: body) else { return }
        repeat {
            guard let name = scanner.string(in: body), scanner.take(UInt8(ascii: ":"), in: body) else { return }
            if body.spells("reason", at: name) {
                guard let reason = scanner.string(in: body) else { return }
                reasonBytes = reason.isEmpty ? nil : reason
            } else if body.spells("timestamp", at: name) {
                timestamp = scanner.milliseconds(in: body).map { .at($0) } ?? .unreadable
                guard scanner.skipValue(in: body) else { return }
            } else {
                guard scanner.skipValue(in: body) else { return }
            }
        } while scanner.take(UInt8(ascii: ","), in: body)
    }
}

/// A place in the bytes, and the ways to move on from it. Every way stops at the end.
private struct Scanner {
    private var index = 0
    private let end: Int

    init(end: Int) { self.end = end }

    mutating func take(_ byte: UInt8, in body: Span<UInt8>) -> Bool {
        skipWhiteSpace(in: body)
        guard index < end, body[index] == byte else { return false }
        index += 1
        return true
    }

    /// The inside of a string without escapes.
    mutating func string(in body: Span<UInt8>) -> Range<Int>? {
        guard take(UInt8(ascii: "\""), in: body) else { return nil }
        let start = index
        while index < end, body[index] != UInt8(ascii: "\"") {
            if body[index] == UInt8(ascii: "\\") { return nil }
            index += 1
        }
        guard index < end else { return nil }
        index += 1
        return start..<index - 1
    }

    /// A whole number of milliseconds, 13 digits these days. A time before 1970 is before any registration, as
    /// 1970 is. Stays before it: `skipValue` moves on.
    mutating func milliseconds(in body: Span<UInt8>) -> WallInstant? {
        skipWhiteSpace(in: body)
        var ahead = self
        let isNegative = ahead.take(UInt8(ascii: "-"), in: body)
        guard let number = ahead.digits(in: body), ahead.isAtEndOfValue(in: body) else { return nil }
        return WallInstant(microseconds: isNegative ? 0 : number * 1_000)
    }

    private mutating func digits(in body: Span<UInt8>) -> Int64? {
        var number: Int64 = 0
        let start = index
        // Fifteen digits reach the year 33658, and no overflow on the way to microseconds.
        while index < end, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(body[index]) {
            number = number * 10 + Int64(body[index] - UInt8(ascii: "0"))
            index += 1
            if index - start > 15 { return nil }
        }
        return index > start ? number : nil
    }

    /// Not where the bytes end: a number that is cut short is another one.
    private mutating func isAtEndOfValue(in body: Span<UInt8>) -> Bool {
        skipWhiteSpace(in: body)
        return index < end && (body[index] == UInt8(ascii: ",") || body[index] == UInt8(ascii: "}"))
    }

    /// Any value, however deep: brackets are counted, strings passed over.
    mutating func skipValue(in body: Span<UInt8>) -> Bool {
        var depth = 0
        var isInString = false
        while index < end {
            let byte = body[index]
            if isInString {
                if byte == UInt8(ascii: "\\") { index += 1 }
                if byte == UInt8(ascii: "\"") { isInString = false }
            } else {
                switch byte {
                case UInt8(ascii: "\""): isInString = true
                case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    if depth == 0 { return true }
                    depth -= 1
                case UInt8(ascii: ","):
                    if depth == 0 { return true }
                default: break
                }
            }
            index += 1
        }
        return false
    }

    private mutating func skipWhiteSpace(in body: Span<UInt8>) {
        while index < end, [0x20, 0x09, 0x0a, 0x0d].contains(body[index]) { index += 1 }
    }
}

extension Span<UInt8> {
    fileprivate func spells(_ reason: String, at range: Range<Int>) -> Bool {
        guard range.count == reason.utf8.count else { return false }
        var index = range.lowerBound
        for byte in reason.utf8 {
            if self[index] != byte { return false }
            index += 1
        }
        return true
    }
}
