import Basis
import Model
import Postgres

// A project's quota, which all processes share.
extension CredentialStore {
    /// Records that the process sends to the project. Returns how many processes do, with this one.
    ///
    /// - Parameter now: nil: the database's clock.
    package func countSenders(
        to project: String, with process: ProcessID, now: WallInstant? = nil
    ) async throws(StoreFault) -> Int {
        let query = Query(QuotaSQL.heartbeat) {
            $0.text("project", project)
            $0.uuid("process", process.value)
            $0.instant("now", now)
        }
        return Int(try await translated(await pool.run(query).one(Int64.init)))
    }
}
