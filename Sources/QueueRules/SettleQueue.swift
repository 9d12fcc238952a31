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

/// Settles that go to the database in one batch.
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
/// Groupable settles share a transaction: one group at a time, with all that came since the last. The others go one by
/// one, a few at a time, so that a lane that hands back many parcels can't take all database connections. Groups don't
/// wait for single settles, nor one app for another. A value, for the shell and for simulation.
///
/// Bounded by the parcels in hand: each has one settle in flight.
package struct SettleQueue: Sendable {
    /// A larger settle is worth a transaction of its own, and would delay the small ones.
    package static let membersMax = 100
    /// More in one transaction would lock their messages' rows for longer than a neighbour should wait.
    package static let groupMax = 100
    /// Single settles in flight at once. A fraction of the connections that one process has.
    package static let singlesMax = 3

    private var group = BatchQueue<SettleEntry>(batchesMax: 1, entriesMax: groupMax)
    private var single = BatchQueue<SettleEntry>(batchesMax: singlesMax, entriesMax: 1)

    package init() {}

    package mutating func add(_ entry: SettleEntry) {
        if entry.pending.isGroupable { group.add(entry) } else { single.add(entry) }
    }

    /// The next batch that may leave; nil: no settle waits, or enough are in flight.
    package mutating func take() -> SettleBatch? {
        if let entries = group.take() { return .group(entries) }
        return single.take().map { .single($0[0]) }
    }

    /// The batch came back, whether it succeeded or failed.
    package mutating func end(_ batch: SettleBatch) {
        switch batch {
        case .group: group.end()
        case .single: single.end()
        }
    }

    /// True while no settle waits and none is in flight.
    package var isIdle: Bool { group.isIdle && single.isIdle }
}

/// Renewals of leases go in lists across all apps: each changes one column of one row.
package enum RenewalBatches {
    /// The most leases in one call.
    package static let leasesMax = 500
    /// The most calls in flight. With one, a call that hangs would let all leases expire.
    package static let batchesMax = 2
}
