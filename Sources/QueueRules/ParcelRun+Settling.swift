import Model

/// One settle in flight. The verdicts go first, in a transaction of their own, because they hold even if the lease was
/// lost. The compare-and-set follows.
package struct PendingSettle: Equatable, Sendable {
    package let settlement: Settlement
    package let verdicts: [GuardedVerdict]
    package let app: AppID
    /// The parcel is small: its settle goes through its app's `SettleQueue`.
    package let isSmall: Bool
    /// The database refused the settle within a group. Repeated, it must not make another group fail.
    package internal(set) var wasRefused = false

    /// Whether it shares a transaction with others.
    package var isGroupable: Bool { isSmall && !wasRefused && verdicts.isEmpty }
}

/// The meaning of a settle's reply for the run.
package enum SettleConclusion: Equatable, Sendable {
    /// Written; the parcel goes on.
    case goesOn
    /// Written, and no member of the parcel is left here.
    case finished
    /// Another process has the lease, or the parcel is gone: our counts are dropped.
    case lost
}

extension ParcelRun {
    /// Takes all changes since the last settle, for one transaction. nil while a settle is in flight, or without
    /// changes.
    package mutating func takeSettlement() -> PendingSettle? {
        guard settling == nil, hasChanges else { return nil }
        let goingOn = remainders.remainders()
        let settlement = Settlement(
            parcel: parcel.id, message: parcel.message, route: parcel.route, epoch: parcel.epoch, settles: settles,
            terminalCounts: terminalCounts.inOrder(), settledBits: settledBits, remainders: goingOn,
            pendingAfter: openCount, sample: sample,
            history: ended.take(parcel.members) + goingOn.compactMap { $0.entry(in: parcel) }, takenBack: takenBack,
            badgeSet: parcel.badgeSet, complaint: complaint)
        let pending = PendingSettle(
            settlement: settlement, verdicts: verdicts, app: parcel.app,
            isSmall: parcel.memberCount <= SettleQueue.membersMax)
        settling = pending
        terminalCounts = TerminalTally()
        remainders = RemainderTally()
        takenBack = []
        verdicts = []
        sample = AnswerSample()
        hasChanges = false
        return pending
    }

    /// Notes that the database refused the content of the settle in flight.
    mutating func noteSettleRefused() { settling?.wasRefused = true }

    ///
    /// A fence under our epoch, with `settles` one ahead of ours, is the trace of our own earlier attempt whose commit
    /// was ambiguous. A row that is gone was finished: by us, if this settle would have finished it.
    package mutating func concludeSettle(_ reply: SettleReply) -> SettleConclusion {
        guard let pending = settling else { return .lost }
        settling = nil
        switch reply {
        case .settled: break
        case .fenced(let status):
            guard let status else { return pending.settlement.pendingAfter == 0 ? .finished : .lost }
            let isOurOwn =
                status.epoch == parcel.epoch && status.isLeased && status.settles == pending.settlement.settles + 1
            guard isOurOwn else { return .lost }
        }
        settles += 1
        return pending.settlement.pendingAfter == 0 ? .finished : .goesOn
    }
}
