import ProviderInterface
import Signing
import TLS

/// Reads keys and certificates with OpenSSL. An encrypted file may take a second, so call it in a `KeyFileQueue`.
package struct OpenedKeys: KeyReader {
    package init() {}

    package func signingKey(_ algorithm: SigningAlgorithm, pem: [UInt8]) throws(KeyFault) -> any SigningKey {
        do throws(SigningError) {
            switch algorithm {
            case .es256: return SigningKeyOf(try ES256Key(pem: pem))
            case .rs256: return SigningKeyOf(try RS256Key(pem: pem))
            }
        } catch { throw KeyFault(error) }
    }

    package func identity(pem: [UInt8], password: [UInt8]?) throws(KeyFault) -> any ClientIdentity {
        do throws(TLSError) {
            return TLSClientIdentity(identity: try TLSIdentity(pem: pem, password: password))
        } catch { throw KeyFault(error) }
    }

    package func identity(pkcs12: [UInt8], password: String) throws(KeyFault) -> any ClientIdentity {
        do throws(TLSError) {
            return TLSClientIdentity(identity: try TLSIdentity(pkcs12: pkcs12, password: password))
        } catch { throw KeyFault(error) }
    }
}

private protocol OpenSSLKey: Sendable {
    func sign(_ message: [UInt8]) throws(SigningError) -> [UInt8]
    func publicPEM() throws(SigningError) -> [UInt8]
    func privatePEM() throws(SigningError) -> [UInt8]
}

extension ES256Key: OpenSSLKey {}
extension RS256Key: OpenSSLKey {}

private struct SigningKeyOf: SigningKey {
    let key: any OpenSSLKey

    init(_ key: any OpenSSLKey) { self.key = key }

    func sign(_ message: [UInt8]) throws(KeyFault) -> [UInt8] {
        do throws(SigningError) { return try key.sign(message) } catch { throw KeyFault(error) }
    }

    func publicPEM() throws(KeyFault) -> [UInt8] {
        do throws(SigningError) { return try key.publicPEM() } catch { throw KeyFault(error) }
    }

    func privatePEM() throws(KeyFault) -> [UInt8] {
        do throws(SigningError) { return try key.privatePEM() } catch { throw KeyFault(error) }
    }
}

package struct TLSClientIdentity: ClientIdentity {
    package let identity: TLSIdentity

    package var certificate: ClientCertificate {
        let certificate = identity.certificate
        return ClientCertificate(
            commonName: certificate.commonName, userID: certificate.userID, notBefore: certificate.notBefore,
            notAfter: certificate.notAfter, sha256: certificate.sha256, serialNumber: certificate.serialNumber,
            isForProduction: certificate.isForProduction, isForSandbox: certificate.isForSandbox,
            appleTopicList: certificate.appleTopicList)
    }

    package func pem() throws(KeyFault) -> [UInt8] {
        do throws(TLSError) { return try identity.pem() } catch { throw KeyFault(error) }
    }
}

extension KeyFault {
    fileprivate init(_ error: SigningError) {
        self =
            switch error {
            case .keyOfOtherKind: .unsupported
            case .keyEncrypted: .encrypted
            case .passwordWrong: .wrongPassword
            case .derivationTooLong(let rounds):
                .derivationTooLong(rounds: rounds, roundsMax: DerivationBudget.roundsMax)
            case .encryptionUnsupported: .encryptionUnsupported
            case .keyUnreadable, .notAuthentic, .library: .unreadable
            }
    }

    fileprivate init(_ error: TLSError) {
        guard case .identity(let fault) = error else {
            self = .unreadable
            return
        }
        self =
            switch fault {
            case .wrongPassword: .wrongPassword
            case .keyEncrypted: .encrypted
            case .keyMismatch: .mismatch
            case .keyUnsupported: .unsupported
            case .derivationTooLong(let rounds):
                .derivationTooLong(rounds: rounds, roundsMax: DerivationBudget.roundsMax)
            case .keyMissing: .keyMissing
            case .certificateMissing: .certificateMissing
            case .encryptionUnsupported: .encryptionUnsupported
            case .unreadable, .tooLarge: .unreadable
            }
    }
}
