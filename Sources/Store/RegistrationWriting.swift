import DeliveryRules
import Postgres
import PushModel

/// A decided batch as statements, and their answer as devices.
struct RegistrationWriting: Sendable {
    private let batch: RegistrationBatch
    private let app: AppID

    init(_ batch: RegistrationBatch, app: AppID) {
        self.batch = batch
        self.app = app
    }

    /// Tokens are released before they are given to others; the pulse comes after the wide rows.
    func queries(now: WallInstant?) -> [Query] {
        var queries: [Query] = []
        if !batch.released.isEmpty { queries.append(release) }
        if !batch.updated.isEmpty { queries.append(update) }
        if !batch.created.isEmpty { queries.append(insert(now: now)) }
        if !batch.beating.isEmpty { queries.append(beat(now: now)) }
        if !batch.unsuspected.isEmpty {
            queries.append(
                Query(RegistrationSQL.forgetSuspicions) { $0.int64Array(batch.unsuspected.map(\.value)) })
        }
        if !batch.told.isEmpty { queries.append(tell(now: now)) }
        return queries
    }

    /// One row for each registration, in their order: its own, or the one that it was stale against.
    var records: Query {
        let decisions = batch.decisions
        return Query(RegistrationSQL.records) { parameters in
            parameters.int64(app.value)
            parameters.array(.text, count: decisions.count) { $1.text(decisions[$0].row.installation) }
            parameters.array(.int16, count: decisions.count) { $1.int16(decisions[$0].row.kind.rawValue) }
        }
    }

    /// - Parameter rows: the answer to `records`.
    func devices(in rows: ResultSet) throws(PostgresError) -> [RegisteredDevice] {
        guard rows.rowCount == batch.decisions.count else {
            throw .unexpectedShape(statement: "registration_records", column: 0)
        }
        var devices: [RegisteredDevice] = []
        devices.reserveCapacity(rows.rowCount)
        for (row, decision) in batch.decisions.enumerated() {
            devices.append(
                RegisteredDevice(
                    change: decision.change, isNew: decision.row.id == nil,
                    record: try DeviceRecord(reading: rows, row: row)))
        }
        return devices
    }

    private var release: Query {
        Query(RegistrationSQL.release) {
            $0.int64Array(batch.released.map { $0.id?.value })
            $0.int32Array(batch.released.map(\.generation.value))
        }
    }

    private var update: Query {
        let entries = batch.updated
        return Query(RegistrationSQL.update) {
            $0.int64Array(entries.map { $0.row.id?.value })
            $0.int64Array(entries.map(\.row.route.value))
            $0.int16Array(entries.map(\.row.provider.rawValue))
            $0.int32Array(entries.map(\.row.generation.value))
            $0.wideColumns(entries)
        }
    }

    private func insert(now: WallInstant?) -> Query {
        let entries = batch.created
        return Query(RegistrationSQL.insert) {
            $0.int64(app.value)
            $0.int64Array(entries.map(\.row.route.value))
            $0.int16Array(entries.map(\.row.provider.rawValue))
            $0.int16Array(entries.map(\.row.kind.rawValue))
            $0.textArray(entries.map(\.row.installation))
            $0.wideColumns(entries)
            $0.int32Array(entries.map { max($0.said.badge ?? 0, 0) })
            $0.instantArray(entries.map(\.said.asOf))
            $0.instant(now)
        }
    }

    private func beat(now: WallInstant?) -> Query {
        Query(RegistrationSQL.beat) {
            $0.int64Array(batch.beating.map { $0.row.id?.value })
            $0.instantArray(batch.beating.map(\.said.asOf))
            $0.instant(now)
        }
    }

    private func tell(now: WallInstant?) -> Query {
        Query(RegistrationSQL.tell) {
            $0.int64Array(batch.told.map(\.registration.value))
            $0.int32Array(batch.told.map(\.generation.value))
            $0.int16Array(batch.told.map(\.provider.rawValue))
            $0.int16Array(batch.told.map(\.verdict.rawValue))
            $0.instant(now)
        }
    }
}

extension Parameters {
    /// token, user, locale, time zone, app version, tags, attributes.
    fileprivate mutating func wideColumns(_ entries: [RegistrationBatch.IncomingRow]) {
        array(.bytes, count: entries.count) { $1.bytes(entries[$0].row.token.bytes) }
        textArray(entries.map(\.row.user))
        textArray(entries.map(\.row.locale))
        textArray(entries.map(\.row.timeZone))
        textArray(entries.map(\.row.appVersion))
        textBytesArray(entries.map { ArrayLiteral.encode($0.row.tags) })
        jsonArray(entries.map { $0.said.attributes.written(clearing: Array("{}".utf8)) })
    }
}

/// PostgreSQL's text form of an array: arrays of arrays can't be unnested by one level.
enum ArrayLiteral {
    static func encode(_ elements: [String]) -> [UInt8] {
        var literal: [UInt8] = [UInt8(ascii: "{")]
        for (place, element) in elements.enumerated() {
            if place > 0 { literal.append(UInt8(ascii: ",")) }
            literal.append(UInt8(ascii: "\""))
            for byte in element.utf8 {
                if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { literal.append(UInt8(ascii: "\\")) }
                literal.append(byte)
            }
            literal.append(UInt8(ascii: "\""))
        }
        literal.append(UInt8(ascii: "}"))
        return literal
    }
}
