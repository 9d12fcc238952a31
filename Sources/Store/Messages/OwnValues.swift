import Basis
import Encodings
import Model
import Postgres

extension Query {
    /// The chunks of one query: a megabyte.
    private static let ownValueChunksMax = 16

    /// The queries that write the members' own values of messages, after the messages themselves.
    static func writing(ownValuesOf drafts: [MessageDraft]) -> [Query] {
        let chunks = drafts.flatMap { draft -> [(message: NewMessage, chunk: OwnValueChunk)] in
            guard let values = draft.ownValues, let cut = draft.cut else { return [] }
            return OwnValueChunk.chunks(of: cut.found.ids, values).map { (draft.message, $0) }
        }
        return stride(from: 0, to: chunks.count, by: ownValueChunksMax).map { start in
            let some = chunks[start..<min(start + ownValueChunksMax, chunks.count)]
            return Query(OwnValueSQL.write) {
                $0.uuidArray("messages", some.map(\.message.id.value))
                $0.int64Array("apps", some.map(\.message.app.value))
                $0.int64Array("first_members", some.map(\.chunk.first))
                $0.int64Array("last_members", some.map(\.chunk.last))
                $0.bytesArray("members", some.map(\.chunk.encodedMembers))
                $0.bytesArray("value_bytes", some.map(\.chunk.encodedValues))
            }
        }
    }
}

/// A receiver of a message, with the value that the message carries for it alone.
package struct ValuedReceiver: Equatable, Sendable {
    package let registration: RegistrationID
    package let route: RouteID
    /// UTF-8, within `OwnValueLimits.bytesMax`. Empty: it has none.
    package let value: [UInt8]

    package init(_ registration: RegistrationID, on route: RouteID, value: [UInt8]) {
        (self.registration, self.route, self.value) = (registration, route, value)
    }
}

extension MessageStore {
    /// Writes a message of the gateway's own to known receivers, as parcels that any process may lease.
    /// - Parameter receivers: in any order, each once.
    package func write(
        _ message: NewMessage, to receivers: [ValuedReceiver], parcelMembersMax: Int, now: WallInstant? = nil
    ) async throws(StoreFault) -> WrittenParcels {
        let members = receivers.map { Member(id: $0.registration.value, route: $0.route.value) }
        let draft = MessageDraft(
            message, to: members, ownValues: receivers.map(\.value), parcelMembersMax: parcelMembersMax)
        let written = try await translated(
            await pool.retryingTransaction { transaction throws(PostgresError) -> WrittenParcels in
                var writer = MessageWriter([draft], now: now)
                return try await writer.write(beside: [], in: transaction)
            })
        if !written.ready.isEmpty { notifier.notify(.parcels) }
        return written
    }
}
