import Basis

/// `{"reason":"Unregistered","timestamp":1700000000000}`, read in place, without copies and without trust.
///
/// Members may come in any order; unknown ones are skipped. After a syntax error nothing more is read.
struct APNsErrorBody: Equatable {
    /// The range of the reason, without its quotation marks. nil: it is missing, empty, or has an escape, which no
    /// documented reason has.
    private(set) var reasonBytes: Range<Int>?
    private(set) var timestamp = Timestamp.none

    enum Timestamp: Equatable {
        case none
        case at(WallInstant)
        /// The member exists, but is no time.
        case unreadable
    }

    init(reading body: Span<UInt8>) {
        var scanner = Scanner(end: min(body.count, APNsResponse.bodyBytesMax))
        guard scanner.take(UInt8(ascii: "{"), in: body) else { return }
        repeat {
            guard let name = scanner.string(in: body), scanner.take(UInt8(ascii: ":"), in: body) else { return }
            if body.extracting(name).spells("reason") {
                guard let reason = scanner.string(in: body) else { return }
                reasonBytes = reason.isEmpty ? nil : reason
            } else if body.extracting(name).spells("timestamp") {
                timestamp = scanner.milliseconds(in: body).map { .at($0) } ?? .unreadable
                guard scanner.skipValue(in: body) else { return }
            } else {
                guard scanner.skipValue(in: body) else { return }
            }
        } while scanner.take(UInt8(ascii: ","), in: body)
    }
}

/// A position in the bytes, and the ways to move on from it. Each of them stops at the end.
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

    /// Reads a string without escapes, and returns the range between its quotation marks.
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

    /// Reads a whole number of milliseconds, currently 13 digits. A time before 1970 reads as 1970, which is also
    /// before any registration. Does not move: `skipValue` does.
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
        // Fifteen digits reach the year 33658, and don't overflow as microseconds.
        while index < end, body[index].isDigit {
            number = number * 10 + Int64(body[index] - UInt8(ascii: "0"))
            index += 1
            if index - start > 15 { return nil }
        }
        return index > start ? number : nil
    }

    /// Returns false at the end of the bytes, because the number may have been cut short.
    private mutating func isAtEndOfValue(in body: Span<UInt8>) -> Bool {
        skipWhiteSpace(in: body)
        return index < end && (body[index] == UInt8(ascii: ",") || body[index] == UInt8(ascii: "}"))
    }

    /// Skips any value, however deep: counts brackets and skips strings.
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
                case UInt8(ascii: ","): if depth == 0 { return true }
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
    func spells(_ text: String) -> Bool {
        guard count == text.utf8.count else { return false }
        var index = 0
        for byte in text.utf8 {
            if self[index] != byte { return false }
            index += 1
        }
        return true
    }
}
