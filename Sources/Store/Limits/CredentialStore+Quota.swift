import Basis
import LaneRules
import Model
import Postgres

// A project's quota, which all processes share.
extension CredentialStore {
    /// The process's part in it. Processes that ask at the same time wait for one another, no longer than an answer is
    /// of use.
    ///
    /// - Parameter now: nil: the database's.
    /// - Returns: nil for what was overtaken by a later ask of the same process.
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
                // Swept at this moment: nobody had asked for a day.
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
    /// As `QuotaSQL.lock` finds it.
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
