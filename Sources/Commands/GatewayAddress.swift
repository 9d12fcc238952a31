import Foundation

/// Where a gateway listens, as a command was told it.
package enum GatewayAddress {
    /// What requests begin with.
    package static func base(_ text: String) throws(CommandFault) -> String {
        guard let parts = URL(string: text), let scheme = parts.scheme, ["http", "https"].contains(scheme),
            parts.host()?.isEmpty == false, hasPort(text, parts.port)
        else { throw CommandFault(.usage, "\(text) is no URL such as http://127.0.0.1:8080") }
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    /// One that can be meant, or none at all. Behind a colon with nothing after it somebody's variable was empty: the
    /// scheme's own port would be another program's.
    private static func hasPort(_ text: String, _ port: Int?) -> Bool {
        if let port { return (1...65_535).contains(port) }
        let rest = text.firstRange(of: "://").map { text[$0.upperBound...] } ?? ""
        return rest.prefix { !"/?#".contains($0) }.last != ":"
    }
}
