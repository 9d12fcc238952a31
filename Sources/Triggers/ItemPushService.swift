import Content
import Delivery
import Logging
import Model
import Store
import TriggerStore
import Workers

/// Sends the pushes of subscriptions to items: those of followers, whose items were updated, and held ones, whose
/// device's window opens. It also removes subscriptions that have expired, and items and templates that nobody uses.
package struct ItemPushService: Sendable {
    /// The subscriptions of one transaction: as many as a planner's slice has members.
    private static let subscriptionsMax = 20_000
    private static let pollEvery: Duration = .seconds(1)
    /// An item is removed after weeks.
    private static let idlePollEvery: Duration = .seconds(600)

    /// The loops that look for pushes first.
    private let first: [WorkLoop]
    private let loops: [WorkLoop]

    package init(
        stores: TriggerStores, delivery: DeliveryService, parcelMembersMax: Int, _ context: ServiceContext
    ) {
        let pushes = ItemPushRound(
            store: stores.pushes, delivery: delivery,
            contents: ItemPushMessages(delivery: delivery, log: context.log).contents,
            order: ItemPushOrder(
                subscriptionsMax: Self.subscriptionsMax, parcelMembersMax: parcelMembersMax,
                format: StoredContent.format),
            context: context)
        let releases = Self.pair(context) { () throws(StoreFault) in try await pushes.cut(.heldPushes) }
        let rounds = Self.pair(context) { () throws(StoreFault) in
            let round = try await pushes.cut(.followers)
            // Pushes may be held now, until a time that the releases have to learn.
            if round == .more { releases[0].notify() }
            return round
        }
        let expiry = WorkLoop("removals of subscriptions delayed", pollEvery: Self.pollEvery, context) {
            _ throws(StoreFault) in
            try await stores.subscriptions.removeExpired() ? .more : .idle
        }
        let idle = WorkLoop("removals of items delayed", pollEvery: Self.idlePollEvery, context) {
            _ throws(StoreFault) in
            let hasMoreItems = try await stores.updates.removeIdle()
            let hasMoreTemplates = try await stores.subscriptions.removeUnusedTemplates()
            return hasMoreItems || hasMoreTemplates ? .more : .idle
        }
        first = [rounds[0], releases[0]]
        loops = rounds + releases + [expiry, idle]
    }

    /// Two loops for the same work: a small transaction need not wait for a large one.
    private static func pair(
        _ context: ServiceContext, round: @escaping @Sendable () async throws(StoreFault) -> WorkLoop.Round
    ) -> [WorkLoop] {
        let delayed = "pushes of items delayed"
        let second = WorkLoop(delayed, pollEvery: nil, context) { _ throws(StoreFault) in
            // The first alone wakes for what falls due.
            try await round() == .more ? .more : .idle
        }
        let first = WorkLoop(delayed, pollEvery: pollEvery, context) { rounds throws(StoreFault) in
            // There is more than one transaction's work.
            if rounds == 1 { second.notify() }
            return try await round()
        }
        return [first, second]
    }

    /// An item has fallen due, or pushes are held.
    package func notify() {
        for loop in first { loop.notify() }
    }

    /// Makes `run` return when the transactions under way are done.
    package func stop() { loops.stop() }

    package func run() async { await loops.run() }
}

/// The pushes that one transaction cuts.
private enum ItemPushWork: Sendable {
    /// Those of followers of items that are due.
    case followers
    /// Those that are held, and due.
    case heldPushes
}

/// One transaction of pushes. Any number run beside each other: the database gives each row to one of them.
private struct ItemPushRound: Sendable {
    let store: ItemPushStore
    let delivery: DeliveryService
    let contents: ItemPushContents
    let order: ItemPushOrder
    let context: ServiceContext

    func cut(_ work: ItemPushWork) async throws(StoreFault) -> WorkLoop.Round {
        let reply = try await delivery.leasing { leasing throws(StoreFault) in
            let reply: ItemPushReply
            switch work {
            case .followers: reply = try await store.follow(order, leasing: leasing, contents: contents)
            case .heldPushes: reply = try await store.release(order, leasing: leasing, contents: contents)
            }
            if case .cut(let messages, _, _) = reply, messages > 0 { context.steps?.reached(.pushesCommitted) }
            return (reply, reply.written)
        }
        guard case .cut(_, let pushes, _) = reply else { return .idle(dueIn: try await store.nextDue()) }
        if pushes > 0 {
            context.log.debug("Subscriptions were notified of updates", metadata: ["subscriptions": "\(pushes)"])
        }
        return .more
    }
}
