import Basis
import Model

/// The decision of one slice of a watch's round: who is notified, and of what.
package struct WatchDecision: Sendable {
    /// The subscriptions that get the same wake-up, in the order in which their messages are made.
    package let wakeUps: [(group: WakeUpGroup, members: [SubscriptionStatus])]
    /// The subscriptions that end, because their users may not read the path any more.
    package let revoked: [SubscriptionStatus]

    /// The revoked subscriptions by provider: the devices of each get one notice.
    package var notices: [(provider: Provider, members: [SubscriptionStatus])] { revoked.byProvider(\.provider) }
}

extension Array {
    /// Subscriptions of one watch that end, by their devices' provider: the devices of each get one notice.
    package func byProvider(_ provider: (Element) -> Provider) -> [(provider: Provider, members: [Element])] {
        Provider.allCases.sorted { $0.rawValue < $1.rawValue }.compactMap { found in
            let members = filter { provider($0) == found }
            return members.isEmpty ? nil : (provider: found, members: members)
        }
    }
}

extension WatchSlice {
    /// Decides for the slice's candidates. A subscription whose last push has not ended is asked about too: a retry
    /// must not show what its user may no longer read.
    ///
    /// - Parameters:
    ///   - access: the candidates, and whether their users may read the path.
    ///   - unsettled: the pushes that have not ended.
    ///   - lost: the pushes that were discarded.
    package mutating func decide(_ access: CandidateAccess, unsettled: PushSet, lost: PushSet) -> WatchDecision {
        let notified = toNotify(access.allowed, isUnsettled: { unsettled.includesLastPush(of: $0) })
        let denied = access.denied
        if !denied.isEmpty { noteRevoked() }
        return WatchDecision(
            wakeUps: WakeUpGroup.groups(of: notified, isLost: { lost.includesLastPush(of: $0) }), revoked: denied)
    }

    /// Returns the progress of subscriptions that were decided on together.
    /// - Parameter message: the message that was made for them; nil: there was nothing to report.
    package mutating func progress(of members: [SubscriptionStatus], message: UniversalID?) -> [SubscriptionProgress] {
        if message != nil { noteWoken() }
        return members.map {
            SubscriptionProgress(subscription: $0.id, was: $0.sentSeq, seq: watch.seq, message: message)
        }
    }
}

/// How far a subscription has come with the changes of its watch.
package struct SubscriptionProgress: Equatable, Sendable {
    package let subscription: Int64
    /// The number that it had when it was read.
    package let was: Int64
    package let seq: Int64
    /// nil: there was nothing to report.
    package let message: UniversalID?

    fileprivate func isSame(as other: SubscriptionProgress) -> Bool {
        was == other.was && seq == other.seq && message == other.message
    }
}

extension [SubscriptionProgress] {
    /// The progress that all these subscriptions share, as that of the first; nil: they differ, or there is none.
    package var common: SubscriptionProgress? {
        guard let first, allSatisfy({ $0.isSame(as: first) }) else { return nil }
        return first
    }
}
