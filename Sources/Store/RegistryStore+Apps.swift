import Postgres
import PushModel
import Reactor
import Synchronization

/// A tenant, as it is stored.
package struct AppRecord: Equatable, Sendable {
    package let id: AppID
    /// Its name in paths.
    package let slug: String
    package let name: String
    package let createdAt: WallInstant
}

extension RegistryStore {
    /// Throws `.conflict(.slugTaken)` where there is one of that slug.
    package func createApp(slug: String, name: String) async throws(StoreFault) -> AppRecord {
        let query = Query(AppSQL.create) {
            $0.text(slug)
            $0.text(name)
        }
        return try await translating { () throws(PostgresError) in
            try AppRecord(reading: try await pool.run(query), row: 0)
        }
    }

    /// By rising id; pass the last one to go on.
    package func apps(after: AppID? = nil, limit: Int) async throws(StoreFault) -> [AppRecord] {
        let query = Query(AppSQL.list) {
            $0.int64(after?.value ?? 0)
            $0.int64(Int64(limit))
        }
        return try await translating { () throws(PostgresError) in
            let rows = try await pool.read(query)
            var apps: [AppRecord] = []
            for row in 0..<rows.rowCount { apps.append(try AppRecord(reading: rows, row: row)) }
            return apps
        }
    }

    /// As it stood at most a second ago: every request asks.
    package func app(slug: String) async throws(StoreFault) -> AppRecord? {
        if let known = slugs[slug] { return known }
        let query = Query(AppSQL.bySlug) { $0.text(slug) }
        let found = try await translating { () throws(PostgresError) -> AppRecord? in
            let rows = try await pool.read(query)
            return rows.rowCount == 1 ? try AppRecord(reading: rows, row: 0) : nil
        }
        if let found { slugs.keep(found) }
        return found
    }
}

extension AppRecord {
    init(reading rows: ResultSet, row: Int) throws(PostgresError) {
        id = AppID(try rows.int64(row, 0))
        slug = try rows.text(row, 1)
        name = try rows.text(row, 2)
        createdAt = try rows.instant(row, 3)
    }
}

/// Apps by slug, for a moment. Slugs that nobody has are not kept: anybody could fill it with them.
final class SlugCache: Sendable {
    static let freshFor: Duration = .seconds(1)
    static let entriesMax = 1_000

    private let known = Mutex<[String: (app: AppRecord, until: MonotonicInstant)]>([:])

    subscript(slug: String) -> AppRecord? {
        known.withLock { apps in
            guard let entry = apps[slug], Clocks.monotonicNow() < entry.until else { return nil }
            return entry.app
        }
    }

    func keep(_ app: AppRecord) {
        known.withLock { apps in
            if apps.count >= Self.entriesMax { apps.removeAll(keepingCapacity: true) }
            apps[app.slug] = (app, Clocks.monotonicNow() + Self.freshFor)
        }
    }
}
