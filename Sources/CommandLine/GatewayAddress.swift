import Foundation

/// The address of a gateway, as it was given to a command.
package enum GatewayAddress {
    /// The beginning of every request's URL.
    package static func base(_ text: String) throws(CommandFault) -> String {
        // This check comes first, and its message doesn't repeat the text, which may hold a secret.
        guard !text.contains(where: { "@?#".contains($0) }) else {
            throw CommandFault(
                .usage,
                "the gateway's URL is a scheme, a host and a port, such as http://127.0.0.1:8080, without @, ? or #. "
                    + "It must not hold a password: give the API key in CARILLON_KEY or in a file (--key-file)")
        }
        guard let parts = URL(string: text), let scheme = parts.scheme, ["http", "https"].contains(scheme),
            parts.host()?.isEmpty == false, hasPort(text)
        else { throw CommandFault(.usage, "\(text) is not a URL such as http://127.0.0.1:8080") }
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    /// Returns the address if the command line names none: CARILLON_URL, or the place where a gateway with these
    /// variables listens. A command in a gateway's container so finds that gateway.
    package static func text(environment: [String: String]) -> String {
        if let url = environment["CARILLON_URL"], !url.isEmpty { return url }
        guard let listen = environment["CARILLON_LISTEN"], let colon = listen.lastIndex(of: ":") else { return usual }
        let port = listen[listen.index(after: colon)...]
        // Port 0 is a free one, which only the gateway's output names.
        guard !port.isEmpty, port != "0" else { return usual }
        let isEncrypted = environment["CARILLON_TLS_CERTIFICATE"]?.isEmpty == false
        return "http\(isEncrypted ? "s" : "")://\(reachable(listen[..<colon])):\(port)"
    }

    private static let usual = "http://127.0.0.1:8080"

    /// A gateway that listens on every address is reached over the loopback.
    private static func reachable(_ host: Substring) -> String {
        switch host {
        case "0.0.0.0": "127.0.0.1"
        case "[::]": "[::1]"
        default: String(host)
        }
    }

    /// Whether the port is valid or absent. A colon without a number comes from an empty variable. URL parsers ignore
    /// it, and also a number above 65535, and use the scheme's port, which may be another program's.
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
