import Basis
import LaneRules
import Model
import Postgres

// A project's quota, which all processes share.
extension CredentialStore {
    /// Returns the process's part of the quota. Processes that ask at the same time wait for one another, at most for
    /// as long as an answer is useful.
    ///
    /// - Parameter now: nil: the database's clock.
    /// - Returns: nil if a later request of the same process overtook this one.
    package func answer(
        _ ask: QuotaRequest, of process: ProcessID, project: String, now: WallInstant? = nil
    ) async throws(StoreFault) -> QuotaGrant? {
        let opening = [
            Query(QuotaSQL.add) { $0.text(project) },
            Query(QuotaSQL.lock) {
                $0.text(project)
                $0.instant(now)
            },
        ]
        let options = TransactionOptions(lockTimeout: QuotaAllotment.lasts)
        let pool = pool
        return try await translating { () throws(PostgresError) in
            try await pool.transaction(options) { transaction throws(PostgresError) -> QuotaGrant? in
                let found = try await transaction.run(opening)[1]
                // The row was swept at this moment: no process had asked for a day.
                guard found.rowCount == 1 else {
                    await transaction.abandon()
                    return nil
                }
                var ledger = try QuotaLedger(found)
                guard let grant = ledger.answer(ask, of: process, now: try found.instant(0, 0)) else {
                    await transaction.abandon()
                    return nil
                }
                _ = try await transaction.runAndCommit([ledger.written(to: project)])
                return grant
            }
        }
    }
}

extension QuotaLedger {
    /// Reads the row that `QuotaSQL.lock` returns.
    fileprivate init(_ row: ResultSet) throws(PostgresError) {
        let processes = try row.uuidArray(0, 3)
        let numbers = try row.int64Array(0, 4)
        let wants = try row.int32Array(0, 5)
        let parts = try row.int32Array(0, 6)
        let receivedAt = try row.instantArray(0, 7)
        let count = [numbers.count, wants.count, parts.count, receivedAt.count].reduce(processes.count, min)
        let entries = (0..<count).map {
            Entry(
                process: ProcessID(processes[$0]), number: numbers[$0], wants: QuotaPart(millionths: wants[$0]),
                part: QuotaPart(millionths: parts[$0]), askedAt: receivedAt[$0])
        }
        self.init(rampSince: try row.instantOrNil(0, 1), askedAt: try row.instantOrNil(0, 2), entries: entries)
    }

    fileprivate func written(to project: String) -> Query {
        Query(QuotaSQL.write) {
            $0.text(project)
            $0.instant(rampSince)
            $0.instant(askedAt)
            $0.uuidArray(entries.map(\.process.value))
            $0.int64Array(entries.map(\.number))
            $0.int32Array(entries.map(\.wants.millionths))
            $0.int32Array(entries.map(\.part.millionths))
            $0.instantArray(entries.map(\.askedAt))
        }
    }
}
