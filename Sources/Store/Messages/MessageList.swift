import Model
import Postgres

/// A page of an app's messages. More may follow a page that is not full, even an empty one.
package struct MessagePage: Equatable, Sendable {
    package let items: [MessageAccount]
    /// The id below which the next page begins; nil: nothing follows.
    package let next: MessageID?
}

extension MessageStore {
    /// The messages of other states that one page passes.
    static let listScanMax = 20_000
    /// The open parcels that one page reads. Each adds to its message's account; a page that has read this many ends
    /// there.
    static let listParcelsMax = 20_000
    /// The most accounts that are read at once. Their number doubles up to here: each may have ten thousand parcels.
    private static let accountsAtOnceMax = 16

    /// Lists messages, newest first, without reasons and providers: those need a query of one message.
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

    /// The ids of the page, and the id below which the next page begins.
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
