import Model
import QueueRules

// Settles and renewals on their way to the database, through the engine's own queues.
extension SimulatedWorld {
    /// Sends the settles and renewals that one event asks for.
    mutating func send(_ actions: [DispatchAction], _ index: Int) {
        var apps: [AppID] = []
        for action in actions {
            switch action {
            case .settle(let name, let pending, let withVerdicts):
                let entry = SettleEntry(name, pending, withVerdicts: withVerdicts)
                guard pending.isSmall else {
                    send([entry], index)
                    continue
                }
                processes[index].settles[pending.app, default: SettleQueue()].add(entry)
                if apps.last != pending.app { apps.append(pending.app) }
            case .renew(let name): processes[index].renewals.add(name)
            default: break
            }
        }
        for app in apps { sendSettles(of: app, index) }
        sendRenewals(index)
    }

    private mutating func sendSettles(of app: AppID, _ index: Int) {
        while let entries = processes[index].settles[app]?.take() { send(entries, index) }
    }

    /// Sends settles with verdicts alone, after their verdicts.
    private mutating func send(_ entries: [SettleEntry], _ index: Int) {
        call(entries[0].withVerdicts ? .verdicts(entries[0]) : .settle(entries), index)
    }

    private mutating func sendRenewals(_ index: Int) {
        while let names = processes[index].renewals.take() { call(.renew(names), index) }
    }

    /// Ends settles that left together, and passes their result to the Dispatcher.
    mutating func end(_ entries: [SettleEntry], _ event: DispatchEvent, _ index: Int) {
        let incarnation = processes[index].incarnation
        let pending = entries[0].pending
        if pending.isSmall { processes[index].settles[pending.app]?.end(entries) }
        send(event, to: index)
        guard processes[index].isAlive, processes[index].incarnation == incarnation else { return }
        if pending.isSmall { sendSettles(of: pending.app, index) }
    }

    mutating func receiveSettles(_ reply: StoreReply, _ entries: [SettleEntry], _ index: Int) {
        var settled: [SettledLease] = []
        var failed: [UnsettledLease] = []
        if case .settled(let replies) = reply {
            for (entry, reply) in zip(entries, replies) {
                if let reply {
                    settled.append(SettledLease(entry.name, reply))
                } else {
                    failed.append(UnsettledLease(entry.name, isRefused: true))
                }
            }
        } else {
            // Their verdicts were written before, each in a transaction of its own.
            failed = entries.map { UnsettledLease($0.name, verdictsDone: $0.withVerdicts) }
        }
        end(entries, .settled(settled, failed: failed), index)
    }

    mutating func receiveRenewals(_ reply: StoreReply, _ names: [LeaseName], _ index: Int) {
        let incarnation = processes[index].incarnation
        processes[index].renewals.end()
        if case .renewed(let stillLeased) = reply {
            send(.renewed(zip(names, stillLeased).map { RenewedLease($0, isHeld: $1) }), to: index)
        } else {
            send(.renewed([], failed: names), to: index)
        }
        guard processes[index].isAlive, processes[index].incarnation == incarnation else { return }
        sendRenewals(index)
    }
}
