import Postgres

extension RegistryStore {
    /// Whether the database knows a time zone of this name. The database computes an app's clock, so its own list
    /// decides.
    package func knows(timeZone name: String) async throws(StoreFault) -> Bool {
        let query = Query(LocalHourSQL.isZone) { $0.text("name", name) }
        return try await translating { () throws(PostgresError) in try await pool.read(query).one(Bool.init) }
    }
}
