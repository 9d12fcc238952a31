import Basis
import Encodings
import Model
import Postgres

/// The failures of a message that a list asks for.
package struct FailureFilter: Equatable, Sendable {
    package let state: TerminalState?
    package let reason: String?
    package init(state: TerminalState? = nil, reason: String? = nil) { (self.state, self.reason) = (state, reason) }
}

/// A page of failures. More may follow a page that is not full, even an empty one.
package struct FailurePage: Equatable, Sendable {
    package let items: [PushFailure]
    /// The position at which the next page begins; nil: this was the last.
    package let next: HistoryCursor?
}

/// A position among the failures of a message. It is opaque to clients.
package struct HistoryCursor: Equatable, Sendable {
    let parcel: Int64
    let settle: Int32
    let place: Int16
    /// The position among the members of that row.
    let position: Int32

    init(parcel: Int64, settle: Int32, place: Int16, position: Int32) {
        precondition(parcel >= 0 && settle >= 0 && place >= 0 && position >= 0)
        (self.parcel, self.settle, self.place, self.position) = (parcel, settle, place, position)
    }

    /// Reads the key of a row of the history.
    init(_ row: inout Row) throws(PostgresError) {
        self.init(parcel: try row.int64(), settle: try row.int32(), place: try row.int16(), position: 0)
    }

    /// The same row, behind this many members.
    func behind(_ count: Int) -> HistoryCursor {
        HistoryCursor(parcel: parcel, settle: settle, place: place, position: Int32(count))
    }

    static let start = HistoryCursor(parcel: 0, settle: 0, place: 0, position: 0)

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
    /// The rows of the history that one page passes.
    package static let failureScanMax = 2_000

    /// A message's pushes that did not end as accepted, from its history, each once, in a stable order; nil: the app
    /// has no such message.
    ///
    /// While a message is being sent, its failures appear anywhere in that order. A list is complete once the message
    /// has finished.
    package func failures(
        app: AppID, id: MessageID, filter: FailureFilter = FailureFilter(), from cursor: HistoryCursor? = nil,
        limit: Int, scanMax: Int = failureScanMax
    ) async throws(StoreFault) -> FailurePage? {
        precondition(limit > 0 && scanMax > 1, "a page has a limit of at least one row and scans at least two")
        let start = cursor ?? .start
        let queries = [
            Query(PlannerSQL.throughKeys), Query(HistorySQL.kind) { $0.message(id, of: app) },
            Query(HistorySQL.failures) {
                $0.uuid("message", id.value)
                $0.int64("parcel", start.parcel)
                $0.int32("settle", start.settle)
                $0.int16("place", start.place)
                $0.int16("state", filter.state?.rawValue)
                $0.text("reason", filter.reason)
                $0.int64("members_max", Int64(start.position) + Int64(limit) + 1)
                $0.int64("scan_max", Int64(scanMax))
                $0.int16Array("providers", Provider.allCases.map(\.rawValue))
            },
        ]
        return try await translating { () throws(PostgresError) in
            let answers = try await pool.read(queries)
            let kind = try answers[1].first { row throws(PostgresError) -> TokenKind in try row.stored() }
            guard let kind else { return nil }
            let found = FoundFailures(try answers[2].map(FailureRow.init), from: start, limit: limit)
            let names = try await FailureNames(of: found.failures, in: id, pool)
            return FailurePage(items: found.failures.map { names.failure($0, of: kind) }, next: found.next)
        }
    }
}

/// A row of `HistorySQL.failures`.
private struct FailureRow {
    let start: HistoryCursor
    let isEnd: Bool
    /// Whether the members are places of names in the message's audience, from 1. Others are registrations, or tokens
    /// that the message named.
    let isNamed: Bool
    /// Empty if the row is not wanted.
    let members: [Int64]
    let provider: Provider?
    let terminalStatus: TerminalStatus
    let attempts: Int16
    let at: WallInstant

    init(_ row: inout Row) throws(PostgresError) {
        start = try HistoryCursor(&row)
        let isWanted = try row.bool()
        (isEnd, isNamed) = (try row.bool(), try row.int64() == 0)
        members = try row.members(column: 6, of: HistorySQL.failures)
        provider = try row.int16OrNil().flatMap(Provider.init)
        let state = TerminalState(rawValue: try row.int16())
        guard state != nil || !isWanted else { throw .unexpectedShape(statement: HistorySQL.failures.name, column: 8) }
        terminalStatus = TerminalStatus(state ?? .accepted, try row.text())
        (attempts, at) = (try row.int16(), try row.instant())
    }
}

