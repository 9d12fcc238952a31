/// A place inside a JSON document: "/audience/installations/0". Source: RFC 6901.
package struct JSONPointer: Hashable, Sendable, CustomStringConvertible {
    package private(set) var tokens: [String]

    /// The place of the whole document.
    package static let root = JSONPointer(tokens: [])

    package init(tokens: [String]) { self.tokens = tokens }

    /// Returns nil if the text is not empty and does not begin with a slash, or has an unknown escape.
    package init?(_ text: String) {
        if text.isEmpty {
            self = .root
            return
        }
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count > 1, parts[0].isEmpty else { return nil }
        var tokens: [String] = []
        for part in parts.dropFirst() {
            guard let token = Self.unescape(part) else { return nil }
            tokens.append(token)
        }
        self.tokens = tokens
    }

    package static func / (pointer: JSONPointer, name: String) -> JSONPointer {
        JSONPointer(tokens: pointer.tokens + [name])
    }
    package static func / (pointer: JSONPointer, index: Int) -> JSONPointer { pointer / String(index) }

    package var description: String {
        var bytes: [UInt8] = []
        for token in tokens {
            bytes.append(UInt8(ascii: "/"))
            for byte in token.utf8 {
                switch byte {
                case UInt8(ascii: "~"): bytes.append(contentsOf: "~0".utf8)
                case UInt8(ascii: "/"): bytes.append(contentsOf: "~1".utf8)
                default: bytes.append(byte)
                }
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func unescape(_ part: Substring.UTF8View) -> String? {
        var bytes: [UInt8] = []
        var isEscaped = false
        for byte in part {
            switch (isEscaped, byte) {
            case (false, UInt8(ascii: "~")): isEscaped = true
            case (false, _): bytes.append(byte)
            case (true, UInt8(ascii: "0")): (bytes, isEscaped) = (bytes + [UInt8(ascii: "~")], false)
            case (true, UInt8(ascii: "1")): (bytes, isEscaped) = (bytes + [UInt8(ascii: "/")], false)
            case (true, _): return nil
            }
        }
        return isEscaped ? nil : String(decoding: bytes, as: UTF8.self)
    }
}

extension JSONValue {
    /// Returns nil if the document has no value at this place.
    package func value(at pointer: JSONPointer) -> JSONValue? {
        var place = self
        for token in pointer.tokens {
            switch place {
            case .object(let object):
                guard let next = object[token] else { return nil }
                place = next
            case .array(let elements):
                guard let index = Int(token), String(index) == token, elements.indices.contains(index) else {
                    return nil
                }
                place = elements[index]
            case .null, .bool, .number, .string: return nil
            }
        }
        return place
    }
}
