import Listener
import TLS

/// The files with which the HTTP API's port speaks TLS.
struct ListenerFiles {
    let certificate: String
    let key: String

    init?(_ settings: Settings) {
        guard let certificate = settings.tlsCertificateFile, let key = settings.tlsKeyFile else { return nil }
        (self.certificate, self.key) = (certificate, key)
    }

    /// The authority that issued the certificate, if neither the file nor this machine has it; nil: one of them has.
    func missingIssuer() throws(StartFault) -> String? {
        let chain = try KeyFiles.bytes(of: certificate, "CARILLON_TLS_CERTIFICATE: \(certificate)")
        do { return try TLSTrust.system().missingIssuer(of: chain) } catch {
            throw StartFault("CARILLON_TLS_CERTIFICATE: the chain in \(certificate) can't be checked: \(error)")
        }
    }

    func read() throws(StartFault) -> ListenerIdentity {
        let chain = try KeyFiles.bytes(of: certificate, "CARILLON_TLS_CERTIFICATE: \(certificate)")
        let keyBytes = try KeyFiles.bytes(of: key, "CARILLON_TLS_KEY: \(key)")
        do throws(ListenerIdentity.Fault) { return try ListenerIdentity(certificates: chain, key: keyBytes) } catch {
            switch error {
            case .noCertificate:
                throw StartFault("CARILLON_TLS_CERTIFICATE: \(certificate) holds no certificate in PEM")
            case .noKey: throw StartFault("CARILLON_TLS_KEY: \(key) holds no key in PEM without a passphrase")
            case .mismatch:
                throw StartFault("CARILLON_TLS_KEY: \(key) is not the key of the certificate in \(certificate)")
            }
        }
    }
}
