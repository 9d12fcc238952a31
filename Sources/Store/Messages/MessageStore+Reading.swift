import Basis
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
        let query = Query(MessageSQL.account) {
            $0.int64(app.value)
            $0.uuid(id.value)
        }
        let rows = try await translating { () throws(PostgresError) in try await pool.read(query) }
        guard rows.rowCount == 1 else { return nil }
        return try Self.account(in: rows, row: 0, isWhole: true)
    }

    /// The contents of messages, one for each id, in their order. It is nil if there is no such message, or retention
    /// removed its content. A row that makes no sense fails its own message only.
    package func contents(_ ids: [MessageID]) async throws(StoreFault) -> [Result<StoredMessage?, StoreFault>] {
        let query = Query(MessageSQL.contents) { $0.uuidArray(ids.map(\.value)) }
        let rows = try await translating { () throws(PostgresError) in
            try await pool.read([Query(PlannerSQL.throughKeys), query])[1]
        }
        var found: [MessageID: Result<StoredMessage?, StoreFault>] = [:]  // lookup only
        do throws(PostgresError) {
            for row in 0..<rows.rowCount {
                let id = MessageID(try rows.uuid(row, 6))
                do throws(PostgresError) { found[id] = .success(try Self.stored(id, in: rows, row: row)) } catch {
                    found[id] = .failure(StoreFault(error))
                }
            }
        } catch { throw StoreFault(error) }
        return ids.map { found[$0] ?? .success(nil) }
    }

    private static func stored(
        _ id: MessageID, in rows: ResultSet, row: Int
    ) throws(PostgresError) -> StoredMessage {
        let urgency = MessageUrgency(rawValue: try rows.int16(row, 2))
        let kind = TokenKind(rawValue: try rows.int16(row, 3))
        guard let urgency, let kind else { throw .unexpectedShape(statement: "message_content", column: 2) }
        return StoredMessage(
            id: id, app: AppID(try rows.int64(row, 0)), format: try rows.int16(row, 1), urgency: urgency, kind: kind,
            expiresAt: try rows.instant(row, 4), content: try rows.bytes(row, 5))
    }

    /// The app's status, which decides whether a message is accepted. Open messages of its urgency are counted up to a
    /// limit.
    package func status(
        of app: AppID, _ urgency: MessageUrgency, countingTo limit: Int
    ) async throws(StoreFault) -> AppStatus {
        let query = Query(MessageSQL.status) {
            $0.int64(app.value)
            $0.int64(Int64(limit))
            $0.int16Array(Provider.allCases.map(\.rawValue))
            $0.int16(urgency.rawValue)
        }
        return try await translating { () throws(PostgresError) in
            // Without `throughKeys`, each limit would be planned anew, which takes longer than counting.
            let rows = try await pool.read([Query(PlannerSQL.throughKeys), query])[1]
            return AppStatus(
                openMessages: Int(try rows.int64(0, 0)),
                providers: try rows.int16Array(0, 1).compactMap(Provider.init(rawValue:)))
        }
    }

    static func account(
        in rows: ResultSet, row: Int, isWhole: Bool
    ) throws(StoreFault) -> MessageAccount {
        do throws(PostgresError) {
            guard let state = MessageState(rawValue: try rows.int16(row, 1)) else {
                throw .unexpectedShape(statement: "message_account", column: 1)
            }
            let first = rows.columnCount - MessageSQL.formColumnCount
            var outcomes: [Int64] = []
            for column in 7...13 { outcomes.append(try rows.int64(row, column)) }
            return MessageAccount(
                id: MessageID(try rows.uuid(row, 0)), state: state, acceptedAt: try rows.instant(row, 2),
                expiresAt: try rows.instant(row, 3), finishedAt: try rows.instantOrNil(row, 4),
                audience: try rows.int64OrNil(row, 5), outcomes: outcomes, pending: try rows.int64(row, 6),
                reasons: isWhole ? try reasons(in: rows, row: row) : [],
                providers: isWhole ? try providers(in: rows, row: row) : [], form: try form(in: rows, row: row),
                sendAt: try rows.instantOrNil(row, first + 4),
                localHour: try rows.instantOrNil(row, first + 3).map { LocalHour(inUTC: $0) },
                ratePerSecond: try rows.int32OrNil(row, first + 5))
        } catch { throw StoreFault(error) }
    }

    /// Returns nil if a newer program wrote the push type.
    private static func form(in rows: ResultSet, row: Int) throws(PostgresError) -> MessageForm? {
        let first = rows.columnCount - MessageSQL.formColumnCount
        guard let pushType = try rows.int16OrNil(row, first).flatMap(PushType.init),
            let asked = try rows.textBytesOrNil(row, first + 2)
        else { return nil }
        return MessageForm(
            pushType: pushType, isDryRun: try rows.bool(row, first + 1), asked: JSONText(bytes: asked))
    }

    private static func reasons(in rows: ResultSet, row: Int) throws(PostgresError) -> [TerminalTotal] {
        let states = try rows.int16Array(row, 14)
        let names = try rows.textArray(row, 15)
        let counts = try rows.int64Array(row, 16)
        var totals: [TerminalTotal] = []
        for (place, number) in states.enumerated() {
            guard let state = TerminalState(rawValue: number), place < names.count, place < counts.count else {
                throw .unexpectedShape(statement: "message_account", column: 14)
            }
            totals.append(TerminalTotal(terminalStatus: TerminalStatus(state, names[place]), count: counts[place]))
        }
        return totals
    }

    /// The accounts of the providers that this program knows, without a newer program's.
    private static func providers(in rows: ResultSet, row: Int) throws(PostgresError) -> [ProviderAccount] {
        if rows.isNull(row, 17) { return [] }
        let numbers = try rows.int16Array(row, 17)
        let pending = try rows.int64Array(row, 18)
        var counts: [[Int64]] = []
        for column in 19...25 { counts.append(try rows.int64Array(row, column)) }
        var accounts: [ProviderAccount] = []
        for (place, number) in numbers.enumerated() {
            guard let provider = Provider(rawValue: number) else { continue }
            accounts.append(
                ProviderAccount(provider: provider, outcomes: counts.map { $0[place] }, pending: pending[place]))
        }
        return accounts
    }
}
