import Basis

/// Reads keys and certificates. Providers are pure, so cryptography is handed to them.
package protocol KeyReader: Sendable {
    /// Reads a private key in PEM. An encrypted one is refused: no key is derived.
    func signingKey(_ algorithm: SigningAlgorithm, pem: [UInt8]) throws(KeyFault) -> any SigningKey
    /// Reads a certificate (chain) and its private key in one PEM text.
    /// - Parameter password: if nil, an encrypted key is refused.
    func identity(pem: [UInt8], password: [UInt8]?) throws(KeyFault) -> any ClientIdentity
    func identity(pkcs12: [UInt8], password: String) throws(KeyFault) -> any ClientIdentity
}

package enum SigningAlgorithm: Sendable {
    /// ECDSA on the curve P-256 with SHA-256.
    case es256
    /// RSA with SHA-256.
    case rs256
}

package protocol SigningKey: Sendable {
    func sign(_ message: [UInt8]) throws(KeyFault) -> [UInt8]
    func publicPEM() throws(KeyFault) -> [UInt8]
    /// The key in PEM, not encrypted. It is a secret, so seal it.
    func privatePEM() throws(KeyFault) -> [UInt8]
}

/// A private key with its certificate, with which a connection proves who it is.
package protocol ClientIdentity: Sendable {
    var certificate: ClientCertificate { get }
    /// Certificate, chain and key in one PEM text, not encrypted. It is a secret, so seal it.
    func pem() throws(KeyFault) -> [UInt8]
}

package struct ClientCertificate: Sendable {
    package let commonName: String?
    /// The subject's UID.
    package let userID: String?
    package let notBefore: WallInstant
    package let notAfter: WallInstant
    package let sha256: [UInt8]
    /// The bytes of the serial number, the highest first.
    package let serialNumber: [UInt8]
    /// Apple's marks for the environment. A certificate without either leaves the environment open.
    package let isForProduction: Bool
    package let isForSandbox: Bool
    /// Apple's topic list, undecoded.
    package let appleTopicList: [UInt8]?

    package init(
        commonName: String?, userID: String?, notBefore: WallInstant, notAfter: WallInstant, sha256: [UInt8],
        serialNumber: [UInt8], isForProduction: Bool, isForSandbox: Bool, appleTopicList: [UInt8]?
    ) {
        (self.commonName, self.userID, self.notBefore, self.notAfter) = (commonName, userID, notBefore, notAfter)
        (self.sha256, self.serialNumber) = (sha256, serialNumber)
        (self.isForProduction, self.isForSandbox, self.appleTopicList) = (isForProduction, isForSandbox, appleTopicList)
    }
}

/// The reason why a key or certificate can't be read or used.
package enum KeyFault: Error, Equatable, Sendable {
    case unreadable
    /// The file has a certificate and no private key.
    case keyMissing
    /// The file has a private key and no certificate.
    case certificateMissing
    case encrypted
    /// The encryption is unknown, or this machine's OpenSSL lacks it.
    case encryptionUnsupported
    /// Its kind, curve or length is not supported.
    case unsupported
    case wrongPassword
    case mismatch
    /// The file asks for at least that many rounds of key derivation. None was done for the layer that asks for them.
    case derivationTooLong(rounds: Int, roundsMax: Int)
}
