import Signing

/// The key that opens the API. Only its SHA-256 is held.
package struct AdminKey: Sendable {
    private let sha256: [UInt8]
    private static let scheme = Array("bearer ".utf8)

    package init(sha256: [UInt8]) {
        precondition(sha256.count == Hashes.sha256Bytes)
        self.sha256 = sha256
    }

    /// `authorization`: the values of the header of that name.
    package func check(authorization: [String]) throws(Problem) {
        guard let value = authorization.first, authorization.count == 1 else {
            throw Problem(.unauthorized, "Send the API key once, as the header Authorization: Bearer <key>.")
        }
        let bytes = Array(value.utf8)
        let isBearer = bytes.count > Self.scheme.count && zip(bytes, Self.scheme).allSatisfy { $0 | 0x20 == $1 | 0x20 }
        guard isBearer else {
            throw Problem(.unauthorized, "The scheme of Authorization must be Bearer: Authorization: Bearer <key>.")
        }
        guard Hashes.areEqual(Hashes.sha256(Array(bytes[Self.scheme.count...])), sha256) else {
            throw Problem(.unauthorized, "This API key is not valid here.")
        }
    }
}
