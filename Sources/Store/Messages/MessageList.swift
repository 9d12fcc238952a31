import Model
import Postgres

/// A page of an app's messages. More may follow a page that is not full, even an empty one.
package struct MessagePage: Equatable, Sendable {
    package let items: [MessageAccount]
    /// The message behind which the next page begins; nil: nothing follows.
    package let next: MessageID?
}

extension MessageStore {
    /// The messages of other states that one page passes.
    package static let listScanMax = 20_000
    /// The open parcels that one page reads. Each adds to its message's account; a page that has read this many ends
    /// there.
    package static let listParcelsMax = 20_000
    /// The most accounts that are read at once. Their number doubles up to here: each may have ten thousand parcels.
    private static let accountsAtOnceMax = 16

    /// Lists messages, the last accepted first, without reasons and providers: those need a query of one message.
    package func list(
        app: AppID, before: MessageID? = nil, limit: Int, state: MessageState? = nil, scanMax: Int = listScanMax,
        parcelsMax: Int = listParcelsMax
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
                $0.int64("app", app.value)
                $0.uuidArray("messages", some.map(\.value))
                $0.int16("state", state?.rawValue)
            }
            let rows = try await translated(
                await pool.read([Query(PlannerSQL.throughKeys), query])[1].map { row throws(PostgresError) in
                    (account: try MessageAccount(&row, isWhole: false), parcels: try row.int64())
                })
            parcels += rows.reduce(0) { $0 + $1.parcels }
            items += rows.map(\.account).sorted { ($0.acceptedAt, $0.id) > ($1.acceptedAt, $1.id) }
            remaining = remaining.dropFirst(some.count)
            atOnce = min(atOnce * 2, Self.accountsAtOnceMax)
        }
        return MessagePage(items: items, next: remaining.isEmpty ? end : ids[remaining.startIndex - 1])
    }

    /// The ids of the page, and the message behind which the next page begins.
    private func listed(
        _ app: AppID, _ before: MessageID?, _ limit: Int, _ state: MessageState?, scanMax: Int
    ) async throws(StoreFault) -> (ids: [MessageID], end: MessageID?) {
        var parameters = Parameters()
        parameters.int64("app", app.value)
        parameters.uuid("before", before?.value)
        parameters.int64("limit", Int64(limit))
        let query: Query
        switch state {
        case nil: query = Query(MessageSQL.list, parameters)
        case .finished:
            parameters.int64("scan_max", Int64(scanMax))
            query = Query(MessageSQL.listFinished, parameters)
        case .some(let state):
            parameters.int16("state", state.rawValue)
            query = Query(MessageSQL.listOfState, parameters)
        }
        let rows = try await translated(
            await pool.read([Query(PlannerSQL.throughKeys), query])[1].map { row throws(PostgresError) in
                (id: MessageID(try row.uuid()), isInPage: try row.bool(), isEnd: try row.bool())
            })
        let end = rows.count == limit ? rows.last : rows.last { $0.isEnd }
        return (rows.filter(\.isInPage).map(\.id), end?.id)
    }
}
