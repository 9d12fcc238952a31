import Basis
import Model
import Postgres
import RegistryRules

/// The state that a batch of registrations is decided against.
struct RegistrationSnapshot: Sendable {
    /// The registrations as they came. Attributes that are stored just so are `.keep`.
    let incoming: [IncomingRegistration]
    let stored: [StoredRegistration]
    /// When the stored rows were created. No decision reads it, and an answer shows it.
    let createdAt: [RegistrationID: WallInstant]
}

/// Reads and locks the rows that a batch of registrations is decided against.
struct RegistrationLookup: Sendable {
    private let incoming: [IncomingRegistration]
    private let app: AppID
    private let asksTimes: Bool
    private let asksAttributes: Bool

    init(_ incoming: [IncomingRegistration], app: AppID) {
        (self.incoming, self.app) = (incoming, app)
        asksTimes = incoming.contains { $0.registration.asOf != nil }
        asksAttributes = incoming.contains { $0.registration.profile.attributes != .keep }
    }

    func run(in transaction: PostgresTransaction) async throws(PostgresError) -> RegistrationSnapshot {
        var queries = [Query(PlannerSQL.throughKeys), Query(RegistrationSQL.lock, namesAndTokens)]
        if asksTimes { queries.append(Query(RegistrationSQL.asOf, namesAndTokens)) }
        if asksAttributes { queries.append(Query(RegistrationSQL.sameAttributes, attributeParameters)) }
        let answers = try await transaction.run(queries)
        var createdAt: [RegistrationID: WallInstant] = [:]
        createdAt.reserveCapacity(answers[1].rowCount)
        var stored = try answers[1].map { row throws(PostgresError) in
            let id = RegistrationID(try row.int64())
            createdAt[id] = try row.instant()
            return try StoredRegistration(id, &row)
        }
        if asksTimes { try Self.addTimes(answers[2], to: &stored) }
        let same = asksAttributes ? Set(try answers[answers.count - 1].map(Int64.init)) : []
        return RegistrationSnapshot(
            incoming: same.isEmpty ? incoming : keepingSameAttributes(same, in: stored), stored: stored,
            createdAt: createdAt)
    }

    private var names: Parameters {
        var parameters = Parameters()
        parameters.int64("app", app.value)
        parameters.array("installations", .text, count: incoming.count) {
            $1.text(incoming[$0].registration.installation)
        }
        parameters.array("kinds", .int16, count: incoming.count) { $1.int16(incoming[$0].registration.kind.rawValue) }
        return parameters
    }

    private var namesAndTokens: Parameters {
        var parameters = names
        parameters.array("providers", .int16, count: incoming.count) {
            $1.int16(incoming[$0].registration.provider.rawValue)
        }
        parameters.array("tokens", .bytes, count: incoming.count) { $1.bytes(incoming[$0].registration.token.bytes) }
        return parameters
    }

    private var attributeParameters: Parameters {
        var parameters = names
        parameters.jsonArray(
            "attributes", incoming.map { $0.registration.profile.attributes.written(clearing: Array("{}".utf8)) })
        return parameters
    }

    /// Replaces attributes that equal the stored ones by `.keep`.
    private func keepingSameAttributes(_ same: Set<Int64>, in stored: [StoredRegistration]) -> [IncomingRegistration] {
        var keys: Set<InstallationKey> = []
        for row in stored {
            if let id = row.id, same.contains(id.value) { keys.insert(InstallationKey(row.installation, row.kind)) }
        }
        return incoming.map { each in
            guard keys.contains(InstallationKey(each.registration.installation, each.registration.kind)) else {
                return each
            }
            var kept = each
            kept.registration.profile.attributes = .keep
            return kept
        }
    }

    private static func addTimes(_ answer: ResultSet, to stored: inout [StoredRegistration]) throws(PostgresError) {
        var times: [RegistrationID: WallInstant] = [:]
        for index in 0..<answer.rowCount {
            var row = answer.row(index)
            times[RegistrationID(try row.int64())] = try row.instant()
        }
        for place in stored.indices { stored[place].asOf = stored[place].id.flatMap { times[$0] } }
    }
}

extension StoredRegistration {
    /// Reads the columns of `RegistrationSQL.lock` behind the time of creation.
    fileprivate init(_ id: RegistrationID, _ row: inout Row) throws(PostgresError) {
        self.init(
            id: id, installation: try row.text(), kind: try row.stored(), route: RouteID(try row.int64()),
            provider: try row.stored(), token: DeviceToken(bytes: try row.bytes()), state: try row.stored(),
            generation: TokenGeneration(try row.int32()), profile: try RegistrationProfile(&row), asOf: nil,
            mistakenRoute: try row.int64OrNil().map(RouteID.init), isBackends: try row.bool())
    }
}

extension DeviceRegistration.Change {
    /// The value for a column of a batch; nil keeps what is stored.
    func written(clearing empty: Value) -> Value? {
        switch self {
        case .keep: nil
        case .clear: empty
        case .set(let value): value
        }
    }
}
