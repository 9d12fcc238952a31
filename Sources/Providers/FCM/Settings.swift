import Basis

/// An address of Google's, or of a stand-in for it, in the parts that a connection and a request need.
package struct FCMServiceURL: Hashable, Sendable {
    /// https, not http.
    package let isSecure: Bool
    package let host: String
    package let port: UInt16
    /// The path with its slash; never empty.
    package let path: String

    /// Reads "https://host:port/path", IPv6 in brackets. nil for anything else: user names, queries, fragments, blanks.
    package init?(_ url: String) {
        guard url.utf8.count <= Self.bytesMax else { return nil }
        let schemes = [("https://", true, UInt16(443)), ("http://", false, UInt16(80))]
        guard let scheme = schemes.first(where: { url.hasPrefix($0.0) }) else { return nil }
        let remaining = url.dropFirst(scheme.0.count)
        let pathStart = remaining.firstIndex(of: "/") ?? remaining.endIndex
        guard let authority = Self.split(remaining[..<pathStart], portDefault: scheme.2) else { return nil }
        let path = remaining[pathStart...]
        guard path.utf8.allSatisfy({ Self.isPlain($0) || $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: ":") }) else {
            return nil
        }
        isSecure = scheme.1
        host = authority.host
        port = authority.port
        self.path = path.isEmpty ? "/" : String(path)
    }

    private static let bytesMax = 512

    private static func split(_ authority: Substring, portDefault: UInt16) -> (host: String, port: UInt16)? {
        var host = authority
        var port = portDefault
        let isBracketed = host.first == "["
        if let colon = host.lastIndex(of: ":"), !isBracketed || host[..<colon].last == "]" {
            let digits = host[host.index(after: colon)...]
            guard digits.utf8.allSatisfy(\.isDigit), let number = UInt16(digits), number > 0 else { return nil }
            port = number
            host = host[..<colon]
        }
        if isBracketed {
            guard host.last == "]" else { return nil }
            host = host.dropFirst().dropLast()
        }
        let isName = host.utf8.allSatisfy { $0 == UInt8(ascii: ":") ? isBracketed : isPlain($0) }
        return host.isEmpty || !isName ? nil : (String(host), port)
    }

    private static func isPlain(_ byte: UInt8) -> Bool { byte.isLetter || byte.isDigit || "-._".utf8.contains(byte) }
}

/// A Firebase project, by its id or its number: "my-project", "1234567890".
package struct FCMProject: Hashable, Sendable {
    package let name: String

    private static let bytesMax = 63

    /// Takes lower-case letters, digits and hyphens, else returns nil. The name is in every request's path.
    ///
    /// Google's ids have 6 to 30 characters and begin with a letter; a stand-in's may be shorter. Old ids that belong
    /// to a domain ("example.com:my-project") are known to FCM by their number too.
    package init?(_ name: String) {
        let isClean = name.utf8.allSatisfy { $0.isSmallLetter || $0.isDigit || $0 == UInt8(ascii: "-") }
        guard isClean, !name.isEmpty, name.utf8.count <= Self.bytesMax, name.utf8.first != UInt8(ascii: "-") else {
            return nil
        }
        self.name = name
    }
}
