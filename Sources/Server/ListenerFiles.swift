import API
import Foundation

/// The files with which the HTTP API's port speaks TLS.
struct ListenerFiles {
    let certificate: String
    let key: String

    /// Returns nil for plain HTTP.
    init?(_ settings: Settings) {
        guard let certificate = settings.tlsCertificateFile, let key = settings.tlsKeyFile else { return nil }
        self.certificate = certificate
        self.key = key
    }

    func read() throws(StartFault) -> ListenerIdentity {
        let chain = try contents(certificate, "TLS_CERTIFICATE")
        let keyBytes = try contents(key, "TLS_KEY")
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

    private func contents(_ path: String, _ setting: String) throws(StartFault) -> [UInt8] {
        guard let contents = FileManager.default.contents(atPath: path) else {
            throw StartFault("CARILLON_\(setting): \(path) can't be read")
        }
        return Array(contents)
    }
}
