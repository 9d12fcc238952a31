/// Whether the peer accepts the lane's credential, judged by its answers.
///
/// trusted → (refused) → suspected → (an answer that no refused credential gets) → trusted
package struct CredentialTrust: Equatable, Sendable {
    /// The credential was refused, and no answer since shows that it is accepted. One request goes out at a time, so a
    /// refusal costs one request per connection.
    package private(set) var isSuspected = false

    package init() {}

    package mutating func refused() { isSuspected = true }

    /// Notes an answer on a connection that was opened since. Returns false if it refuses the credential again: that
    /// connection would go on refusing.
    package mutating func answered(status: UInt16) -> Bool {
        switch status {
        case 401, 403: return false
        // The credential may not have been checked at all.
        case 429, 500...: return true
        default:
            isSuspected = false
            return true
        }
    }
}
