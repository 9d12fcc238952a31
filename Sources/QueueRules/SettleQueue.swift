/// One settle for the shell to carry out.
package struct SettleEntry: Equatable, Sendable {
    package let name: LeaseName
    package let pending: PendingSettle
    /// The verdicts are still to be written.
    package let withVerdicts: Bool

    package init(_ name: LeaseName, _ pending: PendingSettle, withVerdicts: Bool) {
        self.name = name
        self.pending = pending
        self.withVerdicts = withVerdicts && !pending.verdicts.isEmpty
    }
}

/// Settles that go to the database in one turn.
package enum SettleBatch: Equatable, Sendable {
    /// In one transaction: none has verdicts, and each ends its parcel.
    case group([SettleEntry])
    case single(SettleEntry)

    package var entries: [SettleEntry] {
        switch self {
        case .group(let entries): entries
        case .single(let entry): [entry]
        }
    }
}

/// Settles of one app's small parcels on their way to the database.
///
/// What can be, is settled together: one transaction at a time, with what has come since the last one. The others go
/// one by one, a few at a time: however many parcels a lane hands back at once, the database's connections are not
/// theirs alone. Neither waits for the other, nor one app for another. A value, for the shell and for simulation.
///
/// Bounded by the parcels in hand, each of which has one settle on its way.
package struct SettleQueue: Sendable {
    /// A settle of more members is worth a transaction of its own, and would keep the small ones waiting.
    package static let membersMax = 100
    /// More in one transaction would hold their messages' rows for longer than a neighbour should wait.
    package static let groupMax = 100
    /// Of those that go one by one. A fraction of the connections that one process has.
    package static let singlesMax = 3

    private var group = BatchQueue<SettleEntry>(batchesMax: 1, entriesMax: groupMax)
    private var single = BatchQueue<SettleEntry>(batchesMax: singlesMax, entriesMax: 1)

    package init() {}

    package mutating func add(_ entry: SettleEntry) {
        if entry.pending.isGroupable { group.add(entry) } else { single.add(entry) }
    }

    /// What may leave now; nil: nothing waits, or enough is on its way.
    package mutating func take() -> SettleBatch? {
        if let entries = group.take() { return .group(entries) }
        return single.take().map { .single($0[0]) }
    }

    /// It came back, whatever became of it.
    package mutating func end(_ batch: SettleBatch) {
        switch batch {
        case .group: group.end()
        case .single: single.end()
        }
    }

    /// Nothing waits, and nothing is on its way.
    package var isIdle: Bool { group.isIdle && single.isIdle }
}

/// Renewals of leases go by list, all apps' together: each is a row's one column.
package enum RenewalBatches {
    /// Leases in one call.
    package static let leasesMax = 500
    /// Calls on their way at once: one that hangs must not let all leases run out.
    package static let batchesMax = 2
}
