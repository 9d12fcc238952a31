import Model
import QueueRules
import Synchronization
import WakeUpRules

/// How a fan-out divides its work.
package struct FanOutOrder: Equatable, Sendable {
    /// The most subscriptions of one transaction. A watch with more has several, one after the other.
    package let subscriptionsMax: Int
    package let parcelMembersMax: Int
    /// The format of the messages' contents.
    package let format: Int16

    package init(subscriptionsMax: Int, parcelMembersMax: Int, format: Int16) {
        (self.subscriptionsMax, self.parcelMembersMax, self.format) = (subscriptionsMax, parcelMembersMax, format)
    }
}

/// Subscriptions of a watch that are told the same.
package struct FanOutGroup: Sendable {
    package let watch: WatchSnapshot
    package let mode: WakeUpMode
    package let provider: Provider
    /// The number of the last write that they were told of, for child events; `unknown`: too many were told different
    /// ones.
    package let sentSeq: Int64

    static let unknown: Int64 = -1
}

/// Devices that hear of the end of their subscriptions to one path.
package struct RevocationGroup: Sendable {
    package let address: WakeUpAddress
    package let settings: WakeUpSettings
    package let provider: Provider
    package let reason: RevocationReason
}

/// Makes the messages of fan-outs and revocations. Called within transactions, so neither may wait. nil: there is
/// nothing to tell.
package struct FanOutContents: Sendable {
    let change: @Sendable (FanOutGroup) -> FanOutContent?
    let revocation: @Sendable (RevocationGroup) -> FanOutContent?

    package init(
        change: @escaping @Sendable (FanOutGroup) -> FanOutContent?,
        revocation: @escaping @Sendable (RevocationGroup) -> FanOutContent?
    ) { (self.change, self.revocation) = (change, revocation) }
}

/// The message for a group.
package struct FanOutContent: Sendable {
    package let id: MessageID
    package let content: [UInt8]
    package let pushType: PushType
    package let lifetime: Duration

    package init(id: MessageID, content: [UInt8], pushType: PushType, lifetime: Duration) {
        (self.id, self.content, self.pushType, self.lifetime) = (id, content, pushType, lifetime)
    }
}

package enum FanOutReply: Equatable, Sendable {
    /// No watch is due, or others are working on all of them.
    case nothing
    /// Messages are committed, with the routes on which their parcels may be leased now.
    case told(messages: Int, subscriptions: Int, ready: [ReadyRoute])

    package var ready: [ReadyRoute] { if case .told(_, _, let ready) = self { ready } else { [] } }
}

/// The waits between two turns of a watch.
enum FanOutPace {
    /// A push usually ends within this time.
    static let unsettledFirst: Duration = .milliseconds(250)
    /// While a provider is down, each look reads the parcels of the last messages.
    static let unsettledMax: Duration = .seconds(5)

    /// How long to wait for pushes that have not ended.
    /// - Parameter tries: the turns before this one that found such pushes.
    static func wait(tries: Int16) -> Duration {
        min(unsettledMax, unsettledFirst * (1 << min(Int(tries), 8)))
    }
}

/// The app whose watch had the last turn on this process.
final class FanOutTurn: Sendable {
    private let app = Atomic<Int64>(0)

    var lastApp: Int64 {
        get { app.load(ordering: .relaxed) }
        set { app.store(newValue, ordering: .relaxed) }
    }
}
