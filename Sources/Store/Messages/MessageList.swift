import Model
import Postgres

/// Some of an app's messages. There may be more behind a page that is not full, even behind an empty one.
package struct MessagePage: Equatable, Sendable {
    package let items: [MessageAccount]
    /// Below which the next page begins; nil: nothing follows.
    package let next: MessageID?
}

extension MessageStore {
    /// Messages of another state that one page passes.
    static let listScanMax = 20_000
    /// Of open parcels, each of which says what it has to its message's account: a page that has read so many ends there.
    static let listParcelsMax = 20_000
    /// From one to the next twice as many are read at once, up to so many: each may have ten thousand parcels.
    private static let accountsAtOnceMax = 16

    /// Newest first. Without reasons and providers: those are a look at one message.
    package func list(
        app: AppID, before: MessageID? = nil, limit: Int, state: MessageState? = nil
    ) async throws(StoreFault) -> MessagePage {
        try await list(
            app: app, before: before, limit: limit, state: state, scanMax: Self.listScanMax,
            parcelsMax: Self.listParcelsMax)
    }

    package func list(
        app: AppID, before: MessageID? = nil, limit: Int, state: MessageState? = nil, scanMax: Int, parcelsMax: Int
    ) async throws(StoreFault) -> MessagePage {
        precondition(limit > 0 && scanMax > 0 && parcelsMax > 0)
        let (ids, end) = try await listed(app, before, limit, state, scanMax: scanMax)
        var items: [MessageAccount] = []
        var remaining = ids[...]
        var parcels: Int64 = 0
        var atOnce = 1
        while !remaining.isEmpty, parcels < parcelsMax {
            let some = remaining.prefix(atOnce)
            let query = Query(MessageSQL.accounts) {
                $0.int64(app.value)
                $0.uuidArray(some.map(\.value))
                $0.int16(state?.rawValue)
            }
            let rows = try await translating { () throws(PostgresError) in
                try await pool.read([Query(PlannerSQL.throughKeys), query])[1]
            }
            do throws(PostgresError) {
                for row in 0..<rows.rowCount { parcels += try rows.int64(row, MessageSQL.parcelsColumn) }
            } catch { throw StoreFault(error) }
            var accounts: [MessageAccount] = []
            for row in 0..<rows.rowCount { accounts.append(try Self.account(in: rows, row: row, isWhole: false)) }
            items += accounts.sorted { $0.id > $1.id }
            remaining = remaining.dropFirst(some.count)
            atOnce = min(atOnce * 2, Self.accountsAtOnceMax)
        }
        return MessagePage(items: items, next: remaining.isEmpty ? end : ids[remaining.startIndex - 1])
    }

    /// Whose page it is, and below which the next one begins.
    private func listed(
        _ app: AppID, _ before: MessageID?, _ limit: Int, _ state: MessageState?, scanMax: Int
    ) async throws(StoreFault) -> (ids: [MessageID], end: MessageID?) {
        var parameters = Parameters()
        parameters.int64(app.value)
        parameters.uuid(before?.value)
        parameters.int64(Int64(limit))
        let query: Query
        switch state {
        case nil: query = Query(MessageSQL.list, parameters)
        case .finished:
            parameters.int64(Int64(scanMax))
            query = Query(MessageSQL.listFinished, parameters)
        case .some(let state):
            parameters.int16(state.rawValue)
            query = Query(MessageSQL.listOfState, parameters)
        }
        return try await translating { () throws(PostgresError) in
            let rows = try await pool.read([Query(PlannerSQL.throughKeys), query])[1]
            var ids: [MessageID] = []
            var end: MessageID?
            for row in 0..<rows.rowCount {
                let id = MessageID(try rows.uuid(row, 0))
                if try rows.bool(row, 1) { ids.append(id) }
                if try rows.bool(row, 2) || row + 1 == limit { end = id }
            }
            return (ids, end)
        }
    }
}
