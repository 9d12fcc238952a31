import Encodings
import Model

/// The target of a request, taken apart: path segments, each percent-decoded once, and the query.
///
/// A segment that can't be read stays as it came, and is reported as the target's fault.
package struct RequestTarget: Equatable {
    package let path: String
    package let segments: [String]
    package let query: String
    /// nil: every segment can be read.
    package private(set) var fault: Problem?

    package init(_ target: String) throws(Problem) {
        let bytes = Array(target.utf8)
        guard bytes.first == UInt8(ascii: "/"), !bytes.contains(UInt8(ascii: "#")) else {
            throw Problem(.malformedPath, "A path must begin with a slash and have no fragment.")
        }
        let end = bytes.firstIndex(of: UInt8(ascii: "?")) ?? bytes.count
        path = end == bytes.count ? target : String(decoding: bytes[..<end], as: UTF8.self)
        query = String(decoding: bytes[end...].dropFirst(), as: UTF8.self)
        var segments: [String] = []
        var start = 1
        // Whether the segment needs no decoding, as nearly all.
        var isPlain = true
        for place in 1...end {
            guard place == end || bytes[place] == UInt8(ascii: "/") else {
                if bytes[place] == UInt8(ascii: "%") || bytes[place] == 0 { isPlain = false }
                continue
            }
            let segment = String(decoding: bytes[start..<place], as: UTF8.self)
            do throws(Problem) {
                segments.append(try Self.checked(isPlain ? segment : PercentDecoding.decode(segment)))
            } catch {
                fault = fault ?? error
                segments.append(segment)
            }
            start = place + 1
            isPlain = true
        }
        self.segments = segments
    }

    private static func checked(_ decoded: String?) throws(Problem) -> String {
        guard let segment = decoded else {
            throw Problem(
                .malformedPath,
                "A path segment has a percent sign without two digits, a NUL, or bytes that are not UTF-8. Encode names "
                    + "as UTF-8, percent-encoded once.")
        }
        // Clients and proxies resolve these, however they are encoded: the path that arrives may not be the one meant.
        guard segment != ".", segment != ".." else {
            throw Problem(.malformedPath, "A path must not have the segments \".\" and \"..\".")
        }
        return segment
    }
}

/// Query parameters by name. Each may occur once, and the endpoint has to know it.
///
/// A plus sign in a value is refused: some clients write it for a space, others for itself.
package struct QueryReader: Sendable {
    private let parameters: [(name: String, value: String)]

    package init(_ query: String, known: [String]) throws(Problem) {
        var parameters: [(name: String, value: String)] = []
        for part in query.utf8.split(separator: UInt8(ascii: "&")) {
            let mark = part.firstIndex(of: UInt8(ascii: "="))
            let encoded = mark.map { Substring(part[part.index(after: $0)...]) } ?? ""
            guard let name = PercentDecoding.decode(Substring(part[..<(mark ?? part.endIndex)])),
                let value = PercentDecoding.decode(encoded)
            else { throw Problem(.invalidQuery, "The query is not percent-encoded UTF-8.") }
            guard known.contains(name) else {
                let offer = known.isEmpty ? "takes none" : "takes \(known.joined(separator: ", "))"
                throw Problem(.invalidQuery, "The query has a parameter that this route does not know; it \(offer).")
            }
            guard !parameters.contains(where: { $0.name == name }) else {
                throw Problem(.invalidQuery, "The query gives \(name) twice.")
            }
            guard !encoded.utf8.contains(UInt8(ascii: "+")) else {
                throw Problem(
                    .invalidQuery,
                    "The value of \(name) has a plus sign, which may mean a space or a plus. Write %20 for a space, and "
                        + "%2B for a plus.")
            }
            parameters.append((name, value))
        }
        self.parameters = parameters
    }

    private init() { parameters = [] }

    /// A query without parameters.
    package static let empty = QueryReader()

    /// The parameter's value; nil if absent or empty.
    package subscript(name: String) -> String? { parameters.first { $0.name == name && !$0.value.isEmpty }?.value }

    /// The parameter's value, which may be empty; nil if absent.
    package func parameter(_ name: String) -> String? { parameters.first { $0.name == name }?.value }

    package func limit(_ page: PageLimits = .usual) throws(Problem) -> Int {
        guard let text = self["limit"] else { return page.standard }
        guard let limit = Int(text), (1...page.max).contains(limit) else {
            throw Problem(.invalidQuery, "limit must be a whole number from 1 to \(page.max).")
        }
        return limit
    }
}

extension QueryReader {
    package func choice<Value>(
        _ name: String, _ names: [String], _ meaning: (String) -> Value?
    ) throws(Problem) -> Value? {
        guard let text = self[name] else { return nil }
        guard let known = meaning(text) else {
            throw Problem(.invalidQuery, "\(name) must be one of \(names.joined(separator: ", ")).")
        }
        return known
    }

    package func cursor<Cursor>(_ name: String = "cursor", _ reading: (String) -> Cursor?) throws(Problem) -> Cursor? {
        guard let text = self[name] else { return nil }
        guard let cursor = reading(text) else { throw .invalidCursor }
        return cursor
    }

    package func choice<Value: NamedCase>(_ name: String) throws(Problem) -> Value? {
        try choice(name, Value.allCases.map(\.name), Value.init(name:))
    }

    /// The same, but refuses an empty value: for an operation that would otherwise do more than was meant.
    package func givenChoice<Value: NamedCase>(_ name: String) throws(Problem) -> Value? {
        let value: Value? = try choice(name)
        guard value != nil || parameter(name) == nil else {
            throw Problem(.invalidQuery, "\(name) is empty. Name one, or leave the parameter out.")
        }
        return value
    }
}

package struct PageLimits: Sendable {
    package let standard: Int
    package let max: Int

    package static let usual = PageLimits(standard: 100, max: 1_000)
    package static let messages = PageLimits(standard: 50, max: 500)
    /// A device has no more. An app inquires all of its own with one call.
    package static let itemSubscriptions = PageLimits(standard: 1_000, max: 1_000)
}

/// The header that makes repeating a POST safe.
package enum IdempotencyKey {
    /// The longest key, in bytes. The database holds the same bound.
    package static let bytesMax = 255

    package static func read(_ values: [String]) throws(Problem) -> String? {
        guard let key = values.first else { return nil }
        guard values.count == 1, !key.isEmpty, key.utf8.count <= bytesMax, RegistrationRequest.isVisibleASCII(key)
        else {
            throw Problem(
                .invalidIdempotencyKey,
                "An Idempotency-Key is one value of 1 to \(bytesMax) visible ASCII characters, for example a new UUID.")
        }
        return key
    }
}

extension Problem {
    package static let invalidCursor = Problem(
        .invalidCursor, "This cursor is not valid. Use \"next\" of the previous page unchanged, or no cursor.")
}
