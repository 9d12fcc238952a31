import Basis
import Content
import Delivery
import Logging
import Model
import QueueRules
import Reactor
import Store
import Synchronization

/// Notifies subscriptions of changes at their paths, until no watch is due.
///
/// Any number of fan-outs run beside each other: the database gives each watch to one of them. The second one of a
/// process starts when the first finds more work than for one transaction, so a small fan-out need not wait for a large
/// one.
package final class FanOutService: Sendable {
    private static let workers = 2
    /// The subscriptions of one transaction: as many as a planner's slice has members.
    private static let subscriptionsMax = 20_000
    /// In case a signal was lost.
    private static let pollEvery: Duration = .seconds(1)

    private let store: FanOutStore
    private let order: FanOutOrder
    private let steps: (any StepListener)?
    private let database: DatabaseWatch
    private let log: Logger
    private let delivery: DeliveryService
    private let contents: FanOutContents
    private let signals = (0..<workers).map { _ in CoalescingSignal() }
    private let alarm = Mutex<MonotonicInstant?>(nil)

    package init(
        store: FanOutStore, delivery: DeliveryService, parcelMembersMax: Int, steps: (any StepListener)?,
        database: DatabaseWatch, log: Logger
    ) {
        (self.store, self.steps, self.database, self.log) = (store, steps, database, log)
        (self.delivery, contents) = (delivery, WakeUpContents(delivery: delivery).all)
        order = FanOutOrder(
            subscriptionsMax: Self.subscriptionsMax, parcelMembersMax: parcelMembersMax, format: StoredContent.format)
    }

    /// Watched nodes have changed.
    package func notify() { signals[0].notify() }

    /// Makes `run` return when the transactions under way are done.
    package func stop() {
        for signal in signals { signal.remove() }
    }

    package func run() async {
        await withTaskGroup(of: Void.self) { group in
            for index in signals.indices { group.addTask { await self.work(index) } }
            group.addTask { await self.revoke() }
            group.addTask {
                while !Task.isCancelled {
                    self.notify()
                    try? await Task.sleep(for: Self.pollEvery)
                }
            }
            for _ in signals { await group.next() }
            group.cancelAll()
        }
    }

    /// Ends subscriptions that have expired or were revoked, at least once a second.
    private func revoke() async {
        while !Task.isCancelled {
            do {
                let reply = try await store.revoke(order, contents: contents)
                if case .nothing = reply {
                    try? await Task.sleep(for: Self.pollEvery)
                } else if !reply.written.ready.isEmpty {
                    await delivery.ready(reply.written.ready)
                }
            } catch {
                database.failed("revocations delayed", error)
                try? await Task.sleep(for: Self.pollEvery)
            }
        }
    }

    private func work(_ index: Int) async {
        for await _ in signals[index].signals {
            var transactions = 0
            while !Task.isCancelled, await fanOut() {
                transactions += 1
                if transactions == 1, index + 1 < signals.count { signals[index + 1].notify() }
            }
        }
    }

    /// Returns true if there may be more. After a fault, the regular notification tries again.
    private func fanOut() async -> Bool {
        do {
            let reply = try await delivery.leasing { leasing throws(StoreFault) in
                let reply = try await store.fanOut(order, leasing: leasing, contents: contents)
                if case .notified = reply { steps?.reached(.fanOutCommitted) }
                return (reply, reply.written)
            }
            switch reply {
            case .notified(_, let subscriptions, _):
                log.debug("Subscriptions were notified of changes", metadata: ["subscriptions": "\(subscriptions)"])
                return true
            case .nothing:
                if let wait = try await store.nextDue() { wake(after: wait) }
                return false
            }
        } catch {
            database.failed("wake-ups delayed", error)
            return false
        }
    }

    /// Notifies once a watch falls due. One alarm is enough: it asks for the next one.
    private func wake(after wait: Duration) {
        let instant = Clocks.monotonicNow() + wait
        let isSooner = alarm.withLock { alarm in
            guard alarm.map({ instant < $0 }) ?? true else { return false }
            alarm = instant
            return true
        }
        guard isSooner, wait < Self.pollEvery else {
            if isSooner { alarm.withLock { $0 = nil } }
            return
        }
        Task {
            try? await Task.sleep(for: wait)
            alarm.withLock { if $0 == instant { $0 = nil } }
            notify()
        }
    }
}
