import Basis
import Content
import Model
import Postgres

/// A message's content, as a sender needs it.
package struct StoredMessage: Equatable, Sendable {
    package let id: MessageID
    package let app: AppID
    package let format: Int16
    package let urgency: MessageUrgency
    package let kind: TokenKind
    package let expiresAt: WallInstant
    package let content: [UInt8]
}

extension MessageStore {
    /// A message's account in one snapshot: what was folded into the message plus what its open parcels say.
    package func account(app: AppID, id: MessageID) async throws(StoreFault) -> MessageAccount? {
        let query = Query(MessageSQL.account) { $0.message(id, of: app) }
        return try await translated(
            await pool.read(query).first { row throws(PostgresError) in try MessageAccount(&row, isWhole: true) })
    }

    /// The contents of messages, one for each id, in their order. It is nil if there is no such message, or retention
    /// removed its content. A row that makes no sense fails its own message only.
    package func contents(_ ids: [MessageID]) async throws(StoreFault) -> [Result<StoredMessage?, StoreFault>] {
        let query = Query(MessageSQL.contents) { $0.uuidArray("messages", ids.map(\.value)) }
        let found = try await translating { () throws(PostgresError) in
            let rows = try await pool.read([Query(PlannerSQL.throughKeys), query])[1]
            var found: [MessageID: Result<StoredMessage?, StoreFault>] = [:]  // lookup only
            for place in 0..<rows.rowCount {
                var row = rows.row(place)
                let id = MessageID(try row.uuid())
                do throws(PostgresError) { found[id] = .success(try StoredMessage(&row, id)) } catch {
                    found[id] = .failure(StoreFault(error))
                }
            }
            return found
        }
        return ids.map { found[$0] ?? .success(nil) }
    }

    /// The app's status, which decides whether a message is accepted. Open messages of its urgency are counted up to a
    /// limit.
    package func status(
        of app: AppID, _ urgency: MessageUrgency, countingTo limit: Int
    ) async throws(StoreFault) -> AppStatus {
        let query = Query(MessageSQL.status) {
            $0.int64("app", app.value)
            $0.int64("limit", Int64(limit))
            $0.int16Array("providers", Provider.allCases.map(\.rawValue))
            $0.int16("priority", urgency.rawValue)
        }
        return try await translating { () throws(PostgresError) in
            // Without `throughKeys`, each limit would be planned anew, which takes longer than counting.
            try await pool.read([Query(PlannerSQL.throughKeys), query])[1].one { row throws(PostgresError) in
                AppStatus(openMessages: Int(try row.int64()), providers: try row.int16Array().compactMap(Provider.init))
            }
        }
    }
}

extension StoredMessage {
    fileprivate init(_ row: inout Row, _ id: MessageID) throws(PostgresError) {
        self.id = id
        (app, format, urgency) = (AppID(try row.int64()), try row.int16(), try row.stored())
        (kind, expiresAt, content) = (try row.stored(), try row.instant(), try row.bytes())
    }
}

extension MessageAccount {
    /// Reads `MessageSQL.wholeColumns`, or without the reasons and providers `MessageSQL.columns`.
    init(_ row: inout Row, isWhole: Bool) throws(PostgresError) {
        let (id, state) = (MessageID(try row.uuid()), try row.stored() as MessageState)
        let (acceptedAt, expiresAt, finishedAt) = (try row.instant(), try row.instant(), try row.instantOrNil())
        let (audience, pending) = (try row.int64OrNil(), try row.int64())
        var outcomes: [Int64] = []
        for _ in TerminalState.allCases { outcomes.append(try row.int64()) }
        // A newer program may have written the push type.
        let (pushType, isDryRun) = (PushType(rawValue: try row.int16()), try row.bool())
        let asked = JSONText(bytes: try row.textBytes())
        let form = pushType.map { MessageForm(pushType: $0, isDryRun: isDryRun, asked: asked) }
        let localHour = try row.instantOrNil().map(LocalHour.init(inUTC:))
        let (sendAt, ratePerSecond) = (try row.instantOrNil(), try row.int32OrNil())
        let label = try MessageLabel(&row, asked: asked)
        self.init(
            id: id, state: state, acceptedAt: acceptedAt, expiresAt: expiresAt, finishedAt: finishedAt,
            audience: audience, outcomes: outcomes, pending: pending, reasons: isWhole ? try .init(totals: &row) : [],
            providers: isWhole ? try .init(parts: &row) : [], form: form, sendAt: sendAt, localHour: localHour,
            ratePerSecond: ratePerSecond)
        self.label = label
    }
}

extension MessageLabel {
    /// Reads the last columns of `MessageSQL.columns`.
    fileprivate init(_ row: inout Row, asked: JSONText) throws(PostgresError) {
        self.init(name: try row.textOrNil(), author: try row.textOrNil())
        texts = try row.bytesOrNil().map { StoredContent.excerpt($0).map { [$0] } ?? [] }
        audience = try row.bytesOrNil().flatMap { AudienceText.decode($0, asked: asked) }
    }
}

extension [TerminalTotal] {
    fileprivate init(totals row: inout Row) throws(PostgresError) {
        let (states, names, counts) = (try row.int16Array(), try row.textArray(), try row.int64Array())
        let details = try row.textArray()
        self = []
        for place in states.indices {
            guard let state = TerminalState(rawValue: states[place]) else {
                throw .unexpectedShape(statement: MessageSQL.account.name, column: 24)
            }
            append(
                TerminalTotal(
                    terminalStatus: TerminalStatus(state, names[place]), count: counts[place],
                    detail: details[place].isEmpty ? nil : details[place]))
        }
    }
}

extension [ProviderAccount] {
    /// Reads the accounts of the providers that this program knows, without a newer program's.
    fileprivate init(parts row: inout Row) throws(PostgresError) {
        let (numbers, pending) = (try row.int16s(), try row.int64s())
        var outcomes: [[Int64]] = []
        for _ in TerminalState.allCases { outcomes.append(try row.int64s()) }
        self = numbers.enumerated().compactMap { place, number in
            Provider(rawValue: number).map { provider in
                ProviderAccount(provider: provider, outcomes: outcomes.map { $0[place] }, pending: pending[place])
            }
        }
    }
}
