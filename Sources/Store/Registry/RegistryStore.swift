import Model
import Postgres
import Synchronization

/// The registry: which installation has which token and which badge.
package struct RegistryStore: Sendable {
    let pool: PostgresPool
    let notifier: WorkNotifier
    let routes = RouteCache()
    let slugs: SlugCache

    package init(pool: PostgresPool, notifier: WorkNotifier, appsFreshFor: Duration = SlugCache.usuallyFreshFor) {
        (self.pool, self.notifier) = (pool, notifier)
        slugs = SlugCache(freshFor: appsFreshFor)
    }

    /// Every kind of one installation, ordered by kind; empty if it is unknown.
    package func devices(app: AppID, installation: String) async throws(StoreFault) -> [DeviceRecord] {
        let query = Query(RegistrationSQL.device) { $0.installation(installation, of: app) }
        return try await translated(await pool.read(query).map(DeviceRecord.init))
    }

    /// Removes one kind of an installation, or every kind; returns the number of removed rows.
    package func removeDevice(
        app: AppID, installation: String, kind: TokenKind? = nil
    ) async throws(StoreFault) -> Int {
        let query = Query(RegistrationSQL.remove) {
            $0.installation(installation, of: app)
            $0.int16("kind", kind?.rawValue)
        }
        return try await translated(await pool.run(query).affectedRows)
    }
}

extension DeviceRecord {
    /// Reads the columns of `RegistrationSQL.recordColumns`.
    init(_ row: inout Row) throws(PostgresError) {
        self.init(
            id: RegistrationID(try row.int64()), installation: try row.text(), kind: try row.stored(),
            provider: try row.stored(), environment: try row.stored(), topic: try row.text(),
            token: DeviceToken(bytes: try row.bytes()), state: try row.stored(), badge: try row.int32(),
            registeredAt: try row.instant(), createdAt: try row.instant(), profile: try RegistrationProfile(&row))
    }
}

extension Parameters {
    mutating func installation(_ name: String, of app: AppID) {
        int64("app", app.value)
        text("installation", name)
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

    func forget(app: AppID) { known.withLock { routes in routes = routes.filter { $0.key.app != app } } }
}
