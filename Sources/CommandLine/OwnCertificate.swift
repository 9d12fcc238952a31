import Foundation
import NIOSSL
import Reactor

/// The certificate of a gateway on this machine, whose file the caller may read.
///
/// Commands reach such a gateway over the loopback. Its certificate names a public host, so a command connects to the
/// loopback and expects that name. The file's own certificates are trusted, because the caller reads them from the disk.
struct OwnCertificate {
    let chain: [NIOSSLCertificate]

    /// nil: the file can't be read, or holds no certificate.
    init?(file path: String) {
        guard let bytes = FileManager.default.contents(atPath: path),
            let chain = try? NIOSSLCertificate.fromPEMBytes(Array(bytes)), !chain.isEmpty
        else { return nil }
        self.chain = chain
    }

    /// A host name that it is valid for; nil: it has none.
    var name: String? {
        for name in chain[0]._subjectAlternativeNames() where name.nameType == .dnsName {
            guard let text = String(validating: Array(name.contents), as: UTF8.self), !text.isEmpty else { continue }
            // One label stands for the asterisk.
            return text.hasPrefix("*.") ? "carillon" + text.dropFirst() : text
        }
        return nil
    }

    /// Whether it is valid for an address, such as 127.0.0.1 or ::1.
    func lists(address: String) -> Bool {
        guard let bytes = SocketAddress(literal: address, port: 0)?.bytes else { return false }
        return chain[0]._subjectAlternativeNames().contains { $0.nameType == .ipAddress && Array($0.contents) == bytes }
    }
}
