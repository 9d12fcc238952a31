/// What one answer of a provider means: for the push, the connection that it came on, and for the people who run us.
package struct ProviderVerdict: Equatable, Sendable {
    package let outcome: Outcome
    package let connection: ConnectionAdvice
    package let alarm: ProviderAlarm?
    /// The provider's word for it; empty where it said yes.
    package let reason: String
    /// It is one of the words that the provider documents.
    package let isDocumented: Bool

    package init(
        outcome: Outcome, connection: ConnectionAdvice, alarm: ProviderAlarm?, reason: String = "",
        isDocumented: Bool = true
    ) {
        self.outcome = outcome
        self.connection = connection
        self.alarm = alarm
        self.reason = reason
        self.isDocumented = isDocumented
    }
}

package enum ConnectionAdvice: Equatable, Sendable {
    case keep
    /// Open no more streams here; answers may still come.
    case replace
    /// No good any more: close it, and connect anew.
    case close
}

/// What a person should look into.
package enum ProviderAlarm: Equatable, Sendable {
    /// A certificate, key, account, topic or project is set up wrongly, revoked, or expired.
    case credential
    /// The provider holds our token for too old: look at the clock.
    case clock
    /// The provider sees tokens of our key change too often: another program signs with the same key, most likely; or the
    /// provider errs.
    case keyShared
    /// We built a request that no setting of a customer's can have caused.
    case ourRequest
}
