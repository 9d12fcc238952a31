import Foundation

/// Where a gateway listens, as a command was told it.
package enum GatewayAddress {
    /// What requests begin with.
    package static func base(_ text: String) throws(CommandFault) -> String {
        // Before anything is told of it: what stands there may be a secret.
        guard !text.contains(where: { "@?#".contains($0) }) else {
            throw CommandFault(
                .usage,
                "the gateway's URL names a scheme, a host and a port, such as http://127.0.0.1:8080: nothing with @, ? or # "
                    + "belongs into it, and no password. A key goes into CARILLON_KEY or a file (--key-file)")
        }
        guard let parts = URL(string: text), let scheme = parts.scheme, ["http", "https"].contains(scheme),
            parts.host()?.isEmpty == false, hasPort(text)
        else { throw CommandFault(.usage, "\(text) is no URL such as http://127.0.0.1:8080") }
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    /// One that can be meant, or none at all: where none is said, the scheme's own is asked, which would be another
    /// program's. Behind a colon with nothing after it somebody's variable was empty; a number beyond all ports is none to
    /// who reads URLs.
    private static func hasPort(_ text: String) -> Bool {
        let remaining = text.firstRange(of: "://").map { text[$0.upperBound...] } ?? ""
        let authority = remaining.prefix { $0 != "/" }
        let afterHost = authority.lastIndex(of: "]").map { authority[$0...] } ?? authority
        guard let colon = afterHost.firstIndex(of: ":") else { return true }
        let digits = afterHost[afterHost.index(after: colon)...]
        guard digits.allSatisfy({ ("0"..."9").contains($0) }), let port = Int(digits) else { return false }
        return (1...65_535).contains(port)
    }
}
