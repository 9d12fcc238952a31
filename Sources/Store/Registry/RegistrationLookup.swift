import Basis
import Model
import Postgres
import RegistryRules

/// The state that a batch of registrations is decided against.
struct RegistrationSnapshot: Sendable {
    /// The registrations as they came. Attributes that are stored just so are `.keep`.
    let incoming: [IncomingRegistration]
    let stored: [StoredRegistration]
    /// Columns of the stored rows that no decision reads and an answer shows.
    let shown: [RegistrationID: ShownColumns]

    struct ShownColumns: Sendable {
        let createdAt: WallInstant
        let attributes: [UInt8]
    }
}

/// Reads and locks the rows that a batch of registrations is decided against.
struct RegistrationLookup: Sendable {
    private let incoming: [IncomingRegistration]
    private let app: AppID
    private let asksTimes: Bool
    private let asksAttributes: Bool

    init(_ incoming: [IncomingRegistration], app: AppID) {
        self.incoming = incoming
        self.app = app
        asksTimes = incoming.contains { $0.registration.asOf != nil }
        asksAttributes = incoming.contains { $0.registration.attributes != .keep }
    }

    func run(
        in transaction: PostgresTransaction
    ) async throws(PostgresError) -> RegistrationSnapshot {
        var queries = [Query(PlannerSQL.throughKeys), Query(RegistrationSQL.lock, namesAndTokens)]
        if asksTimes { queries.append(Query(RegistrationSQL.asOf, namesAndTokens)) }
        if asksAttributes { queries.append(Query(RegistrationSQL.sameAttributes, attributeParameters)) }
        let answers = try await transaction.run(queries)
        var stored = try Self.rows(answers[1])
        if asksTimes { try Self.addTimes(answers[2], to: &stored) }
        let shown = try Self.shown(answers[1])
        guard asksAttributes else { return RegistrationSnapshot(incoming: incoming, stored: stored, shown: shown) }
        let same = Set(try answers[answers.count - 1].int64Column(0))
        return RegistrationSnapshot(
            incoming: keepingSameAttributes(same, in: stored), stored: stored, shown: shown)
    }

    private var names: Parameters {
        var parameters = Parameters()
        parameters.int64(app.value)
        parameters.array(.text, count: incoming.count) { $1.text(incoming[$0].registration.installation) }
        parameters.array(.int16, count: incoming.count) { $1.int16(incoming[$0].registration.kind.rawValue) }
        return parameters
    }

    private var namesAndTokens: Parameters {
        var parameters = names
        parameters.array(.int16, count: incoming.count) { $1.int16(incoming[$0].registration.provider.rawValue) }
        parameters.array(.bytes, count: incoming.count) { $1.bytes(incoming[$0].registration.token.bytes) }
        return parameters
    }

    private var attributeParameters: Parameters {
        var parameters = names
        parameters.jsonArray(incoming.map { $0.registration.attributes.written(clearing: Array("{}".utf8)) })
        return parameters
    }

    /// Replaces attributes that equal the stored ones by `.keep`.
    private func keepingSameAttributes(
        _ same: Set<Int64>, in stored: [StoredRegistration]
    ) -> [IncomingRegistration] {
        var keys: Set<InstallationKey> = []
        for row in stored {
            if let id = row.id, same.contains(id.value) { keys.insert(InstallationKey(row.installation, row.kind)) }
        }
        return incoming.map { each in
            guard keys.contains(InstallationKey(each.registration.installation, each.registration.kind)) else {
                return each
            }
            var kept = each
            kept.registration.attributes = .keep
            return kept
        }
    }

    private static func rows(_ answer: ResultSet) throws(PostgresError) -> [StoredRegistration] {
        var rows: [StoredRegistration] = []
        rows.reserveCapacity(answer.rowCount)
        for row in 0..<answer.rowCount {
            guard let kind = TokenKind(rawValue: try answer.int16(row, 2)),
                let provider = Provider(rawValue: try answer.int16(row, 4)),
                let state = RegistrationState(rawValue: try answer.int16(row, 6))
            else { throw .unexpectedShape(statement: "registration_lock", column: 2) }
            rows.append(
                StoredRegistration(
                    id: RegistrationID(try answer.int64(row, 0)), installation: try answer.text(row, 1), kind: kind,
                    route: RouteID(try answer.int64(row, 3)), provider: provider,
                    token: DeviceToken(bytes: try answer.bytes(row, 5)), state: state,
                    generation: TokenGeneration(try answer.int32(row, 7)), user: try answer.textOrNil(row, 8),
                    locale: try answer.textOrNil(row, 9), timeZone: try answer.textOrNil(row, 10),
                    appVersion: try answer.textOrNil(row, 11), tags: try answer.textArray(row, 12), asOf: nil,
                    mistakenRoute: try answer.int64OrNil(row, 13).map(RouteID.init)))
        }
        return rows
    }

    private static func shown(
        _ answer: ResultSet
    ) throws(PostgresError) -> [RegistrationID: RegistrationSnapshot.ShownColumns] {
        var shown: [RegistrationID: RegistrationSnapshot.ShownColumns] = [:]
        shown.reserveCapacity(answer.rowCount)
        for row in 0..<answer.rowCount {
            shown[RegistrationID(try answer.int64(row, 0))] = RegistrationSnapshot.ShownColumns(
                createdAt: try answer.instant(row, 14), attributes: try answer.json(row, 15))
        }
        return shown
    }

    private static func addTimes(
        _ answer: ResultSet, to stored: inout [StoredRegistration]
    ) throws(PostgresError) {
        var times: [Int64: WallInstant] = [:]
        for row in 0..<answer.rowCount { times[try answer.int64(row, 0)] = try answer.instant(row, 1) }
        for place in stored.indices {
            if let id = stored[place].id { stored[place].asOf = times[id.value] }
        }
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
