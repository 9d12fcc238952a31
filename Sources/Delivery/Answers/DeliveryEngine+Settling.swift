import Basis
import Model
import QueueRules
import Reactor
import Store

// Settles and renewals. Small settles queue per app, and those that arrive meanwhile go as one group (`SettleQueue`).
extension DeliveryEngine {
    /// - Parameter entries: the settles of one round of actions, so that they can go as one group.
    func settle(_ entries: [SettleEntry]) {
        var apps: [AppID] = []
        for entry in entries {
            guard entry.pending.isSmall else {
                Task { take(await settled([entry])) }
                continue
            }
            let app = entry.pending.app
            settles[app, default: SettleQueue()].add(entry)
            if apps.last != app { apps.append(app) }
        }
        for app in apps { sendSettles(of: app) }
    }

    private func sendSettles(of app: AppID) {
        while let entries = settles[app]?.take() {
            Task {
                let startedAt = Clocks.monotonicNow()
                take(await settled(entries))
                // Nobody waits for a settle, and a statement costs more than a row of it.
                if entries[0].pending.isGroupable {
                    let wait = SettleQueue.groupEvery - (Clocks.monotonicNow() - startedAt)
                    if wait > .zero { try? await Task.sleep(for: wait) }
                }
                settles[app]?.end(entries)
                sendSettles(of: app)
            }
        }
        if settles[app]?.isIdle == true { settles[app] = nil }
    }

    /// Settles entries of one app in one transaction, and writes their verdicts before in another.
    private func settled(_ entries: [SettleEntry]) async -> DispatchEvent {
        do throws(StoreFault) { try await applyVerdicts(of: entries) } catch {
            stores.context.database.failed("settling delayed", error)
            return .settled([], failed: entries.map { UnsettledLease($0.name) })
        }
        let replies = await stores.parcels.settle(entries.map(\.pending.settlement), locked: LockedRows(for: entries))
        var settled: [SettledLease] = []
        var failed: [UnsettledLease] = []
        var faults: [StoreFault] = []
        let somePassed = replies.contains { if case .success = $0 { true } else { false } }
        for (entry, reply) in zip(entries, replies) {
            switch reply {
            case .success(let reply): settled.append(SettledLease(entry.name, reply))
            case .failure(let fault):
                faults.append(fault)
                // If other entries of the group passed, the locked row is one of this entry's own.
                let isRefused = fault.isLasting || fault == .contended && somePassed
                failed.append(UnsettledLease(entry.name, verdictsDone: true, isRefused: isRefused))
            }
        }
        if somePassed { steps?.reached(.settleCommitted) }
        if let first = faults.first { stores.context.database.failed("settling delayed", first) }
        // Remainders on other routes may be ready to lease.
        let areDue = zip(entries, replies).contains { entry, reply in
            reply == .success(.settled) && entry.pending.settlement.remainders.contains(where: \.isDue)
        }
        if areDue { take(.hint) }
        return .settled(settled, failed: failed)
    }

    private func applyVerdicts(of entries: [SettleEntry]) async throws(StoreFault) {
        let judging = entries.filter(\.withVerdicts)
        guard let app = judging.first?.pending.app else { return }
        let report = try await stores.parcels.applyVerdicts(
            judging.flatMap(\.pending.verdicts), under: settings.suspicion,
            waitsBriefly: judging.allSatisfy(\.pending.isSmall))
        if report.retired > 0 { log.info("Tokens retired", metadata: ["count": "\(report.retired)"]) }
        for suspectRoute in report.suspectRoutes { await note(suspectRoute, of: app) }
        steps?.reached(.verdictsCommitted)
    }

    func renew(_ names: [LeaseName]) {
        for name in names { renewals.add(name) }
        while let batch = renewals.take() {
            Task {
                let event = await renewed(batch)
                renewals.end()
                take(event)
                renew([])
            }
        }
    }

    private func renewed(_ names: [LeaseName]) async -> DispatchEvent {
        let replies = await stores.parcels.renew(names, owner: process, for: settings.dispatcher.leaseLength)
        var renewed: [RenewedLease] = []
        var failed: [LeaseName] = []
        var faults: [StoreFault] = []
        for (name, reply) in zip(names, replies) {
            switch reply {
            case .success(let isHeld): renewed.append(RenewedLease(name, isHeld: isHeld))
            case .failure(let fault):
                faults.append(fault)
                failed.append(name)
            }
        }
        if let first = faults.first { stores.context.database.failed("lease renewal delayed", first) }
        return .renewed(renewed, failed: failed)
    }

    private func note(_ suspectRoute: SuspectRoute, of app: AppID) async {
        guard suspectRoutes.isNew(suspectRoute.route, now: Clocks.monotonicNow(), quiet: settings.suspicion.window)
        else { return }
        let slug = await lanes.slug(of: app)
        log.error(
            "Too many tokens of a route were found in the provider's other environment: none is moved",
            metadata: [
                "app": "\(slug)", "environment": "\(suspectRoute.environment)", "topic": "\(suspectRoute.topic)",
                "found": "\(suspectRoute.found)", "answered": "\(max(suspectRoute.answered, suspectRoute.found))",
                "remedy":
                    "if the provider has an outage, wait; else register the tokens correctly, or raise CARILLON_SUSPECT_SHARE",
            ])
    }
}

extension LockedRows {
    /// Other settles of the app queue behind a small one. One that was refused within a group waits for no lock, because
    /// meanwhile it would keep its own rows locked for others.
    fileprivate init(for entries: [SettleEntry]) {
        if entries.contains(where: \.pending.wasRefused) {
            self = .pass
        } else {
            self = entries.allSatisfy(\.pending.isSmall) ? .waitBriefly : .wait
        }
    }
}

extension StoreFault {
    /// True if the fault lies in what was asked for, not in the state of the database. Other requests are not affected,
    /// and a retry gets the same answer.
    var isLasting: Bool {
        switch self {
        case .conflict, .invalid, .damaged, .unknownApp: true
        case .unavailable, .impaired, .contended, .commitUnknown, .unsuited, .cancelled: false
        }
    }
}
