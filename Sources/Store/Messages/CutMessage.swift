import Model
import QueueRules

/// A message that is cut into parcels when it is accepted, without a planner (decision 0031).
package struct CutMessage: Equatable, Sendable {
    package let message: NewMessage
    /// The providers that its app reached when its content was checked; nil: its content was checked for all that it may
    /// need.
    package let checkedFor: [Provider]?

    /// Returns nil if only a planner can cut the message: it waits for its time or for a rate, or it does not name its
    /// receivers.
    package init?(_ message: NewMessage, checkedFor: [Provider]? = nil) {
        guard message.urgency == .transactional, message.audience.namedCount != nil, message.dueAt == nil,
            message.localSending == nil, message.ratePerSecond == nil, !message.isHeld
        else { return nil }
        (self.message, self.checkedFor) = (message, checkedFor)
    }

    /// The most members of a message that is cut at once. One with more gets a plan.
    package static let membersMax = 1_000
    /// The most members of a group. The messages behind them get a plan.
    package static let groupMembersMax = 2_000
}

/// An order to lease the parcels of messages that are cut: for whom, for how long, and how large they are. It sorts
/// nothing.
package struct CutOrder: Equatable, Sendable {
    /// The owner of the leases.
    package let owner: ProcessID
    package let leaseFor: Duration
    package let parcelMembersMax: Int

    package init(owner: ProcessID, leaseFor: Duration, parcelMembersMax: Int) {
        (self.owner, self.leaseFor, self.parcelMembersMax) = (owner, leaseFor, parcelMembersMax)
    }
}

/// Says which service routes may be leased to this process now, given their new members. Called within the transaction,
/// so it must not wait.
package typealias CutAdmission = @Sendable ([ServiceRoute: Int]) async -> Set<ServiceRoute>

/// The means by which a transaction leases the parcels that it writes.
package struct CutLeasing: Sendable {
    package let order: CutOrder
    package let admit: CutAdmission
    /// Called if it is not known whether these messages were committed. If they were, this process holds their leases
    /// without knowing it.
    package let lost: @Sendable ([MessageID]) -> Void

    package init(
        order: CutOrder, admit: @escaping CutAdmission, lost: @escaping @Sendable ([MessageID]) -> Void
    ) { (self.order, self.admit, self.lost) = (order, admit, lost) }
}

/// The reply to one message.
package enum CutReply: Equatable, Sendable {
    /// It is committed, and so are its parcels.
    case cut
    /// It is committed, and waits for a planner: it has more members than a cut takes.
    case planned
    /// The same request was accepted before: nothing new is written, and this was its answer.
    case replayed(answer: [UInt8])
    /// The key was used for another body.
    case mismatch
    /// Nothing is written: the app reaches these providers now, and not those that the content was checked for.
    case reaches([Provider])
}

/// New parcels of one service route that are leased to this process.
package struct CutLease: Equatable, Sendable {
    package let route: ReadyRoute
    /// In the order of their messages.
    package let parcels: [LeasedParcel]
}

/// The result for a group of messages.
package struct CutResult: Sendable {
    /// One for each message, in order.
    package var replies: [Result<CutReply, StoreFault>] = []
    package var written = WrittenParcels()

    /// Some messages must be checked again, and nothing of the group was written.
    var isOutdated: Bool { replies.contains(where: \.isOutdated) }

    mutating func add(_ other: CutResult) {
        replies += other.replies
        written.add(other.written)
    }
}

extension Result<CutReply, StoreFault> {
    var isOutdated: Bool { (try? get())?.isOutdated ?? false }
}

extension CutReply {
    var isOutdated: Bool { if case .reaches = self { true } else { false } }
}
