import Model

/// The address of APNs.
package struct APNsEndpoint: Hashable, Sendable {
    package let host: String
    package let port: UInt16

    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Returns Apple's host. The environment is a property of the device token: there is no third host to try.
    package static func apple(_ environment: PushEnvironment) -> APNsEndpoint {
        switch environment {
        case .production: APNsEndpoint(host: "api.push.apple.com", port: 443)
        case .sandbox: APNsEndpoint(host: "api.sandbox.push.apple.com", port: 443)
        }
    }

    /// Reads a setting: "https://host" or "https://host:port", IPv6 in brackets, followed by nothing but a slash.
    package init?(url: String) {
        let prefix = "https://"
        guard url.hasPrefix(prefix) else { return nil }
        var remaining = url.dropFirst(prefix.count)
        if remaining.last == "/" { remaining.removeLast() }
        var port: UInt16 = 443
        let isBracketed = remaining.first == "["
        if let colon = remaining.lastIndex(of: ":"), !isBracketed || remaining[..<colon].last == "]" {
            guard let number = UInt16(remaining[remaining.index(after: colon)...]), number > 0 else { return nil }
            port = number
            remaining = remaining[..<colon]
        }
        if isBracketed {
            guard remaining.last == "]" else { return nil }
            remaining = remaining.dropFirst().dropLast()
        }
        let isName = remaining.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                true
            case UInt8(ascii: ":"): isBracketed
            default: false
            }
        }
        guard !remaining.isEmpty, isName else { return nil }
        self.init(host: String(remaining), port: port)
    }
}

/// The key and team that sign provider tokens.
package struct APNsKeyIdentity: Hashable, Sendable {
    package let keyID: String
    package let teamID: String

    /// Returns nil unless both have ten capital letters and digits.
    package init?(keyID: String, teamID: String) {
        guard Self.isTenLong(keyID), Self.isTenLong(teamID) else { return nil }
        self.keyID = keyID
        self.teamID = teamID
    }

    private static func isTenLong(_ text: String) -> Bool {
        text.utf8.count == 10
            && text.utf8.allSatisfy {
                (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
            }
    }
}
