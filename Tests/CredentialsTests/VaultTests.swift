import Credentials
import Testing

@Suite("A vault")
struct VaultTests {
    private let vault = try? Vault(masterKey: [UInt8](repeating: 7, count: 32))
    private let secret = Array("-----BEGIN PRIVATE KEY-----".utf8)

    @Test("opens what it sealed, and seals the same secret differently each time")
    func roundTrip() throws {
        let vault = try #require(vault)
        let first = try vault.seal(secret, purpose: "credential/1/7/production")
        let second = try vault.seal(secret, purpose: "credential/1/7/production")
        #expect(first != second)
        #expect(try vault.open(first, purpose: "credential/1/7/production") == secret)
        #expect(try vault.open(second, purpose: "credential/1/7/production") == secret)
    }

    @Test("refuses to open a secret under another purpose, such as another row's")
    func purposeIsBound() throws {
        let vault = try #require(vault)
        let sealed = try vault.seal(secret, purpose: "credential/1/7/production")
        #expect(throws: VaultError.doesNotOpen) { try vault.open(sealed, purpose: "credential/2/7/production") }
    }

    @Test("refuses to open a secret with another master key")
    func keyIsBound() throws {
        let vault = try #require(vault)
        let other = try Vault(masterKey: [UInt8](repeating: 8, count: 32))
        let sealed = try vault.seal(secret, purpose: "p")
        #expect(throws: VaultError.doesNotOpen) { try other.open(sealed, purpose: "p") }
    }

    @Test("refuses to open a secret with a changed bit or a missing end")
    func tampering() throws {
        let vault = try #require(vault)
        let sealed = try vault.seal(secret, purpose: "p")
        for place in sealed.indices {
            var changed = sealed
            changed[place] ^= 1
            #expect(throws: VaultError.doesNotOpen) { try vault.open(changed, purpose: "p") }
            #expect(throws: VaultError.doesNotOpen) { try vault.open(Array(sealed[..<place]), purpose: "p") }
        }
    }

    @Test("needs a master key of exactly 32 bytes", arguments: [0, 16, 31, 33, 64])
    func keySize(bytes: Int) {
        #expect(throws: VaultError.keyHasWrongSize(bytes: bytes)) {
            try Vault(masterKey: [UInt8](repeating: 1, count: bytes))
        }
    }
}
