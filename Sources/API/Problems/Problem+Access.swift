import JSON
import Requests
import Signing
import WakeUp

// Describes invalid tokens of users, and invalid keys of these tokens.
extension Problem {
    static let invalidUserToken = Problem(
        .unauthorized, "This token of a user is not valid: no key of the app has signed it, or it has expired.")

    init(_ fault: UserTokenKeyFault) {
        let pointer = JSONPointer.root / "key"
        switch fault {
        case .kidLength(let bytes):
            self.init(
                .valueTooLong, "A kid has 1 to \(UserTokenKey.kidBytesMax) bytes; this one has \(bytes).",
                at: .root / "kid")
        case .secretNotBase64URL:
            self.init(.keyUnreadable, "The secret of HS256 must be base64url without padding.", at: pointer)
        case .secretLength(let bytes):
            self.init(
                .invalidValue,
                "The secret has \(bytes) bytes; it must have \(HS256Key.secretBytes.lowerBound) to "
                    + "\(HS256Key.secretBytes.upperBound).", at: pointer)
        case .pemTooLong(let bytes):
            self.init(.valueTooLong, "This has \(bytes) bytes; the limit is \(UserTokenKey.pemBytesMax).", at: pointer)
        case .privateKey:
            self.init(
                .invalidValue,
                "This is a private key. Keep it where tokens are signed, and send the public key: "
                    + "openssl pkey -pubout.", at: pointer)
        case .notOnePublicKey:
            self.init(.keyUnreadable, "This must be one PEM block with the label PUBLIC KEY.", at: pointer)
        case .keyUnreadable: self.init(.keyUnreadable, "The public key can't be read.", at: pointer)
        case .keyOfOtherKind:
            self.init(
                .invalidValue,
                "The key does not fit the algorithm: RS256 takes RSA keys of 2,048 to 8,192 bits, ES256 keys on the "
                    + "curve P-256.", at: pointer)
        case .library: self.init(.internalError, "The key could not be opened. Try again.", at: pointer)
        }
    }
}
