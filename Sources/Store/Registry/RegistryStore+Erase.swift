import Model
import Postgres

/// What went of a person.
package struct ErasureReport: Equatable, Sendable {
    package internal(set) var registrations = 0
    /// Entries of the feed that bear another name now.
    package internal(set) var feedback = 0
}

extension RegistryStore {
    /// Registrations of one transaction.
    static let eraseMax: Int64 = 500
    /// A person has a handful of devices; whoever registers as fast as this forgets is told to come again.
    static let eraseRoundsMax = 2_000

    /// Takes away every registration that names the user, and those of the same installations that name nobody; what
    /// the feed keeps of them bears a name drawn by lot. Counts of messages stay; members of parcels end as
    /// `device_deleted` from the next lease on, and what is leased already may still be sent. Nothing of it can be undone; again does no harm.
    package func erase(user: String, app: AppID) async throws(StoreFault) -> ErasureReport {
        var report = ErasureReport()
        for _ in 0..<Self.eraseRoundsMax {
            let (found, renamed) = try await eraseSome(user, app)
            report.registrations += found
            report.feedback += renamed
            guard found == 0 else { continue }
            try await forgetDays(of: user, app)
            return report
        }
        throw .contended
    }

    private func eraseSome(_ user: String, _ app: AppID) async throws(StoreFault) -> (found: Int, renamed: Int) {
        let find = Query(EraseSQL.ofUser) {
            $0.int64(app.value)
            $0.text(user)
            $0.int64(Self.eraseMax)
        }
        let pool = pool
        return try await translating { () throws(PostgresError) in
            try await pool.retryingConflicts { () throws(PostgresError) in
                try await pool.transaction { transaction throws(PostgresError) in
                    let found = try await transaction.run([Query(PlannerSQL.throughKeys), find])[1]
                    guard found.rowCount > 0 else { return (0, 0) }
                    let ids = try found.int64Column(0)
                    var names: [String] = []
                    var known: Set<[UInt8]> = []
                    for row in 0..<found.rowCount {
                        let name = try found.text(row, 1)
                        if known.insert(Array(name.utf8)).inserted { names.append(name) }
                    }
                    let answers = try await transaction.runAndCommit([
                        Query(EraseSQL.erase) { $0.int64Array(ids) },
                        Query(EraseSQL.pseudonymise) {
                            $0.int64(app.value)
                            $0.textArray(names)
                        },
                    ])
                    return (ids.count, answers[1].affectedRows)
                }
            }
        }
    }
}
