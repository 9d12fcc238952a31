import Postgres
import PushModel

extension MessageStore {
    /// How far a message is, counted from its rows in one snapshot; nil: there is no such message.
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

/// The columns of `ProgressSQL.ofMessage` behind those of the account.
private struct ProgressReader {
    private let rows: ResultSet
    private static let first = 26
    private static let (sending, ready): (Int16, Int16) = (1, 2)

    /// Open pushes that are all at the same.
    private struct Group {
        let provider: Provider
        /// 1 and 2, or a wait's.
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
        let heard = try answered()
        let providers = account.providers.map { part in
            let mine = groups.filter { $0.provider == part.provider }
            let why = reasons.filter { $0.provider == part.provider }
            let told = why.map { EndingTotal(ending: $0.ending, count: $0.count) }
            let ended = part.members - part.pending
            let sending = Self.sum(mine) { $0.cause == Self.sending }
            let ready = Self.sum(mine) { $0.cause == Self.ready }
            return ProviderProgress(
                provider: part.provider, sending: sending, ready: ready, waiting: Self.sum(mine) { $0.wait != nil },
                reasons: told, otherReasons: (why.first?.whole ?? 0) - told.reduce(0) { $0 + $1.count },
                // None where all wait.
                pace: sending + ready == 0
                    ? nil
                    : heard.first { $0.provider == part.provider }?.minutes.pace(
                        at: now, ended: ended, begun: account.sendAt ?? account.acceptedAt,
                        isPlanned: account.audience != nil))
        }
        let later = groups.filter { $0.wait?.cause == .later }.map(\.lastDue)
        return MessageProgress(
            account: account, at: now, providers: providers, waits: groups.compactMap(\.wait), lastDue: later.max(),
            walked: try walked())
    }

    private static func sum(_ groups: [Group], _ counts: (Group) -> Bool) -> Int64 {
        groups.reduce(0) { counts($1) ? $0 + $1.pushes : $0 }
    }

    private func until(_ cause: PushWait.Cause, _ first: WallInstant, _ now: WallInstant) -> WallInstant? {
        switch cause {
        case .later: first
        // While it is tried with a few pushes nobody knows.
        case .throttled: first > now ? first : nil
        case .held, .credential, .credentialRefused, .unreachable: nil
        }
    }

    private func groups(at now: WallInstant) throws(PostgresError) -> [Group] {
        let (providers, environments, topics) = (try int16s(2), try int16s(3), try texts(4))
        let (causes, reasons, pushes) = (try int16s(5), try texts(6), try int64s(7))
        let (since, first, last) = (try instants(8), try instants(9), try instants(10))
        var groups: [Group] = []
        for place in causes.indices {
            // A newer program's provider is its to tell of.
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
        let ending: Ending
        let count: Int64
        /// All that ended for a reason at the provider.
        let whole: Int64
    }

    private func reasons() throws(PostgresError) -> [Reason] {
        let (providers, states, words) = (try int16s(11), try int16s(12), try texts(13))
        let (counts, wholes) = (try int64s(14), try int64s(15))
        var reasons: [Reason] = []
        for place in providers.indices {
            guard let provider = Provider(rawValue: providers[place]),
                let state = TerminalState(rawValue: states[place])
            else { continue }
            reasons.append(
                Reason(
                    provider: provider, ending: Ending(state, words[place]), count: counts[place], whole: wholes[place])
            )
        }
        return reasons
    }

    private func answered() throws(PostgresError) -> [(provider: Provider, minutes: AnsweredMinutes)] {
        let minute = try rows.instant(0, Self.first + 1)
        let (providers, dueSince) = (try int16s(16), try instants(20))
        let (this, before, earlier) = (try int64s(17), try int64s(18), try int64s(19))
        var heard: [(provider: Provider, minutes: AnsweredMinutes)] = []
        for place in providers.indices {
            guard let provider = Provider(rawValue: providers[place]) else { continue }
            let minutes = AnsweredMinutes(
                minute: minute, this: this[place], before: before[place], earlier: earlier[place],
                dueSince: dueSince[place])
            heard.append((provider, minutes))
        }
        return heard
    }

    private func walked() throws(PostgresError) -> Double? {
        guard let walked = try rows.int64OrNil(0, Self.first + 21),
            let whole = try rows.int64OrNil(0, Self.first + 22), whole > 0
        else { return nil }
        return min(1, max(0, Double(walked) / Double(whole)))
    }
}
