import Model

/// One settle on its way: the verdicts go first, in a transaction of their own, since they hold even where the lease
/// was lost; then the compare-and-set.
package struct PendingSettle: Equatable, Sendable {
    package let settlement: Settlement
    package let verdicts: [GuardedVerdict]
    package let app: AppID
    /// Its parcel is small: it takes its turn in its app's `SettleQueue`.
    package let isSmall: Bool
    /// The database refused it for what it says: handed in again, it must not drag others along.
    package internal(set) var wasRefused = false

    /// Whether it may share a transaction.
    package var isGroupable: Bool { isSmall && !wasRefused && verdicts.isEmpty && settlement.isGroupable }
}

extension Settlement {
    /// It ends its parcel, and leaves behind nobody but who waits for the end of quiet hours: what may be settled together
    /// with others.
    package var isGroupable: Bool { pendingAfter == 0 && remainders.allSatisfy(\.onlySleeps) }
}

extension Remainder {
    /// Nothing was tried of it, and nothing has to be known of it but until when it waits.
    fileprivate var onlySleeps: Bool { members.isEmpty || cause == .quietHours && origin == nil }
}

/// What a settle's reply means for the run.
package enum SettleConclusion: Equatable, Sendable {
    /// Written; the parcel goes on.
    case goesOn
    /// Written, and nothing is left of the parcel here.
    case finished
    /// The lease is another's now, or gone: our counts are dropped.
    case lost
}

extension ParcelRun {
    /// Everything that happened since the last settle, for one transaction. nil while one is under way, or without news.
    package mutating func takeSettlement() -> PendingSettle? {
        guard settling == nil, hasChanges else { return nil }
        let goingOn = remainders.remainders()
        let settlement = Settlement(
            parcel: parcel.id, message: parcel.message, epoch: parcel.epoch, settles: settles,
            terminalCounts: terminalCounts.inOrder(), settledBits: settledBits, remainders: goingOn,
            pendingAfter: openCount, sample: sample,
            history: ended.take(parcel.members) + goingOn.compactMap { $0.entry(in: parcel) })
        let pending = PendingSettle(
            settlement: settlement, verdicts: verdicts, app: parcel.app,
            isSmall: parcel.memberCount <= SettleQueue.membersMax)
        settling = pending
        terminalCounts = TerminalTally()
        remainders = RemainderTally()
        verdicts = []
        sample = AnswerSample()
        hasChanges = false
        return pending
    }

    /// The settle under way can't be written as it is, as far as the database says now.
    mutating func noteSettleRefused() { settling?.wasRefused = true }

    /// The reply to the settle under way.
    ///
    /// A fence whose `settles` is one ahead of ours, under our epoch, is the trace of our own earlier attempt whose
    /// commit we could not see. A row that is gone was finished: by us, where this settle would have finished it.
    package mutating func concludeSettle(_ reply: SettleReply) -> SettleConclusion {
        guard let pending = settling else { return .lost }
        settling = nil
        switch reply {
        case .settled:
            break
        case .fenced(let status):
            guard let status else { return pending.settlement.pendingAfter == 0 ? .finished : .lost }
            let isOurOwn =
                status.epoch == parcel.epoch && status.isLeased
                && status.settles == pending.settlement.settles + 1
            guard isOurOwn else { return .lost }
        }
        settles += 1
        return pending.settlement.pendingAfter == 0 ? .finished : .goesOn
    }
}
