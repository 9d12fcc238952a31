import Basis

/// The reason in a GOAWAY's debug data, `{"reason":"Shutdown"}`. A hint: it may be absent, cut or malformed.
package struct GoAwayReason: Equatable, Sendable {
    package let reason: String

    /// No reason of Apple's is longer. The value may be logged, so it is bounded.
    private static let lettersMax = 48

    package init?(debugBytes: Span<UInt8>) {
        var bytes: [UInt8] = []
        // A foreign server may write anything; the reason stands within the first bytes or not at all.
        for index in 0..<min(debugBytes.count, 512) { bytes.append(debugBytes[index]) }
        guard let reason = Self.reason(in: bytes) else { return nil }
        self.reason = reason
    }

    /// The quoted string after `"reason"` and a colon. Only letters and blanks are accepted: a value with digits might
    /// be a device token, which no log may hold.
    private static func reason(in bytes: [UInt8]) -> String? {
        guard let name = bytes.firstRange(of: #""reason""#.utf8) else { return nil }
        var remaining = bytes[name.upperBound...].drop(while: isBlank)
        guard remaining.popFirst() == UInt8(ascii: ":") else { return nil }
        remaining = remaining.drop(while: isBlank)
        guard remaining.popFirst() == UInt8(ascii: "\""), let end = remaining.firstIndex(of: UInt8(ascii: "\"")) else {
            return nil
        }
        let reason = remaining[..<end]
        guard (1...lettersMax).contains(reason.count), reason.allSatisfy({ $0.isLetter || $0 == UInt8(ascii: " ") })
        else { return nil }
        return String(decoding: reason, as: UTF8.self)
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }

    /// True if the reason refuses our credential, so that another connection would get the same. An expired provider
    /// token doesn't count: the next connection carries a new one.
    package var refusesCredential: Bool {
        switch reason {
        case "Forbidden", "InvalidProviderToken", "MissingProviderToken", "BadEnvironmentKeyIdInToken",
            "BadEnvironmentKeyInToken":
            true
        default: reason.hasPrefix("BadCertificate")
        }
    }
}
