import Basis
import Reactor
import Signing

/// Seals values that must not be readable at rest: keys, passwords, provider tokens.
///
/// AES-256-GCM under the master key, with a fresh nonce each time. The purpose is authenticated. It names the row, so a
/// sealed value moved to another row does not open. Layout: format (1 byte) · nonce (12) · ciphertext and tag.
package struct Vault: Sendable, CustomStringConvertible {
    package static let keyBytes = 32
    private static let format: UInt8 = 1

    private let masterKey: Secret<[UInt8]>

    package init(masterKey: [UInt8]) throws(VaultError) {
        guard masterKey.count == Vault.keyBytes else { throw .keyHasWrongSize(bytes: masterKey.count) }
        self.masterKey = Secret(masterKey)
    }

    package func seal(_ plaintext: [UInt8], purpose: String) throws(VaultError) -> [UInt8] {
        let nonce = Entropy.bytes(AESGCM.nonceBytes)
        do {
            let sealed = try AESGCM.seal(plaintext, key: masterKey.revealed, nonce: nonce, context: Array(purpose.utf8))
            return [Vault.format] + nonce + sealed
        } catch { throw .sealingFailed }
    }

    /// Fails if the master key or the purpose differs, or a bit was changed; the three look alike.
    package func open(_ sealed: [UInt8], purpose: String) throws(VaultError) -> [UInt8] {
        let bodyStart = 1 + AESGCM.nonceBytes
        guard sealed.count >= bodyStart + AESGCM.tagBytes, sealed[0] == Vault.format else { throw .doesNotOpen }
        do {
            return try AESGCM.open(
                Array(sealed[bodyStart...]), key: masterKey.revealed, nonce: Array(sealed[1..<bodyStart]),
                context: Array(purpose.utf8))
        } catch { throw .doesNotOpen }
    }

    package var description: String { "vault" }
}

package enum VaultError: Error, Equatable, Sendable, CustomStringConvertible {
    case keyHasWrongSize(bytes: Int)
    case doesNotOpen
    case sealingFailed

    package var description: String {
        switch self {
        case .keyHasWrongSize(let bytes): "The master key has \(bytes) bytes; it must have exactly \(Vault.keyBytes)."
        case .doesNotOpen:
            "A sealed secret does not open: this is not the master key that sealed it, or the stored bytes were changed."
        case .sealingFailed: "A secret could not be sealed."
        }
    }
}
