import Content
import Delivery
import Logging
import Model
import Store
import WakeUpStore
import Workers

/// Notifies subscriptions of changes at their paths, ends those that have expired or were revoked, and removes nodes
/// that are too large for one write.
package struct FanOutService: Sendable {
    /// The subscriptions of one transaction: as many as a planner's slice has members.
    private static let subscriptionsMax = 20_000
    private static let pollEvery: Duration = .seconds(1)

    private let first: WorkLoop
    private let loops: [WorkLoop]

    package init(stores: WakeUpStores, delivery: DeliveryService, parcelMembersMax: Int, _ context: ServiceContext) {
        let fanOut = FanOutRound(
            store: stores.fanOuts, delivery: delivery, contents: WakeUpContents(delivery: delivery).all,
            order: FanOutOrder(
                subscriptionsMax: Self.subscriptionsMax, parcelMembersMax: parcelMembersMax,
                format: StoredContent.format),
            context: context)
        let delayed = "wake-ups delayed"
        let second = WorkLoop(delayed, pollEvery: nil, context) { _ throws(StoreFault) in
            // The first alone wakes for what falls due.
            try await fanOut.notify() == .more ? .more : .idle
        }
        let first = WorkLoop(delayed, pollEvery: Self.pollEvery, context) { rounds throws(StoreFault) in
            // There is more than one transaction's work. A small fan-out need not wait for a large one.
            if rounds == 1 { second.notify() }
            return try await fanOut.notify()
        }
        let revoker = WorkLoop("revocations delayed", pollEvery: Self.pollEvery, context) { _ throws(StoreFault) in
            try await fanOut.revoke()
        }
        let removals = NodeRemover(store: stores.nodes, raised: { first.notify() })
        let remover = WorkLoop("removals of nodes delayed", pollEvery: Self.pollEvery, context) {
            _ throws(StoreFault) in
            try await removals.removeNext() ? .more : .idle
        }
        self.first = first
        loops = [first, second, revoker, remover]
    }

    /// Watched nodes have changed.
    package func notify() { first.notify() }

    /// Makes `run` return when the transactions under way are done.
    package func stop() { loops.stop() }

    package func run() async { await loops.run() }
}

/// One transaction of wake-ups. Any number run beside each other: the database gives each watch to one of them.
private struct FanOutRound: Sendable {
    let store: FanOutStore
    let delivery: DeliveryService
    let contents: FanOutContents
    let order: FanOutOrder
    let context: ServiceContext

    /// Notifies subscriptions of the watches that are due.
    func notify() async throws(StoreFault) -> WorkLoop.Round {
        let reply = try await delivery.leasing { leasing throws(StoreFault) in
            let reply = try await store.fanOut(order, leasing: leasing, contents: contents)
            if case .notified = reply { context.steps?.reached(.fanOutCommitted) }
            return (reply, reply.written)
        }
        guard case .notified(_, let subscriptions, _) = reply else { return .idle(dueIn: try await store.nextDue()) }
        context.log.debug("Subscriptions were notified of changes", metadata: ["subscriptions": "\(subscriptions)"])
        return .more
    }

    /// Ends subscriptions that have expired or were revoked.
    func revoke() async throws(StoreFault) -> WorkLoop.Round {
        let reply = try await store.revoke(order, contents: contents)
        if case .nothing = reply { return .idle }
        if !reply.written.ready.isEmpty { await delivery.ready(reply.written.ready) }
        return .more
    }
}
