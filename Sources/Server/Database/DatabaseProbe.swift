import Postgres

/// Asks a database whether it can be written to. It writes no row, so that a standby can be asked too.
enum DatabaseProbe {
    private static let readOnly = Statement(
        "probe_read_only", "SELECT current_setting('transaction_read_only')::boolean")
    /// The least that PostgreSQL allows, for this transaction.
    private static let memory = Statement("probe_memory", "SELECT set_config('work_mem', '64kB', true)")
    /// The rows don't fit into that memory. So PostgreSQL writes them to a temporary file of 1.4 MB beside the tables.
    private static let disk = Statement("probe_disk", "SELECT count(*) FROM generate_series(1, 100000)")

    /// configuration_limit_exceeded
    private static let temporaryFilesLimited = "53400"

    /// Costs as much as `SELECT 1`.
    static func isReadOnly(_ pool: PostgresPool, deadline: Duration) async throws(PostgresError) -> Bool {
        try await pool.read(Query(readOnly), deadline: deadline).one(Bool.init)
    }

    /// Takes a twentieth of a second of the server's time.
    ///
    /// - Returns: nil: it can be written to.
    static func condition(of pool: PostgresPool) async throws(PostgresError) -> DatabaseCondition? {
        do throws(PostgresError) {
            let answers = try await pool.read([Query(readOnly), Query(memory), Query(disk)])
            return try answers[0].one(Bool.init) ? .readOnly : nil
        } catch .refused(let refusal) where refusal.sqlState.code == temporaryFilesLimited {
            // temp_file_limit of this role is lower than the file: the disk was not asked.
            return try await pool.read(Query(readOnly)).one(Bool.init) ? .readOnly : nil
        } catch {
            guard let condition = error.condition else { throw error }
            return condition
        }
    }
}
