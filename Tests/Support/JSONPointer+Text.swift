import JSON

extension JSONPointer {
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
        self.init(tokens: tokens)
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
