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
        (self.batch, self.app, self.snapshot) = (batch, app, snapshot)
        let (decisions, incoming) = (batch.decisions, snapshot.incoming)
        isAnsweredByWrites = decisions.indices.allSatisfy { place in
            // Three cases need a read. A stale registration shows another row. A route that was found to be mistaken is
            // not the one that was named. Only the database knows the form in which it stores changed attributes.
            decisions[place].change != .stale && decisions[place].row.route == incoming[place].route
                && (decisions[place].row.id == nil || incoming[place].registration.profile.attributes == .keep)
        }
    }

    private enum Part {
        case release, update, insert, heartbeat, forget, feedback, awaken, endOfOthers, unite, adopt, forgetNameless,
            makeWindows, lockWindows, lockItemSubscriptions, endItemSubscriptions, moveItemSubscriptions, records
    }

    /// The statements in their order. Windows of devices are locked before rows are written. Tokens are released before
    /// others get them; heartbeats follow the wide rows. The subscriptions of a token follow it.
    private var parts: [Part] {
        var parts: [Part] = []
        if !batch.moves.isEmpty { parts += [.makeWindows, .lockWindows] }
        if !batch.released.isEmpty { parts.append(.release) }
        if !batch.updated.isEmpty { parts.append(.update) }
        if !batch.created.isEmpty { parts.append(.insert) }
        if !batch.beating.isEmpty { parts.append(.heartbeat) }
        if !batch.unsuspected.isEmpty { parts.append(.forget) }
        if !batch.events.isEmpty { parts.append(.feedback) }
        if !batch.revived.isEmpty { parts.append(.awaken) }
        if !batch.released.isEmpty { parts += [.endOfOthers, .unite, .adopt, .forgetNameless] }
        if !batch.moves.isEmpty { parts += [.lockItemSubscriptions, .endItemSubscriptions, .moveItemSubscriptions] }
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
                Query(RegistrationSQL.forgetSuspicions) {
                    $0.int64Array("registrations", batch.unsuspected.map(\.value))
                }
            case .feedback: feedback(now: now)
            case .awaken: Query(awakening: batch.revived, now: now)
            case .endOfOthers: Query(AdoptionSQL.endOfOthers, formerHolders)
            case .unite: Query(AdoptionSQL.unite, formerHolders)
            case .adopt:
                Query(AdoptionSQL.adopt) {
                    $0 = formerHolders
                    $0.instant("now", now)
                }
            case .forgetNameless:
                Query(AdoptionSQL.forgetNameless) {
                    $0.int64Array("registrations", batch.released.compactMap { $0.id?.value })
                }
            case .makeWindows: Query(ItemAdoptionSQL.makeWindows, movingDevices)
            case .lockWindows: Query(ItemAdoptionSQL.lockWindows, movingDevices)
            case .lockItemSubscriptions: Query(ItemAdoptionSQL.lock, formerHolders)
            case .endItemSubscriptions: Query(ItemAdoptionSQL.end, formerHolders)
            case .moveItemSubscriptions:
                Query(ItemAdoptionSQL.move) {
                    $0 = formerHolders
                    $0.int64("limit", Int64(TriggerSettings.subscriptionsPerDeviceMax))
                }
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
        let inserted = try insertedRows?.map(InsertedRow.init) ?? []
        var pulses: [RegistrationID: PulseRow] = [:]
        pulses.reserveCapacity(heartbeats?.rowCount ?? 0)
        for pulse in try heartbeats?.map(PulseRow.init) ?? [] { pulses[pulse.registration] = pulse }
        var insertedBefore = 0
        var devices: [RegisteredDevice] = []
        devices.reserveCapacity(batch.decisions.count)
        for (place, decision) in batch.decisions.enumerated() {
            let input = snapshot.incoming[place].registration
            let record: DeviceRecord
            if let id = decision.row.id, let pulse = pulses[id], let createdAt = snapshot.createdAt[id] {
                record = DeviceRecord(
                    id, decision.row, named: input, badge: pulse.badge, registeredAt: pulse.registeredAt,
                    createdAt: createdAt, attributes: decision.row.profile.attributes)
            } else if decision.row.id == nil, insertedBefore < inserted.count {
                let row = inserted[insertedBefore]
                insertedBefore += 1
                record = DeviceRecord(
                    row.registration, decision.row, named: input, badge: max(input.badge ?? 0, 0),
                    registeredAt: row.registeredAt, createdAt: row.createdAt, attributes: row.attributes)
            } else {
                throw .unexpectedShape(statement: "registration_beat", column: 0)
            }
            devices.append(RegisteredDevice(change: decision.change, isNew: decision.row.id == nil, record: record))
        }
        return devices
    }

    /// Reads one row for each registration, in their order: its own, or the one that it was stale against.
    private var records: Query {
        let decisions = batch.decisions
        return Query(RegistrationSQL.records) { parameters in
            parameters.int64("app", app.value)
            parameters.array("installations", .text, count: decisions.count) { $1.text(decisions[$0].row.installation) }
            parameters.array("kinds", .int16, count: decisions.count) { $1.int16(decisions[$0].row.kind.rawValue) }
        }
    }

    private func devices(inRecords rows: ResultSet) throws(PostgresError) -> [RegisteredDevice] {
        guard rows.rowCount == batch.decisions.count else {
            throw .unexpectedShape(statement: "registration_records", column: 0)
        }
        return zip(batch.decisions, try rows.map(DeviceRecord.init)).map { decision, record in
            RegisteredDevice(change: decision.change, isNew: decision.row.id == nil, record: record)
        }
    }

    private var release: Query {
        Query(RegistrationSQL.release) {
            $0.int64Array("registrations", batch.released.map { $0.id?.value })
            $0.int32Array("generations", batch.released.map(\.generation.value))
        }
    }

    private var formerHolders: Parameters {
        var parameters = Parameters()
        parameters.int64("app", app.value)
        parameters.int64Array("registrations", batch.released.map { $0.id?.value })
        parameters.int16Array("providers", batch.released.map(\.provider.rawValue))
        parameters.bytesArray("tokens", batch.released.map(\.token.bytes))
        return parameters
    }

    private var movingDevices: Parameters {
        var parameters = Parameters()
        parameters.int64Array("registrations", batch.moves.map(\.former.value))
        parameters.int64Array("holders", batch.moves.map { $0.holder?.value })
        return parameters
    }

    private var update: Query {
        let (places, decisions) = (batch.updated, batch.decisions)
        return Query(RegistrationSQL.update) {
            $0.int64Array("registrations", places.map { decisions[$0].row.id?.value })
            $0.int64Array("routes", places.map { decisions[$0].row.route.value })
            $0.int16Array("providers", places.map { decisions[$0].row.provider.rawValue })
            $0.int32Array("generations", places.map { decisions[$0].row.generation.value })
            writeWideColumns(of: places, to: &$0)
        }
    }

    private func insert(now: WallInstant?) -> Query {
        let (places, decisions, incoming) = (batch.created, batch.decisions, snapshot.incoming)
        return Query(RegistrationSQL.insert) {
            $0.int64("app", app.value)
            $0.int64Array("routes", places.map { decisions[$0].row.route.value })
            $0.int16Array("providers", places.map { decisions[$0].row.provider.rawValue })
            $0.int16Array("kinds", places.map { decisions[$0].row.kind.rawValue })
            $0.array("installations", .text, count: places.count) { $1.text(decisions[places[$0]].row.installation) }
            writeWideColumns(of: places, to: &$0)
            $0.int32Array("badges", places.map { max(incoming[$0].registration.badge ?? 0, 0) })
            $0.instantArray("as_of", places.map { incoming[$0].registration.asOf })
            $0.instant("now", now)
        }
    }

    private func heartbeat(now: WallInstant?) -> Query {
        let places = batch.beating
        return Query(RegistrationSQL.heartbeat) {
            $0.int64Array("registrations", places.map { batch.decisions[$0].row.id?.value })
            $0.instantArray("as_of", places.map { snapshot.incoming[$0].registration.asOf })
            $0.int32Array("badges", places.map { snapshot.incoming[$0].registration.badge.map { max($0, 0) } })
            $0.instant("now", now)
        }
    }

    /// Binds tokens and profiles, and whose the registrations are.
    private func writeWideColumns(of places: [Int], to parameters: inout Parameters) {
        let (decisions, incoming) = (batch.decisions, snapshot.incoming)
        parameters.array("tokens", .bytes, count: places.count) { $1.bytes(decisions[places[$0]].row.token.bytes) }
        parameters.boolArray("are_backends", places.map { decisions[$0].row.isBackends })
        parameters.profiles(
            places.map { decisions[$0].row.profile },
            attributes: places.map { incoming[$0].registration.profile.attributes.written(clearing: Array("{}".utf8)) })
    }

    private func feedback(now: WallInstant?) -> Query {
        Query(RegistrationSQL.feedback) {
            $0.int64Array("registrations", batch.events.map(\.registration.value))
            $0.int32Array("generations", batch.events.map(\.generation.value))
            $0.int16Array("providers", batch.events.map(\.provider.rawValue))
            $0.int16Array("verdicts", batch.events.map(\.verdict.rawValue))
            $0.instant("now", now)
        }
    }
}

