import DeliveryRules
import PushModel
import Store

/// Settles of one app that wait while others of it are on their way.
struct SettleQueue: Sendable {
    var waiting: [(name: LeaseName, settlement: Settlement)] = []

    /// The first ones, for one transaction.
    mutating func takeGroup() -> [(name: LeaseName, settlement: Settlement)] {
        let group = Array(waiting.prefix(ParcelStore.settledTogetherMax))
        waiting.removeFirst(group.count)
        return group
    }
}

// Settles of small parcels: the first goes at once, and those that come meanwhile go together, as registrations do.
extension DeliveryEngine {
    /// A settle of more members is worth a transaction of its own, and would keep the small ones waiting.
    private static let smallMax = 100

    /// Whether it is taken here: it ends its parcel, and has nothing to say of any token.
    ///
    /// Apps never wait for each other. Bounded by the parcels in hand, each of which has one settle on its way.
    func settlesTogether(_ name: LeaseName, _ pending: PendingSettle) -> Bool {
        guard pending.verdicts.isEmpty, pending.settlement.isWhole, let parcel = parcelsOut[name]?.parcel,
            parcel.memberCount <= Self.smallMax
        else { return false }
        let isFirst = settlesWaiting[parcel.app] == nil
        settlesWaiting[parcel.app, default: SettleQueue()].waiting.append((name, pending.settlement))
        if isFirst { Task { await settleWaiting(parcel.app) } }
        return true
    }

    /// One transaction after the other, until nothing waits.
    private func settleWaiting(_ app: AppID) async {
        while let group = settlesWaiting[app]?.takeGroup(), !group.isEmpty {
            let replies = await stores.parcels.settleGroup(group.map(\.settlement))
            steps?.reached(.settleCommitted)
            var settled: [SettledLease] = []
            var failed: [(name: LeaseName, fault: StoreFault)] = []
            for (entry, reply) in zip(group, replies) {
                switch reply {
                case .success(let reply): settled.append(SettledLease(entry.name, reply))
                case .failure(let fault): failed.append((entry.name, fault))
                }
            }
            if !settled.isEmpty { take(.settledTogether(settled)) }
            guard let first = failed.first else { continue }
            log.warning(
                "Settling waits for the database",
                metadata: ["parcels": "\(failed.count)", "fault": "\(first.fault)"])
            for entry in failed { take(.settleFailed(entry.name, verdictsDone: true)) }
        }
        settlesWaiting[app] = nil
    }
}
