import Postgres

/// A time zone that registrations have and the database does not know.
package struct UnknownTimeZone: Equatable, Sendable {
    package let name: String
    package let registrations: Int64

    package init(name: String, registrations: Int64) { (self.name, self.registrations) = (name, registrations) }
}

extension RegistryStore {
    /// Counting reads all registrations, some millions a second.
    private static let countingTime: Duration = .seconds(60)

    /// Whether the database knows a time zone of this name. The database computes an app's clock, so its own list
    /// decides.
    package func knows(timeZone name: String) async throws(StoreFault) -> Bool {
        let query = Query(LocalHourSQL.isZone) { $0.text("name", name) }
        return try await translated(await pool.read(query).one(Bool.init))
    }

    /// Returns the time zones of registrations that the database does not know, the most frequent first. Reads all
    /// registrations.
    package func unknownTimeZones() async throws(StoreFault) -> [UnknownTimeZone] {
        try await translated(
            await pool.read(Query(LocalHourSQL.unknownZones), deadline: Self.countingTime).map {
                row throws(PostgresError) in
                UnknownTimeZone(name: try row.text(), registrations: try row.int64())
            })
    }
}
