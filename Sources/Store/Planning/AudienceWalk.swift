import Basis
import Model
import Postgres

/// A slice of an audience that is read before its message is sent.
struct ReadSlice: Sendable {
    let plan: ClaimedPlan
    let found: FoundMembers
    /// The providers of tokens that the message names and no registration holds. Their ids in `found` are negative.
    let inline: [Provider?]
}

extension MessageStore {
    /// Reads the audience that a message accepted now would have, slice by slice.
    ///
    /// Each slice is a transaction of its own, so that no long one stands. No slice begins when `time` is over.
    ///
    /// - Parameter takes: called with what was read of each slice; false ends the walk.
    /// - Returns: whether every slice was read.
    func walk<Reading: Sendable>(
        _ message: CountedMessage, idsMax: Int, for time: Duration, now: WallInstant?,
        _ read: @escaping @Sendable (ReadSlice, PostgresTransaction) async throws(PostgresError) -> Reading,
        takes: (Reading) -> Bool
    ) async throws(StoreFault) -> Bool {
        let clock = ContinuousClock()
        let (begun, sizes, pool) = (clock.now, SliceSizes(), pool)
        let start = Query(AudienceCountSQL.start) { $0.instant("now", now) }
        let (horizon, acceptedAt) = try await translated(
            await pool.read(start).one { row throws(PostgresError) in (try row.int64(), try row.instant()) })
        var through: Int64 = 0
        while true {
            let plan = ClaimedPlan(counting: message, from: through, to: horizon, acceptedAt: acceptedAt)
            let (slice, reading) = try await translated(
                await pool.transaction(TransactionOptions(isReadOnly: true)) { transaction throws(PostgresError) in
                    let slice = try await plan.slice(idsMax: idsMax, sizes, in: transaction)
                    return (slice, try await read(slice, transaction))
                })
            guard takes(reading) else { return false }
            if slice.found.isLast { return true }
            if clock.now - begun >= time { return false }
            through = slice.found.plannedThrough
        }
    }

    /// Reads when a message at a local hour reaches the first device that its audience has now.
    ///
    /// - Parameter soon: an instant up to which the search ends at the first device found, because an earlier one would
    ///   change nothing.
    /// - Returns: nil: it would reach nobody, or the audience could not be read in `time`.
    package func firstDevice(
        of message: CountedMessage, soon: WallInstant, idsMax: Int = 20_000, for time: Duration = .seconds(2),
        now: WallInstant? = nil
    ) async throws(StoreFault) -> WallInstant? {
        var first: WallInstant?
        let isWhole = try await walk(message, idsMax: idsMax, for: time, now: now) {
            slice, transaction throws(PostgresError) in
            try await slice.plan.local?.first(of: slice.found.ids, in: transaction)
        } takes: {
            if let instant = $0 { first = min(first ?? instant, instant) }
            return first.map { $0 > soon } ?? true
        }
        return isWhole || first.map { $0 <= soon } == true ? first : nil
    }
}

extension ClaimedPlan {
    /// The audience of a message that would be accepted now, above an id.
    fileprivate init(
        counting message: CountedMessage, from plannedThrough: Int64, to horizon: Int64, acceptedAt: WallInstant
    ) {
        (self.message, app, format) = (UniversalID(high: 0, low: 0), message.app.value, 0)
        (service, priority, kind) = (.app, MessageUrgency.bulk.rawValue, message.kind.rawValue)
        (self.plannedThrough, self.horizon, slices) = (plannedThrough, horizon, 0)
        (expiresAt, sentFrom) = (acceptedAt, message.dueAt ?? acceptedAt)
        local = message.localSending.map { LocalSlice(sending: $0, app: message.app.value, acceptedAt: acceptedAt) }
        audience = Audience(
            AudienceText.normalized(message.audience.selection), providers: message.audience.providers,
            kind: message.audience.kind)
    }

    /// Reads the next slice by the statements that cut it.
    fileprivate func slice(
        idsMax: Int, _ sizes: SliceSizes, in transaction: PostgresTransaction
    ) async throws(PostgresError) -> ReadSlice {
        _ = try await transaction.run(Query(PlannerSQL.throughKeys))
        guard audience.isInline else {
            let found = try await find(idsMax: idsMax, sizes, in: transaction)
            return ReadSlice(plan: self, found: found, inline: [])
        }
        let targets = query(idsMax: idsMax).targets
        let tokens = Query(AudienceCountSQL.tokens) {
            $0.int64("app", app)
            $0.int16Array("providers", targets.map(\.provider.rawValue))
            $0.bytesArray("tokens", targets.map(\.token.bytes))
        }
        let holders = try await transaction.run(tokens).map(TokenRow.init)
        let inline = holders.filter { $0.member.id < 0 }.map(\.provider)
        return ReadSlice(plan: self, found: FoundMembers(tokens: holders.map(\.member)), inline: inline)
    }
}

/// A row of `AudienceCountSQL.tokens`.
private struct TokenRow: Sendable {
    let member: Member
    let provider: Provider?

    init(_ row: inout Row) throws(PostgresError) {
        member = Member(id: try row.int64(), route: 0)
        provider = Provider(rawValue: try row.int16())
    }
}
