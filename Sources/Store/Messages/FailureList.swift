import Basis
import Encodings
import Model
import Postgres

/// The failures of a message that a list asks for.
package struct FailureFilter: Equatable, Sendable {
    package let state: TerminalState?
    package let reason: String?
    package init(state: TerminalState? = nil, reason: String? = nil) {
        self.state = state
        self.reason = reason
    }
}

/// A page of failures. More may follow a page that is not full, even an empty one.
package struct FailurePage: Equatable, Sendable {
    package let items: [PushFailure]
    /// The position at which the next page begins; nil: this was the last.
    package let next: FailureCursor?
}

/// A position among the failures of a message. It is opaque to clients.
package struct FailureCursor: Equatable, Sendable {
    let parcel: Int64
    let settle: Int32
    let place: Int16
    /// The position among the members of that row.
    let position: Int32

    init(parcel: Int64, settle: Int32, place: Int16, position: Int32) {
        precondition(parcel >= 0 && settle >= 0 && place >= 0 && position >= 0)
        self.parcel = parcel
        self.settle = settle
        self.place = place
        self.position = position
    }

    /// The same row, behind this many members.
    func behind(_ count: Int) -> FailureCursor {
        FailureCursor(parcel: parcel, settle: settle, place: place, position: Int32(count))
    }

    static let start = FailureCursor(parcel: 0, settle: 0, place: 0, position: 0)

    /// The largest position in a row. No row has more members, and a forged position reads few in vain.
    private static let positionMax: Int32 = 1 << 16

    /// nil: the text is no cursor of ours.
    package init?(text: String) {
        guard text.utf8.count == 48, let bytes = Hexadecimal.decode(text) else { return nil }
        func word(_ start: Int) -> UInt64 { bytes[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) } }
        guard let parcel = Int64(exactly: word(0)), let settle = Int32(exactly: word(8) >> 32),
            let place = Int16(exactly: word(8) & 0xffff_ffff), let position = Int32(exactly: word(16)),
            position <= Self.positionMax
        else { return nil }
        self.init(parcel: parcel, settle: settle, place: place, position: position)
    }

    package var text: String {
        var bytes: [UInt8] = []
        Hexadecimal.append(UInt64(parcel), to: &bytes)
        Hexadecimal.append(UInt64(settle) << 32 | UInt64(place), to: &bytes)
        Hexadecimal.append(UInt64(position), to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension MessageStore {
    /// A message's pushes that did not end as accepted, from its history, each once, in a stable order; nil: the app
    /// has no such message.
    ///
    /// While a message is being sent, its failures appear anywhere in that order. A list is complete once the message
    /// has finished.
    package func failures(
        app: AppID, id: MessageID, filter: FailureFilter = FailureFilter(), from cursor: FailureCursor? = nil,
        limit: Int
    ) async throws(StoreFault) -> FailurePage? {
        try await failures(app: app, id: id, filter: filter, from: cursor, limit: limit, scanMax: Self.failureScanMax)
    }

    /// The rows of the history that one page passes.
    private static let failureScanMax = 2_000

    package func failures(
        app: AppID, id: MessageID, filter: FailureFilter, from cursor: FailureCursor?, limit: Int, scanMax: Int
    ) async throws(StoreFault) -> FailurePage? {
        precondition(limit > 0 && scanMax > 1, "a page has a limit of at least one row and scans at least two")
        let start = cursor ?? .start
        let queries = [
            Query(PlannerSQL.throughKeys),
            Query(HistorySQL.kind) {
                $0.int64(app.value)
                $0.uuid(id.value)
            },
            Query(HistorySQL.failures) {
                $0.uuid(id.value)
                $0.int64(start.parcel)
                $0.int32(start.settle)
                $0.int16(start.place)
                $0.int16(filter.state?.rawValue)
                $0.text(filter.reason)
                $0.int64(Int64(start.position) + Int64(limit) + 1)
                $0.int64(Int64(scanMax))
                $0.int16Array(Provider.allCases.map(\.rawValue))
            },
        ]
        let pool = pool
        return try await translating { () throws(PostgresError) in
            let answers = try await pool.read(queries)
            guard answers[1].rowCount == 1 else { return nil }
            guard let kind = TokenKind(rawValue: try answers[1].int16(0, 0)) else {
                throw .unexpectedShape(statement: "history_kind", column: 0)
            }
            let found = try FoundFailures(reading: answers[2], from: start, limit: limit)
            let names = try await FailureNames(of: found, in: id, pool)
            return FailurePage(items: found.items(of: kind, names), next: found.next)
        }
    }
}

/// Rows of the history, split into their members.
private struct FoundFailures {
    private struct Found {
        let subject: Subject
        let provider: Provider?
        let terminalStatus: TerminalStatus
        let at: WallInstant
        let attempts: Int16
    }

    enum Subject {
        /// A registration, or a token that the message named.
        case member(Int64)
        /// The place of a name in the message's audience, from 1.
        case named(Int64)
    }

    private var failures: [Found] = []
    private(set) var next: FailureCursor?

    var subjects: [Subject] { failures.map(\.subject) }

    init(reading rows: ResultSet, from start: FailureCursor, limit: Int) throws(PostgresError) {
        for row in 0..<rows.rowCount {
            let here = FailureCursor(
                parcel: try rows.int64(row, 0), settle: try rows.int32(row, 1), place: try rows.int16(row, 2),
                position: 0)
            let (fits, isEnd) = (try rows.bool(row, 10), try rows.bool(row, 11))
            if isEnd, !fits { next = here }
            guard fits else { continue }
            let isStart = here.parcel == start.parcel && here.settle == start.settle && here.place == start.place
            guard let state = TerminalState(rawValue: try rows.int16(row, 4)) else {
                throw .unexpectedShape(statement: "history_failures", column: 4)
            }
            let isNamed = try rows.int64(row, 9) == 0
            let provider = try rows.int16OrNil(row, 3).flatMap(Provider.init)
            let terminalStatus = TerminalStatus(state, try rows.text(row, 5))
            let attempts = try rows.int16(row, 6)
            let at = try rows.instant(row, 7)
            let members = try rows.members(row, 8, of: "history_failures")
            for position in members.indices.dropFirst(isStart ? Int(start.position) : 0) {
                guard failures.count < limit else {
                    next = here.behind(position)
                    return
                }
                failures.append(
                    Found(
                        subject: isNamed ? .named(members[position]) : .member(members[position]), provider: provider,
                        terminalStatus: terminalStatus, at: at, attempts: attempts))
            }
            if isEnd { next = here.behind(members.count) }
        }
    }

    func items(of kind: TokenKind, _ names: FailureNames) -> [PushFailure] {
        failures.map { found in
            let (installation, user, token) = names.name(of: found.subject)
            return PushFailure(
                installation: installation, user: user, token: token, kind: kind, provider: found.provider,
                terminalStatus: found.terminalStatus, at: found.at, attempts: found.attempts)
        }
    }
}

/// The names of a page's failures, as far as they are still known.
private struct FailureNames {
    private var installations: [Int64: String] = [:]
    private var tokens: [Int64: DeviceToken] = [:]
    private var selection: Audience.Selection?

    init(of found: FoundFailures, in message: MessageID, _ pool: PostgresPool) async throws(PostgresError) {
        var members: [Int64] = []
        var namesSomebody = false
        for subject in found.subjects {
            switch subject {
            case .member(let id): members.append(id)
            case .named: namesSomebody = true
            }
        }
        members.sort()
        let sorted = members
        var queries = [
            Query(HistorySQL.names) { $0.int64Array(sorted) },
            Query(HistorySQL.tokens) {
                $0.int64Array(sorted)
                $0.uuid(message.value)
            },
        ]
        // The audience may hold some megabytes of names.
        if namesSomebody { queries.append(Query(HistorySQL.audience) { $0.uuid(message.value) }) }
        let answers = try await pool.run(queries)
        for row in 0..<answers[0].rowCount {
            installations[try answers[0].int64(row, 0)] = try answers[0].text(row, 1)
        }
        for row in 0..<answers[1].rowCount {
            tokens[try answers[1].int64(row, 0)] = DeviceToken(bytes: try answers[1].bytes(row, 1))
        }
        if namesSomebody, answers[2].rowCount == 1 {
            selection = try answers[2].bytesOrNil(0, 0).flatMap(AudienceText.decode)?.selection
        }
    }

    func name(of subject: FoundFailures.Subject) -> (installation: String?, user: String?, token: DeviceToken?) {
        switch subject {
        case .member(let id): (installations[id], nil, tokens[id])
        case .named(let place): named(Int(clamping: place) - 1)
        }
    }

    private func named(_ place: Int) -> (installation: String?, user: String?, token: DeviceToken?) {
        switch selection {
        case .installations(let names)? where names.indices.contains(place): (names[place], nil, nil)
        case .users(let names)? where names.indices.contains(place): (nil, names[place], nil)
        case .all?, .installations?, .users?, .tags?, .filter?, .stale?, .tokens?, nil: (nil, nil, nil)
        }
    }
}

extension ResultSet {
    /// Decodes a list of members, in the form that parcels and their history store.
    func members(_ row: Int, _ column: Int, of statement: String) throws(PostgresError) -> [Int64] {
        guard let members = try? MemberList.decode(bytes(row, column)) else {
            throw .unexpectedShape(statement: statement, column: column)
        }
        return members
    }
}
