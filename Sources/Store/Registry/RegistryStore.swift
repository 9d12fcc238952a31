import Model
import Postgres
import Reactor
import Synchronization

/// The registry: which installation has which token and which badge.
package struct RegistryStore: Sendable {
    let pool: PostgresPool
    let notifier: WorkNotifier
    let routes = RouteCache()
    let slugs: SlugCache

    package init(pool: PostgresPool, notifier: WorkNotifier, appsFreshFor: Duration = SlugCache.usuallyFreshFor) {
        self.pool = pool
        self.notifier = notifier
        slugs = SlugCache(freshFor: appsFreshFor)
    }

    /// Every kind of one installation, ordered by kind; empty if it is unknown.
    package func devices(app: AppID, installation: String) async throws(StoreFault) -> [DeviceRecord] {
        let query = Query(RegistrationSQL.device) {
            $0.int64(app.value)
            $0.text(installation)
        }
        return try await translating { () throws(PostgresError) in
            let rows = try await pool.read(query)
            var records: [DeviceRecord] = []
            for row in 0..<rows.rowCount { records.append(try DeviceRecord(reading: rows, row: row)) }
            return records
        }
    }

    /// Removes every kind of an installation; returns the number of removed rows.
    package func removeDevice(app: AppID, installation: String) async throws(StoreFault) -> Int {
        let query = Query(RegistrationSQL.remove) {
            $0.int64(app.value)
            $0.text(installation)
        }
        return try await translating { () throws(PostgresError) in try await pool.run(query).affectedRows }
    }
}

extension DeviceRecord {
    init(reading rows: ResultSet, row: Int) throws(PostgresError) {
        guard let kind = TokenKind(rawValue: try rows.int16(row, 2)),
            let provider = Provider(rawValue: try rows.int16(row, 3)),
            let environment = PushEnvironment(rawValue: try rows.int16(row, 4)),
            let state = RegistrationState(rawValue: try rows.int16(row, 7))
        else { throw .unexpectedShape(statement: "registration_records", column: 2) }
        self.init(
            id: RegistrationID(try rows.int64(row, 0)), installation: try rows.text(row, 1), kind: kind,
            provider: provider, environment: environment, topic: try rows.text(row, 5),
            token: DeviceToken(bytes: try rows.bytes(row, 6)), state: state, badge: try rows.int32(row, 8),
            registeredAt: try rows.instant(row, 9), createdAt: try rows.instant(row, 10),
            user: try rows.textOrNil(row, 11), locale: try rows.textOrNil(row, 12),
            timeZone: try rows.textOrNil(row, 13), appVersion: try rows.textOrNil(row, 14),
            tags: try rows.textArray(row, 15), attributes: try rows.json(row, 16))
    }
}

/// Routes by name. A route never changes and goes only with its app, so a route that was found stays valid.
final class RouteCache: Sendable {
    struct Name: Hashable, Sendable {
        let app: AppID
        let provider: Provider
        let environment: PushEnvironment
        let topic: String
    }

    /// A full cache starts anew: a look-up is cheap, and topics are few unless a client invents them.
    static let entriesMax = 10_000

    private let known = Mutex<[Name: RouteID]>([:])

    subscript(name: Name) -> RouteID? { known.withLock { $0[name] } }

    func cache(_ route: RouteID, as name: Name) {
        known.withLock { routes in
            if routes.count >= Self.entriesMax { routes.removeAll(keepingCapacity: true) }
            routes[name] = route
        }
    }

    func forget(app: AppID) {
        known.withLock { routes in routes = routes.filter { $0.key.app != app } }
    }
}
