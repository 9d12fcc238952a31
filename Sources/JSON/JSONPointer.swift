/// A place inside a JSON document: "/audience/installations/0". Source: RFC 6901.
package struct JSONPointer: Hashable, Sendable, CustomStringConvertible {
    package private(set) var tokens: [String]

    /// The place of the whole document.
    package static let root = JSONPointer(tokens: [])

    package init(tokens: [String]) { self.tokens = tokens }

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
}

extension JSONValue {
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
