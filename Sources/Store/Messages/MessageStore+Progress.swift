import Basis
import Model
import Postgres

extension MessageStore {
    /// A message's progress, counted from its rows in one snapshot; nil: there is no such message.
    package func progress(
        app: AppID, id: MessageID, now: WallInstant? = nil
    ) async throws(StoreFault) -> MessageProgress? {
        let query = Query(ProgressSQL.ofMessage) {
            $0.message(id, of: app)
            $0.instant("now", now)
        }
        return try await translated(await pool.read(query).first(ProgressRow.init)?.progress)
    }
}

/// The row of `ProgressSQL.ofMessage`.
private struct ProgressRow {
    private let account: MessageAccount
    private let now: WallInstant
    private let groups: [Group]
    private let reasons: [Reason]
    private let paces: [(provider: Provider, pace: Pace?)]
    private let scanned: Double?
    private let planWait: MessageProgress.PlanWait?
    private let stoppedAt: WallInstant?

    /// Open pushes of one route with the same cause and reason.
    private struct Group {
        let provider: Provider
        /// `ProgressSQL.sending` or a `PushWait.Cause`.
        let cause: Int16
        let lastDue: WallInstant
        let wait: PushWait?
        let pushes: Int64
    }

    private struct Reason {
        let provider: Provider
        let total: TerminalTotal
        /// All pushes of the provider that ended for a reason.
        let whole: Int64
    }

    init(_ row: inout Row) throws(PostgresError) {
        account = try MessageAccount(&row, isWhole: true)
        now = try row.instant()
        groups = try Self.groups(&row, at: now)
        reasons = try Self.reasons(&row)
        paces = try Self.paces(&row)
        let (scanned, whole) = (try row.int64OrNil(), try row.int64OrNil() ?? 0)
        self.scanned = whole > 0 ? scanned.map { min(1, max(0, Double($0) / Double(whole))) } : nil
        let (predecessor, setAsideUntil) = (try row.uuidOrNil(), try row.instantOrNil())
        let isQueued = try row.boolOrNil() ?? false
        planWait =
            setAsideUntil.map { .setAside(until: $0) } ?? predecessor.map { .predecessor(MessageID($0)) }
            ?? (isQueued ? .queued : nil)
        stoppedAt = try row.instantOrNil()
    }

    var progress: MessageProgress {
        let providers = account.providers.map { part in
            let own = groups.filter { $0.provider == part.provider }
            let why = reasons.filter { $0.provider == part.provider }
            func pushes(_ fits: (Group) -> Bool) -> Int64 { own.filter(fits).reduce(0) { $0 + $1.pushes } }
            let sending = pushes { $0.cause == ProgressSQL.sending }
            let ready = pushes { $0.wait?.cause.isReady ?? false }
            return ProviderProgress(
                provider: part.provider, sending: sending, ready: ready,
                waiting: pushes { $0.wait.map { !$0.cause.isReady } ?? false }, reasons: why.map(\.total),
                otherReasons: (why.first?.whole ?? 0) - why.reduce(0) { $0 + $1.total.count },
                // There is no pace if all pushes wait.
                pace: sending + ready == 0 ? nil : paces.first { $0.provider == part.provider }?.pace)
        }
        let later = groups.filter { $0.wait?.cause == .later }.map(\.lastDue)
        let waits = groups.compactMap(\.wait)
        return MessageProgress(
            account: account, at: now, providers: providers, waits: waits.filter { !$0.cause.isReady },
            queued: waits.filter(\.cause.isReady), lastDue: later.max(), scanned: scanned, planWait: planWait,
            stoppedAt: stoppedAt)
    }

    private static func until(_ cause: PushWait.Cause, _ first: WallInstant, _ now: WallInstant) -> WallInstant? {
        switch cause {
        case .later: first
        // While the circuit breaker is half-open, the end is not known.
        case .throttled: first > now ? first : nil
        case .onHold, .credential, .credentialRefused, .unreachable, .token, .credentialUnusable, .topicRefused,
            .topicMissing, .newerProgram, .rate, .turn:
            nil
        }
    }

    // Providers and states of a newer program are left out.

    /// Stands for a null in an array of times.
    private static let unknown = WallInstant(secondsSince1970: 0)

    private static func groups(_ row: inout Row, at now: WallInstant) throws(PostgresError) -> [Group] {
        let (providers, environments, topics) = (try row.int16s(), try row.int16s(), try row.texts())
        let (causes, reasons, pushes) = (try row.int16s(), try row.texts(), try row.int64s())
        let (since, first, last) = (try row.instants(), try row.instants(), try row.instants())
        return causes.indices.compactMap { place in
            guard let provider = Provider(rawValue: providers[place]),
                let environment = PushEnvironment(rawValue: environments[place])
            else { return nil }
            let wait = PushWait.Cause(rawValue: causes[place]).map { cause in
                PushWait(
                    cause: cause, provider: provider, environment: environment, topic: topics[place],
                    pushes: pushes[place], since: since[place] == unknown ? nil : since[place],
                    until: until(cause, first[place], now), reason: reasons[place].isEmpty ? nil : reasons[place])
            }
            return Group(
                provider: provider, cause: causes[place], lastDue: last[place], wait: wait, pushes: pushes[place])
        }
    }

    private static func reasons(_ row: inout Row) throws(PostgresError) -> [Reason] {
        let (providers, states, texts) = (try row.int16s(), try row.int16s(), try row.texts())
        let (counts, wholes) = (try row.int64s(), try row.int64s())
        return providers.indices.compactMap { place in
            guard let provider = Provider(rawValue: providers[place]),
                let state = TerminalState(rawValue: states[place])
            else { return nil }
            let status = TerminalStatus(state, texts[place])
            return Reason(
                provider: provider, total: TerminalTotal(terminalStatus: status, count: counts[place]),
                whole: wholes[place])
        }
    }

    private static func paces(_ row: inout Row) throws(PostgresError) -> [(provider: Provider, pace: Pace?)] {
        let providers = try row.int16s()
        let (ended, micros, idle) = (try row.int64s(), try row.int64s(), try row.int64s())
        return providers.indices.compactMap { place in
            Provider(rawValue: providers[place]).map {
                ($0, Pace(ended: ended[place], in: .microseconds(micros[place]), idle: .microseconds(idle[place])))
            }
        }
    }
}

// Arrays of an aggregate, which is null without rows.
extension Row {
    mutating func int16s() throws(PostgresError) -> [Int16] {
        try optional { row throws(PostgresError) in try row.int16Array() } ?? []
    }
    mutating func int64s() throws(PostgresError) -> [Int64] {
        try optional { row throws(PostgresError) in try row.int64Array() } ?? []
    }
    fileprivate mutating func texts() throws(PostgresError) -> [String] {
        try optional { row throws(PostgresError) in try row.textArray() } ?? []
    }
    fileprivate mutating func uuidOrNil() throws(PostgresError) -> UniversalID? {
        try optional { row throws(PostgresError) in try row.uuid() }
    }
    fileprivate mutating func instants() throws(PostgresError) -> [WallInstant] {
        try optional { row throws(PostgresError) in try row.instantArray() } ?? []
    }
}
