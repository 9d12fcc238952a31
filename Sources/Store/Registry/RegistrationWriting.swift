import Basis
import Model
import Postgres
import RegistryRules

/// The statements that write a decided batch, and the devices in their answers.
struct RegistrationWriting: Sendable {
    private let batch: RegistrationBatch
    private let app: AppID
    private let snapshot: RegistrationSnapshot
    /// Whether the rows found and written tell the result, so that nothing has to be read again.
    private let isAnsweredByWrites: Bool

    /// - Parameter snapshot: the state that the batch was decided against.
    init(_ batch: RegistrationBatch, on snapshot: RegistrationSnapshot, app: AppID) {
        self.batch = batch
        self.app = app
        self.snapshot = snapshot
        let (decisions, incoming) = (batch.decisions, snapshot.incoming)
        isAnsweredByWrites = decisions.indices.allSatisfy { place in
            // Three cases need a read. A stale registration shows another row. A route that was found to be mistaken is
            // not the one that was named. Only the database knows the form in which it stores changed attributes.
            decisions[place].change != .stale && decisions[place].row.route == incoming[place].route
                && (decisions[place].row.id == nil || incoming[place].registration.attributes == .keep)
        }
    }

    private enum Part { case release, update, insert, heartbeat, forget, feedback, records }

    /// The statements in their order. Tokens are released before others get them; heartbeats follow the wide rows.
    private var parts: [Part] {
        var parts: [Part] = []
        if !batch.released.isEmpty { parts.append(.release) }
        if !batch.updated.isEmpty { parts.append(.update) }
        if !batch.created.isEmpty { parts.append(.insert) }
        if !batch.beating.isEmpty { parts.append(.heartbeat) }
        if !batch.unsuspected.isEmpty { parts.append(.forget) }
        if !batch.events.isEmpty { parts.append(.feedback) }
        if !isAnsweredByWrites { parts.append(.records) }
        return parts
    }

    func queries(now: WallInstant?) -> [Query] {
        parts.map { part in
            switch part {
            case .release: release
            case .update: update
            case .insert: insert(now: now)
            case .heartbeat: heartbeat(now: now)
            case .forget:
                Query(RegistrationSQL.forgetSuspicions) { $0.int64Array(batch.unsuspected.map(\.value)) }
            case .feedback: feedback(now: now)
            case .records: records
            }
        }
    }

    /// - Parameter answers: those to `queries`.
    func devices(in answers: [ResultSet]) throws(PostgresError) -> [RegisteredDevice] {
        let answer = Dictionary(uniqueKeysWithValues: zip(parts, answers))
        if let records = answer[.records] { return try devices(inRecords: records) }
        return try devices(insertedRows: answer[.insert], heartbeats: answer[.heartbeat])
    }

    private func devices(insertedRows: ResultSet?, heartbeats: ResultSet?) throws(PostgresError) -> [RegisteredDevice] {
        var heartbeatRows: [RegistrationID: Int] = [:]
        if let heartbeats {
            heartbeatRows.reserveCapacity(heartbeats.rowCount)
            for row in 0..<heartbeats.rowCount { heartbeatRows[RegistrationID(try heartbeats.int64(row, 0))] = row }
        }
        var inserted = 0
        var devices: [RegisteredDevice] = []
        devices.reserveCapacity(batch.decisions.count)
        for place in batch.decisions.indices {
            let row = batch.decisions[place].row
            let record: DeviceRecord
            if let id = row.id, let heartbeats, let heartbeat = heartbeatRows[id], let shown = snapshot.shown[id] {
                record = DeviceRecord(
                    id, row, named: snapshot.incoming[place].registration, badge: try heartbeats.int32(heartbeat, 1),
                    registeredAt: try heartbeats.instant(heartbeat, 2),
                    createdAt: shown.createdAt, attributes: shown.attributes)
            } else if row.id == nil, let insertedRows, inserted < insertedRows.rowCount {
                record = DeviceRecord(
                    RegistrationID(try insertedRows.int64(inserted, 0)), row,
                    named: snapshot.incoming[place].registration,
                    badge: max(snapshot.incoming[place].registration.badge ?? 0, 0),
                    registeredAt: try insertedRows.instant(inserted, 2),
                    createdAt: try insertedRows.instant(inserted, 1),
                    attributes: try insertedRows.json(inserted, 3))
                inserted += 1
            } else {
                throw .unexpectedShape(statement: "registration_beat", column: 0)
            }
            devices.append(
                RegisteredDevice(change: batch.decisions[place].change, isNew: row.id == nil, record: record))
        }
        return devices
    }

