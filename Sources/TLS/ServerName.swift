import COpenSSL

/// How a server's certificate is compared with the name that its client asked for.
enum ServerName {
    /// A common name is no host name, even where a certificate has no other name. A wildcard is a whole first label with
    /// two labels or more behind it, which OpenSSL demands by itself.
    /// Source: RFC 9525, section 6.3.
    static let flags = UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT)

    /// The name without the brackets of an IPv6 literal.
    static func bare(_ name: String) -> String {
        name.hasPrefix("[") && name.hasSuffix("]") ? String(name.dropFirst().dropLast()) : name
    }
}

extension TLSCertificate {
    /// Whether the certificate is for a server of this name: a host name or an IP literal. `TLSSession` compares alike.
    package func isFor(_ serverName: String) -> Bool {
        let bare = ServerName.bare(serverName)
        guard !bare.isEmpty, !bare.utf8.contains(0), let handle = try? TLSCertificate.handle(der: der) else {
            return false
        }
        defer { ErrorQueue.clear() }
        let asAddress = unsafe X509_check_ip_asc(handle.pointer, bare, 0)
        // -2: it is no address.
        if asAddress >= 0 { return asAddress == 1 }
        return unsafe X509_check_host(handle.pointer, bare, 0, ServerName.flags, nil) == 1
    }
}
