import Basis
import Encodings
import Model
import Postgres
import QueueRules

extension ParcelStore {
    /// Writes the terminal states and remainders of a parcel's members, all or nothing.
    ///
    /// A compare-and-set on (parcel, epoch, settles, leased): a loser's counts are dropped, and after `commitUnknown`
    /// the same settlement may be handed in again.
    ///
    /// - Parameter waitsBriefly: throws `.contended` if others hold one of its rows for long. It is for a settle that
    ///   other work waits for.
    package func settle(
        _ settlement: Settlement, waitsBriefly: Bool = false, now: WallInstant? = nil
    ) async throws(StoreFault) -> SettleReply {
        try await settle(
            settlement, now: now,
            waitsBriefly ? TransactionOptions(lockTimeout: LockTimeout.brief) : TransactionOptions())
    }

    func settle(
        _ settlement: Settlement, now: WallInstant?, _ options: TransactionOptions
    ) async throws(StoreFault) -> SettleReply {
        let query = Self.query(for: settlement, now: now)
        let status = Query(SettleSQL.status) { $0.int64(settlement.parcel.value) }
        let (pool, steps) = (pool, steps)
        let answers = try await translating { () throws(PostgresError) in
            try await pool.retryingConflicts { () throws(PostgresError) in
                try await pool.transaction(options) { transaction throws(PostgresError) in
                    try await transaction.conclude([query, status], announcing: .settleWritten, to: steps)
                }
            }
        }
        let reply = try await translating { () throws(PostgresError) in try Self.reply(answers) }
        if reply == .settled, settlement.remainders.contains(where: \.isDue) { notifier.notify(.parcels) }
        return reply
    }

    static func query(for settlement: Settlement, now: WallInstant?) -> Query {
        precondition(settlement.pendingAfter >= 0)
        let remainders = settlement.remainders.filter { !$0.members.isEmpty }
        var parameters = Parameters()
        parameters.int64(settlement.parcel.value)
        parameters.int32(settlement.epoch)
        parameters.int32(settlement.settles)
        for state in TerminalState.allCases {
            parameters.int32(
                Int32(settlement.terminalCounts.reduce(0) { $0 + ($1.terminalStatus.state == state ? $1.count : 0) }))
        }
        parameters.int32(Int32(remainders.reduce(0) { $0 + $1.members.count }))
        parameters.instant(now)
        parameters.terminalCounts(TerminalCount.nonZero(settlement.terminalCounts))
        parameters.remainders(remainders)
        parameters.int64(Int64(settlement.sample.answered))
        parameters.int64(Int64(settlement.sample.suspected))
        parameters.textArray(remainders.map(\.cause.rawValue))
        parameters.history(settlement.history.filter { !$0.members.isEmpty })
        parameters.origins(remainders.map(\.origin))
        parameters.boolArray(remainders.map(\.isCounted))
        parameters.instantArray(remainders.map(\.dueAt))
        guard settlement.pendingAfter > 0 else { return Query(SettleSQL.whole, parameters) }
        parameters.bytes(settlement.settledBits)
        parameters.int32(Int32(settlement.pendingAfter))
        return Query(SettleSQL.part, parameters)
    }

    private static func reply(_ answers: [ResultSet]) throws(PostgresError) -> SettleReply {
        if try answers[0].int64(0, 0) == 1 { return .settled }
        guard answers[1].rowCount == 1 else { return .fenced(status: nil) }
        return .fenced(
            status: ParcelStatus(
                epoch: try answers[1].int32(0, 0), settles: try answers[1].int32(0, 1),
                isLeased: try answers[1].bool(0, 2)))
    }
}

extension TerminalCount {
    /// Returns the counts that get a row of their own, each terminal status once. They are ordered by state and reason,
    /// so that rows are locked in one order. A plain `accepted` adds nothing to the parcel's own count.
    static func nonZero(_ terminalCounts: [TerminalCount]) -> [TerminalCount] {
        let kept = terminalCounts.filter { $0.count > 0 && $0.terminalStatus != TerminalStatus(.accepted) }
        let sorted = kept.sorted {
            $0.terminalStatus.state == $1.terminalStatus.state
                ? $0.terminalStatus.reason.utf8.lexicographicallyPrecedes($1.terminalStatus.reason.utf8)
                : $0.terminalStatus.state.rawValue < $1.terminalStatus.state.rawValue
        }
        var merged: [TerminalCount] = []
        for terminalStatus in sorted {
            if let last = merged.indices.last, merged[last].terminalStatus == terminalStatus.terminalStatus {
                merged[last].count += terminalStatus.count
            } else {
                merged.append(terminalStatus)
            }
        }
        return merged
    }
}

extension HistoryEvent {
    /// The value of the column `state`.
    var state: Int16 {
        switch self {
        case .ended(let terminalStatus): terminalStatus.state.rawValue
        case .goesOn: 0
        }
    }

    var reason: String {
        switch self {
        case .ended(let terminalStatus): terminalStatus.reason
        case .goesOn(let cause): cause.rawValue
        }
    }
}

extension Parameters {
    fileprivate mutating func terminalCounts(_ terminalCounts: [TerminalCount]) {
        int16Array(terminalCounts.map(\.terminalStatus.state.rawValue))
        textArray(terminalCounts.map(\.terminalStatus.reason))
        int64Array(terminalCounts.map { Int64($0.count) })
    }

    mutating func remainders(_ remainders: [Remainder]) {
        int64Array(remainders.map(\.route.value))
        int64Array(remainders.map(\.dueAfter.wholeMicroseconds))
        int16Array(remainders.map(\.attempt))
        int16Array(remainders.map(\.lapses))
        int64Array(remainders.map(\.retrySpent.wholeMicroseconds))
        boolArray(remainders.map(\.answerLost))
        bytesArray(remainders.map { MemberList.encode($0.members.map(\.value)) })
        int32Array(remainders.map { Int32($0.members.count) })
    }

    fileprivate mutating func origins(_ origins: [OriginRejection?]) {
        int64Array(origins.map { $0?.route.value })
        int32Array(origins.map { $0?.generation.value })
        textArray(origins.map { $0?.reason })
        instantArray(origins.map { $0?.until })
        instantArray(origins.map { $0?.asOf })
    }

    mutating func history(_ entries: [HistoryEntry]) {
        int16Array(entries.map(\.event.state))
        textArray(entries.map(\.event.reason))
        int16Array(entries.map(\.attempts))
        int64Array(entries.map { $0.members.first?.value ?? 0 })
        int64Array(entries.map { $0.members.last?.value ?? 0 })
        bytesArray(entries.map { MemberList.encode($0.members.map(\.value)) })
        int32Array(entries.map { Int32($0.members.count) })
    }
}