    /// Reads one row for each registration, in their order: its own, or the one that it was stale against.
    private var records: Query {
        let decisions = batch.decisions
        return Query(RegistrationSQL.records) { parameters in
            parameters.int64(app.value)
            parameters.array(.text, count: decisions.count) { $1.text(decisions[$0].row.installation) }
            parameters.array(.int16, count: decisions.count) { $1.int16(decisions[$0].row.kind.rawValue) }
        }
    }

    private func devices(inRecords rows: ResultSet) throws(PostgresError) -> [RegisteredDevice] {
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
        let (places, decisions) = (batch.updated, batch.decisions)
        return Query(RegistrationSQL.update) {
            $0.int64Array(places.map { decisions[$0].row.id?.value })
            $0.int64Array(places.map { decisions[$0].row.route.value })
            $0.int16Array(places.map { decisions[$0].row.provider.rawValue })
            $0.int32Array(places.map { decisions[$0].row.generation.value })
            writeWideColumns(of: places, to: &$0)
        }
    }

    private func insert(now: WallInstant?) -> Query {
        let (places, decisions, incoming) = (batch.created, batch.decisions, snapshot.incoming)
        return Query(RegistrationSQL.insert) {
            $0.int64(app.value)
            $0.int64Array(places.map { decisions[$0].row.route.value })
            $0.int16Array(places.map { decisions[$0].row.provider.rawValue })
            $0.int16Array(places.map { decisions[$0].row.kind.rawValue })
            $0.array(.text, count: places.count) { $1.text(decisions[places[$0]].row.installation) }
            writeWideColumns(of: places, to: &$0)
            $0.int32Array(places.map { max(incoming[$0].registration.badge ?? 0, 0) })
            $0.instantArray(places.map { incoming[$0].registration.asOf })
            $0.instant(now)
        }
    }

    private func heartbeat(now: WallInstant?) -> Query {
        let places = batch.beating
        return Query(RegistrationSQL.heartbeat) {
            $0.int64Array(places.map { batch.decisions[$0].row.id?.value })
            $0.instantArray(places.map { snapshot.incoming[$0].registration.asOf })
            $0.instant(now)
        }
    }

    /// Appends token, user, locale, time zone, app version, tags and attributes.
    private func writeWideColumns(of places: [Int], to parameters: inout Parameters) {
        let (decisions, incoming) = (batch.decisions, snapshot.incoming)
        parameters.array(.bytes, count: places.count) { $1.bytes(decisions[places[$0]].row.token.bytes) }
        parameters.textArray(places.map { decisions[$0].row.user })
        parameters.textArray(places.map { decisions[$0].row.locale })
        parameters.textArray(places.map { decisions[$0].row.timeZone })
        parameters.textArray(places.map { decisions[$0].row.appVersion })
        parameters.array(.text, count: places.count) {
            $1.textBytes(ArrayLiteral.encode(decisions[places[$0]].row.tags))
        }
        parameters.jsonArray(
            places.map { incoming[$0].registration.attributes.written(clearing: Array("{}".utf8)) })
    }

    private func feedback(now: WallInstant?) -> Query {
        Query(RegistrationSQL.feedback) {
            $0.int64Array(batch.events.map(\.registration.value))
            $0.int32Array(batch.events.map(\.generation.value))
            $0.int16Array(batch.events.map(\.provider.rawValue))
            $0.int16Array(batch.events.map(\.verdict.rawValue))
            $0.instant(now)
        }
    }
}

extension DeviceRecord {
    /// - Parameter input: names the environment and topic of the row's route.
    fileprivate init(
        _ id: RegistrationID, _ row: StoredRegistration, named input: DeviceRegistration, badge: Int32,
        registeredAt: WallInstant, createdAt: WallInstant, attributes: [UInt8]
    ) {
        self.init(
            id: id, installation: row.installation, kind: row.kind, provider: row.provider,
            environment: input.environment, topic: input.topic, token: row.token, state: row.state, badge: badge,
            registeredAt: registeredAt, createdAt: createdAt, user: row.user, locale: row.locale,
            timeZone: row.timeZone, appVersion: row.appVersion, tags: row.tags, attributes: attributes)
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
