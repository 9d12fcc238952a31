import Basis
import CommandLine
import Encodings

/// The parsers of settings' texts. Each complaint continues "CARILLON_NAME ...".
enum SettingText {
    static func path(_ text: String) throws(SettingComplaint) -> String {
        guard !text.isEmpty, !text.utf8.contains(0) else { throw SettingComplaint("must be a path") }
        return text
    }

    static func databaseURL(_ text: String) throws(SettingComplaint) -> String {
        guard text.hasPrefix("postgres://") || text.hasPrefix("postgresql://") || text.contains("=") else {
            throw SettingComplaint("must be a URL such as postgresql://user@host/database")
        }
        return text
    }

    static func adminKey(_ text: String) throws(SettingComplaint) -> Secret<String> {
        // A shorter key could be guessed. A space or a control character can't stand in a header.
        guard text.utf8.count >= 32, text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            throw SettingComplaint("must be at least 32 characters without spaces")
        }
        return Secret(text)
    }

    static func share(_ text: String) throws(SettingComplaint) -> Double {
        guard let share = Double(text), share > 0, share <= 1 else {
            throw SettingComplaint("must be a number above 0 and at most 1")
        }
        return share
    }

    static func range(_ range: ClosedRange<Int>) -> String { "\(range.lowerBound) to \(range.upperBound)" }

    static func integer(_ text: String, _ range: ClosedRange<Int>) throws(SettingComplaint) -> Int {
        guard let number = Int(text), range.contains(number) else {
            throw SettingComplaint("must be a whole number from \(self.range(range))")
        }
        return number
    }

    static func claim(_ text: String) throws(SettingComplaint) -> Bool {
        guard let claim = Bool(text) else { throw SettingComplaint("must be true or false") }
        return claim
    }

    static func choice<Choice: CaseIterable & RawRepresentable<String>>(
        _ text: String
    ) throws(SettingComplaint) -> Choice {
        guard let choice = Choice(rawValue: text) else {
            throw SettingComplaint("must be one of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return choice
    }

    static func listenAddress(_ text: String) throws(SettingComplaint) -> ListenAddress {
        guard let (host, port) = split(text), let port else {
            throw SettingComplaint("must be host:port, such as 127.0.0.1:8080 or [::]:8080")
        }
        return ListenAddress(host: host, port: port)
    }

    static func httpsURL(_ text: String) throws(SettingComplaint) -> Endpoint {
        guard text.hasPrefix("https://"), let (host, port) = split(text.dropFirst(8)), port != 0 else {
            throw SettingComplaint("must be https://host or https://host:port, without a path")
        }
        return Endpoint(host: host, port: port ?? 443)
    }

    static func hosts(_ text: String) throws(SettingComplaint) -> [String] {
        var hosts: [String] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let host = part.filter { $0 != " " }.lowercased()
            guard !host.isEmpty, host.utf8.allSatisfy(isHostByte) else {
                throw SettingComplaint("must be host names separated by commas, such as oauth2.googleapis.com")
            }
            hosts.append(host)
        }
        return hosts
    }

    static func proxyURL(_ text: String) throws(SettingComplaint) -> ProxyAddress {
        let complaint = SettingComplaint(
            "must be http://host:port, or http://user:password@host:port with both percent-encoded")
        let address = text.hasPrefix("http://") ? text.dropFirst(7) : text[...]
        let at = address.utf8.lastIndex(of: UInt8(ascii: "@"))
        let place = at.map { address[address.utf8.index(after: $0)...] } ?? address
        guard let (host, port) = split(place), let port, port != 0 else { throw complaint }
        let endpoint = Endpoint(host: host, port: port)
        guard let at, at != address.startIndex else { return ProxyAddress(endpoint: endpoint) }
        guard let authorization = basicAuthorization(address[..<at]) else { throw complaint }
        return ProxyAddress(endpoint: endpoint, authorization: authorization)
    }

    /// The user's name ends at the first colon; the password follows.
    ///
    /// Source: RFC 7617 section 2 (no colon in the name, no control characters in either). RFC 3986 section 3.2.1 (no
    /// slash; another scheme than http would otherwise be taken for a user).
    private static func basicAuthorization(_ userinfo: Substring) -> [UInt8]? {
        let colon = userinfo.utf8.firstIndex(of: UInt8(ascii: ":"))
        let remaining = colon.map { userinfo[userinfo.utf8.index(after: $0)...] } ?? ""
        guard let user = PercentDecoding.decode(userinfo[..<(colon ?? userinfo.endIndex)]),
            let password = PercentDecoding.decode(remaining),
            !userinfo.utf8.contains(UInt8(ascii: "/")), !user.utf8.contains(UInt8(ascii: ":")),
            (user + password).utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f })
        else { return nil }
        return Array("Basic \(Base64.encode(Array("\(user):\(password)".utf8)))".utf8)
    }

    /// Whether the text may name a user, and with it a password.
    static func hasUserinfo(_ text: String) -> Bool { text.utf8.contains(UInt8(ascii: "@")) }

    static func withoutUserinfo(_ text: String) -> String {
        guard let at = text.utf8.lastIndex(of: UInt8(ascii: "@")) else { return text }
        let scheme = ["http://", "https://"].first { text.hasPrefix($0) } ?? ""
        return "\(scheme)(hidden)\(text[at...])"
    }

    /// Splits `host`, `host:port`, `[::1]` or `[::1]:port`; nil: it is none of them.
    private static func split(_ text: some StringProtocol) -> (host: String, port: UInt16?)? {
        var remaining = text.hasSuffix("/") ? String(text.dropLast()) : String(text)
        var host: String
        if remaining.hasPrefix("[") {
            guard let end = remaining.firstIndex(of: "]") else { return nil }
            host = String(remaining[remaining.index(after: remaining.startIndex)..<end])
            remaining = String(remaining[remaining.index(after: end)...])
            guard host.utf8.allSatisfy({ $0 == UInt8(ascii: ":") || isHostByte($0) }) else { return nil }
        } else {
            host = String(remaining.prefix { $0 != ":" })
            remaining = String(remaining.dropFirst(host.count))
            guard host.utf8.allSatisfy(isHostByte) else { return nil }
        }
        guard !host.isEmpty else { return nil }
        guard !remaining.isEmpty else { return (host, nil) }
        guard remaining.hasPrefix(":"), let port = UInt16(remaining.dropFirst()) else { return nil }
        return (host, port)
    }

    private static func isHostByte(_ byte: UInt8) -> Bool { byte.isLetter || byte.isDigit || ".-_".utf8.contains(byte) }
}
