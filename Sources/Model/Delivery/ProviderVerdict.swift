/// The meaning of one provider answer for the push, its connection, and the operators.
package struct ProviderVerdict: Equatable, Sendable {
    package let outcome: Outcome
    package let connection: ConnectionAdvice
    package let alarm: ProviderAlarm?
    /// The provider's reason; empty if it accepted.
    package let reason: String
    package let isDocumented: Bool
    /// The provider's words about what is wrong with the message, without any value of it; nil: it has none.
    package let complaint: String?

    package init(
        outcome: Outcome, connection: ConnectionAdvice, alarm: ProviderAlarm?, reason: String = "",
        isDocumented: Bool = true, complaint: String? = nil
    ) {
        (self.outcome, self.connection, self.alarm) = (outcome, connection, alarm)
        (self.reason, self.isDocumented, self.complaint) = (reason, isDocumented, complaint)
    }
}

package enum ConnectionAdvice: Equatable, Sendable {
    case keep
    /// Open no more streams on it; answers may still come.
    case replace
    /// The connection is unusable: close it and connect again.
    case close
}

/// A condition that a person should look into.
package enum ProviderAlarm: Equatable, Sendable {
    /// A certificate, key, account, topic or project is misconfigured, revoked, or expired.
    case credential
    /// The provider considers our token too old: check the clock.
    case clock
    /// The provider sees tokens of our key change too often: another program probably signs with the same key.
    case keyShared
    /// We built a request that no customer's setting can have caused.
    case ourRequest
}
