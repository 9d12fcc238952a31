import Basis
import Content
import Model
import QueueRules
import Reactor
import Store

// Direct messages and fan-outs: cut and leased in one transaction, and sent without another query. Only texts with
// placeholders need one, for the devices' values.
extension DeliveryEngine {
    /// Writes direct messages of one app, and begins to send those whose lane can send now. The parcels of the others
    /// are ready for any process.
    nonisolated func cut(_ messages: [DirectMessage], in store: MessageStore) async -> [Result<CutReply, StoreFault>] {
        let id = CutID(Entropy.uint64())
        let startedAt = Clocks.monotonicNow()
        let result = await store.cut(messages.map(\.cut), order) { await self.admittedRoutes(of: $0, to: id) }
        if result.replies.contains(where: \.isWritten) { steps?.reached(.cutCommitted) }
        noteUnreadable(result.written)
        if !result.written.ready.isEmpty {
            // A message that waits for its planner may still change.
            let cut = zip(messages, result.replies).filter { $1 == .success(.cut) }.map(\.0)
            Task { await leave(result.written.ready, of: cut) }
        }
        if let app = messages.first?.cut.message.app {
            let known = messages.map { CachedMessage(id: $0.cut.message.id, compiled: $0.compiled) }
            cutEnds.add(app) { await self.end(id, result.written.leases, known, startedAt) }
        }
        let lost = zip(messages, result.replies).filter { $1 == .failure(.commitUnknown) }.map(\.0.cut.message.id)
        if !lost.isEmpty { releaseLater(lost, in: store, leasedAt: startedAt) }
        return result.replies
    }

    /// Lets another service's transaction lease the parcels that it writes, and begins to send them.
    ///
    /// - Parameter write: reports what it wrote, once it is committed.
    nonisolated func leasing<Reply: Sendable>(
        _ write: (CutLeasing) async throws(StoreFault) -> (reply: Reply, written: WrittenParcels)
    ) async throws(StoreFault) -> Reply {
        let id = CutID(Entropy.uint64())
        let startedAt = Clocks.monotonicNow()
        let leasing = CutLeasing(
            order: order, admit: { await self.admittedRoutes(of: $0, to: id) },
            lost: { self.releaseLater($0, in: self.stores.messages, leasedAt: startedAt) })
        do throws(StoreFault) {
            let (reply, written) = try await write(leasing)
            noteUnreadable(written)
            await end(id, written.leases, [], startedAt)
            if !written.ready.isEmpty { await ready(written.ready) }
            return reply
        } catch {
            await end(id, [], [], startedAt)
            throw error
        }
    }

    private nonisolated var order: CutOrder {
        CutOrder(owner: process, leaseFor: settings.dispatcher.leaseLength, parcelMembersMax: settings.parcelMembersMax)
    }

    private nonisolated func noteUnreadable(_ written: WrittenParcels) {
        for fault in written.unreadable {
            log.error("Parcel is unreadable; skipped until its lease expires", metadata: ["fault": "\(fault)"])
        }
    }

    private nonisolated func releaseLater(_ messages: [MessageID], in store: MessageStore, leasedAt: MonotonicInstant) {
        let leaseEnd = leasedAt + order.leaseFor
        Task { await release(messages, in: store, until: leaseEnd) }
    }

    /// How long to wait before the database is asked again.
    private static let releaseEvery: Duration = .seconds(1)

    /// Lets other leases have the parcels of messages that may have been committed. That nothing is found says little:
    /// the commit may be under way. So it asks until their leases end.
    private nonisolated func release(
        _ messages: [MessageID], in store: MessageStore, until leaseEnd: MonotonicInstant
    ) async {
        while Clocks.monotonicNow() < leaseEnd {
            // A fault is not logged here: while the database is away, each poll says so.
            if let count = try? await store.release(messages, of: process), count > 0 { await take(.hint) }
            try? await Task.sleep(for: Self.releaseEvery)
        }
    }

    private func admittedRoutes(of demand: [ServiceRoute: Int], to cut: CutID) -> Set<ServiceRoute> {
        let demands = demand.sorted { $0.key < $1.key }.map { CutDemand($0.key, members: $0.value) }
        var admitted: Set<ServiceRoute> = []
        for (demand, lane) in zip(demands, admit(cut, demands)) {
            if let lane, lanes.open.hasRoom(for: demand.members, on: lane) { admitted.insert(demand.serviceRoute) }
        }
        return admitted
    }

    /// - Parameter known: messages that need not be read.
    private func end(_ id: CutID, _ leases: [CutLease], _ known: [CachedMessage], _ startedAt: MonotonicInstant) async {
        var (cuts, all): ([CutParcels], [FoundParcel]) = ([], [])
        for lease in leases {
            let route = lease.route
            let found = await contents(of: lease.parcels, on: route.serviceRoute, known: known)
            let read = found.map { $0.read(by: route.provider) }
            cuts.append(CutParcels(serviceRoute: route.serviceRoute, startedAt: startedAt, parcels: read))
            all += found
        }
        take(.cut(id, cuts), all)
    }

    /// Handles parcels that are ready for any process.
    private func leave(_ ready: [ReadyRoute], of messages: [DirectMessage]) {
        for message in messages { accepted.store(message.compiled, contentBytes: message.cut.message.content.count) }
        take(.planned(ready))
    }
}

extension Result<CutReply, StoreFault> {
    fileprivate var isWritten: Bool {
        switch self {
        case .success(.cut), .success(.planned): true
        case .success(.replayed), .success(.mismatch), .success(.reaches), .failure: false
        }
    }
}