/// A row that was inserted.
private struct InsertedRow {
    let registration: RegistrationID
    let createdAt: WallInstant
    let registeredAt: WallInstant
    let attributes: [UInt8]

    init(_ row: inout Row) throws(PostgresError) {
        registration = RegistrationID(try row.int64())
        (createdAt, registeredAt, attributes) = (try row.instant(), try row.instant(), try row.json())
    }
}

/// The narrow row of a registration that was renewed.
private struct PulseRow {
    let registration: RegistrationID
    let badge: Int32
    let registeredAt: WallInstant

    init(_ row: inout Row) throws(PostgresError) {
        registration = RegistrationID(try row.int64())
        (badge, registeredAt) = (try row.int32(), try row.instant())
    }
}

extension DeviceRecord {
    /// - Parameter input: names the environment and topic of the row's route.
    fileprivate init(
        _ id: RegistrationID, _ row: StoredRegistration, named input: DeviceRegistration, badge: Int32,
        registeredAt: WallInstant, createdAt: WallInstant, attributes: [UInt8]
    ) {
        var profile = row.profile
        profile.attributes = attributes
        self.init(
            id: id, installation: row.installation, kind: row.kind, provider: row.provider,
            environment: input.environment, topic: input.topic, token: row.token, state: row.state, badge: badge,
            registeredAt: registeredAt, createdAt: createdAt, profile: profile)
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
