package struct SettleEntry: Equatable, Sendable {
    package let name: LeaseName
    package let pending: PendingSettle
    package let withVerdicts: Bool

    package init(_ name: LeaseName, _ pending: PendingSettle, withVerdicts: Bool) {
        (self.name, self.pending) = (name, pending)
        self.withVerdicts = withVerdicts && !pending.verdicts.isEmpty
    }
}

/// Settles of one app's small parcels on their way to the database.
///
/// Settles share a transaction: one group at a time, with all that came since the last. Those with verdicts and those
/// that were refused within a group go alone, a few at a time, so that no row but their own delays or fails them.
/// Groups don't wait for these, nor one app for another. A value, for the shell and for simulation.
///
/// Bounded by the parcels in hand: each has one settle in flight.
package struct SettleQueue: Sendable {
    /// A larger settle is worth a transaction of its own, and would delay the small ones.
    package static let membersMax = 100
    /// More in one transaction would lock their messages' rows for longer than a neighbour should wait.
    package static let groupMax = 100
    /// The shortest time from one group to the next. A busy app's groups grow, and an idle app's first settle leaves at
    /// once.
    package static let groupEvery: Duration = .milliseconds(10)
    /// Settles that go alone in flight at once. A fraction of the connections that one process has.
    package static let aloneMax = 3

    private var together = BatchQueue<SettleEntry>(batchesMax: 1, entriesMax: groupMax)
    private var alone = BatchQueue<SettleEntry>(batchesMax: aloneMax, entriesMax: 1)

    package init() {}

    package mutating func add(_ entry: SettleEntry) {
        if entry.pending.isGroupable { together.add(entry) } else { alone.add(entry) }
    }

    /// The next settles that may leave, as one call; nil: none waits, or enough are in flight.
    package mutating func take() -> [SettleEntry]? { together.take() ?? alone.take() }

    /// The settles that left together came back, whether they succeeded or failed.
    package mutating func end(_ entries: [SettleEntry]) {
        if entries[0].pending.isGroupable { together.end() } else { alone.end() }
    }

    /// True while no settle waits and none is in flight.
    package var isIdle: Bool { together.isIdle && alone.isIdle }
}

/// Renewals of leases go in lists across all apps: each changes one column of one row.
package enum RenewalBatches {
    package static let leasesMax = 500
    /// The most calls in flight. With one, a call that hangs would let all leases expire.
    package static let batchesMax = 2
}
