/// Whether the peer takes the lane's credential, as far as its answers tell.
///
/// trusted → (refused) → doubted → (an answer that no refused credential gets) → trusted
package struct CredentialTrust: Equatable, Sendable {
    /// It was refused, and nothing has shown since that it is taken: one request at a time, so that one that is still
    /// refused costs one request a connection.
    package private(set) var isSuspected = false

    package init() {}

    package mutating func refused() { isSuspected = true }

    /// An answer on a connection that was opened since. False where it refuses the credential again: that connection
    /// would go on refusing.
    package mutating func answered(status: UInt16) -> Bool {
        switch status {
        case 401, 403: return false
        // Not even looked at, or nobody knows how far it came.
        case 429, 500...: return true
        default:
            isSuspected = false
            return true
        }
    }
}