/// Rows of the history, split into their members.
private struct FoundFailures {
    private(set) var failures: [(member: Int64, row: FailureRow)] = []
    private(set) var next: HistoryCursor?

    init(_ rows: [FailureRow], from start: HistoryCursor, limit: Int) {
        for row in rows {
            let isStart = row.start.behind(Int(start.position)) == start
            for (position, member) in row.members.enumerated().dropFirst(isStart ? Int(start.position) : 0) {
                guard failures.count < limit else {
                    next = row.start.behind(position)
                    return
                }
                failures.append((member, row))
            }
            if row.isEnd { next = row.start.behind(row.members.count) }
        }
    }
}

/// The names of a page's failures, as far as they are still known, and what the providers said about their reasons.
private struct FailureNames {
    private let installations: [Int64: String]  // lookup only
    private let tokens: [Int64: DeviceToken]  // lookup only
    private let selection: Audience.Selection?
    private let details: ReasonDetails

    init(
        of failures: [(member: Int64, row: FailureRow)], in message: MessageID, _ pool: PostgresPool
    ) async throws(PostgresError) {
        let members = failures.filter { !$0.row.isNamed }.map(\.member).sorted()
        var queries = [
            Query(HistorySQL.names) { $0.int64Array("members", members) },
            Query(HistorySQL.tokens) {
                $0.int64Array("members", members)
                $0.uuid("message", message.value)
            },
            Query(HistorySQL.details) { $0.uuid("message", message.value) },
        ]
        // The audience may hold some megabytes of names.
        if members.count < failures.count {
            queries.append(Query(HistorySQL.audience) { $0.uuid("message", message.value) })
        }
        let answers = try await pool.run(queries)
        let named = try answers[0].map { row throws(PostgresError) in (try row.int64(), try row.text()) }
        installations = Dictionary(named) { $1 }
        let inline = try answers[1].map { row throws(PostgresError) in
            (try row.int64(), DeviceToken(bytes: try row.bytes()))
        }
        tokens = Dictionary(inline) { $1 }
        details = try ReasonDetails(answers[2])
        let audience = try answers.dropFirst(3).first?.first { row throws(PostgresError) in try row.bytesOrNil() }
        selection = (audience ?? nil).flatMap(AudienceText.decode)?.selection
    }

    func failure(_ failure: (member: Int64, row: FailureRow), of kind: TokenKind) -> PushFailure {
        let (member, row) = failure
        var name: (installation: String?, user: String?) = (row.isNamed ? nil : installations[member], nil)
        if row.isNamed {
            let place = Int(clamping: member) - 1
            switch selection {
            case .installations(let names)? where names.indices.contains(place): name.installation = names[place]
            case .users(let names)? where names.indices.contains(place): name.user = names[place]
            case .all?, .installations?, .users?, .tags?, .filter?, .stale?, .tokens?, .subscribers?, .revoked?,
                .itemSubscribers?, nil:
                break
            }
        }
        return PushFailure(
            installation: name.installation, user: name.user, token: row.isNamed ? nil : tokens[member], kind: kind,
            provider: row.provider, terminalStatus: row.terminalStatus, detail: details[row.terminalStatus], at: row.at,
            attempts: row.attempts)
    }
}

/// The answer to `HistorySQL.details`.
struct ReasonDetails: Sendable {
    private var texts: [TerminalStatus: String] = [:]  // lookup only

    init(_ answer: ResultSet) throws(PostgresError) {
        let rows = try answer.map { row throws(PostgresError) in
            (state: TerminalState(rawValue: try row.int16()), reason: try row.text(), text: try row.text())
        }
        for row in rows {
            if let state = row.state { texts[TerminalStatus(state, row.reason)] = row.text }
        }
    }

    subscript(status: TerminalStatus) -> String? { texts[status] }
}

extension Row {
    /// Decodes a list of members, in the form that parcels and their history store. Returns the ids of registrations.
    ///
    /// - Parameters:
    ///   - column: the column's place in the row, from 0, for the fault if it holds no such list.
    ///   - statement: the statement that read the row, for the same.
    package mutating func members(column: Int, of statement: Statement) throws(PostgresError) -> [Int64] {
        guard let members = try? MemberList.decode(bytes()) else {
            throw .unexpectedShape(statement: statement.name, column: column)
        }
        return members
    }
}
