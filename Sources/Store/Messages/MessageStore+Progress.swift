import Basis
import Model
import Postgres

extension MessageStore {
    /// A message's progress, counted from its rows in one snapshot; nil: there is no such message.
    package func progress(
        app: AppID, id: MessageID, now: WallInstant? = nil
    ) async throws(StoreFault) -> MessageProgress? {
        let query = Query(ProgressSQL.ofMessage) {
            $0.int64(app.value)
            $0.uuid(id.value)
            $0.instant(now)
        }
        let rows = try await translating { () throws(PostgresError) in try await pool.read(query) }
        guard rows.rowCount == 1 else { return nil }
        let account = try Self.account(in: rows, row: 0, isWhole: true)
        do throws(PostgresError) { return try ProgressReader(rows).progress(account) } catch { throw StoreFault(error) }
    }
}

/// Reads the columns of `ProgressSQL.ofMessage` behind those of the account.
private struct ProgressReader {
    private let rows: ResultSet
    private static let first = 26
    private static let (sending, ready): (Int16, Int16) = (1, 2)

    /// Open pushes of one route with the same cause and reason.
    private struct Group {
        let provider: Provider
        /// 1, 2, or a `PushWait.Cause`.
        let cause: Int16
        let lastDue: WallInstant
        let wait: PushWait?
        let pushes: Int64
    }

    init(_ rows: ResultSet) { self.rows = rows }

    private func isNull(_ place: Int) -> Bool { rows.isNull(0, Self.first + place) }
    private func int16s(_ place: Int) throws(PostgresError) -> [Int16] {
        isNull(place) ? [] : try rows.int16Array(0, Self.first + place)
    }
    private func int64s(_ place: Int) throws(PostgresError) -> [Int64] {
        isNull(place) ? [] : try rows.int64Array(0, Self.first + place)
    }
    private func texts(_ place: Int) throws(PostgresError) -> [String] {
        isNull(place) ? [] : try rows.textArray(0, Self.first + place)
    }
    private func instants(_ place: Int) throws(PostgresError) -> [WallInstant] {
        isNull(place) ? [] : try rows.instantArray(0, Self.first + place)
    }

    func progress(_ account: MessageAccount) throws(PostgresError) -> MessageProgress {
        let now = try rows.instant(0, Self.first)
        let groups = try groups(at: now)
        let reasons = try reasons()
        let paces = try paces()
        let providers = account.providers.map { part in
            let own = groups.filter { $0.provider == part.provider }
            let why = reasons.filter { $0.provider == part.provider }
            let found = why.map { TerminalTotal(terminalStatus: $0.terminalStatus, count: $0.count) }
            let sending = Self.sum(own) { $0.cause == Self.sending }
            let ready = Self.sum(own) { $0.cause == Self.ready }
            return ProviderProgress(
                provider: part.provider, sending: sending, ready: ready, waiting: Self.sum(own) { $0.wait != nil },
                reasons: found, otherReasons: (why.first?.whole ?? 0) - found.reduce(0) { $0 + $1.count },
                // There is no pace if all pushes wait.
                pace: sending + ready == 0 ? nil : paces.first { $0.provider == part.provider }?.pace)
        }
        let later = groups.filter { $0.wait?.cause == .later }.map(\.lastDue)
        return MessageProgress(
            account: account, at: now, providers: providers, waits: groups.compactMap(\.wait), lastDue: later.max(),
            scanned: try scanned())
    }

    private static func sum(_ groups: [Group], _ counts: (Group) -> Bool) -> Int64 {
        groups.reduce(0) { counts($1) ? $0 + $1.pushes : $0 }
    }

    private func until(_ cause: PushWait.Cause, _ first: WallInstant, _ now: WallInstant) -> WallInstant? {
        switch cause {
        case .later: first
        // While the circuit breaker is half-open, the end is not known.
        case .throttled: first > now ? first : nil
        case .onHold, .credential, .credentialRefused, .unreachable: nil
        }
    }

    private func groups(at now: WallInstant) throws(PostgresError) -> [Group] {
        let (providers, environments, topics) = (try int16s(1), try int16s(2), try texts(3))
        let (causes, reasons, pushes) = (try int16s(4), try texts(5), try int64s(6))
        let (since, first, last) = (try instants(7), try instants(8), try instants(9))
        var groups: [Group] = []
        for place in causes.indices {
            // A newer program reports its own providers.
            guard let provider = Provider(rawValue: providers[place]),
                let environment = PushEnvironment(rawValue: environments[place])
            else { continue }
            let wait = PushWait.Cause(rawValue: causes[place]).map { cause in
                PushWait(
                    cause: cause, provider: provider, environment: environment, topic: topics[place],
                    pushes: pushes[place], since: cause == .unreachable || cause == .throttled ? since[place] : nil,
                    until: until(cause, first[place], now), reason: reasons[place].isEmpty ? nil : reasons[place])
            }
            groups.append(
                Group(
                    provider: provider, cause: causes[place], lastDue: last[place], wait: wait, pushes: pushes[place]))
        }
        return groups
    }

    private struct Reason {
        let provider: Provider
        let terminalStatus: TerminalStatus
        let count: Int64
        /// All pushes of the provider that ended for a reason.
        let whole: Int64
    }

    private func reasons() throws(PostgresError) -> [Reason] {
        let (providers, states, text) = (try int16s(10), try int16s(11), try texts(12))
        let (counts, wholes) = (try int64s(13), try int64s(14))
        var reasons: [Reason] = []
        for place in providers.indices {
            guard let provider = Provider(rawValue: providers[place]),
                let state = TerminalState(rawValue: states[place])
            else { continue }
            reasons.append(
                Reason(
                    provider: provider, terminalStatus: TerminalStatus(state, text[place]), count: counts[place],
                    whole: wholes[place])
            )
        }
        return reasons
    }

    private func paces() throws(PostgresError) -> [(provider: Provider, pace: Pace?)] {
        let (providers, ended, micros, idle) = (try int16s(15), try int64s(16), try int64s(17), try int64s(18))
        return providers.indices.compactMap { place in
            Provider(rawValue: providers[place]).map {
                ($0, Pace(ended: ended[place], in: .microseconds(micros[place]), idle: .microseconds(idle[place])))
            }
        }
    }

    private func scanned() throws(PostgresError) -> Double? {
        guard let scanned = try rows.int64OrNil(0, Self.first + 19),
            let whole = try rows.int64OrNil(0, Self.first + 20), whole > 0
        else { return nil }
        return min(1, max(0, Double(scanned) / Double(whole)))
    }
}
