import Model
import Postgres

/// The counts of an erasure.
package struct ErasureReport: Equatable, Sendable {
    package internal(set) var registrations = 0
    /// Feed entries that carry a random name now.
    package internal(set) var feedback = 0
}

extension RegistryStore {
    /// The registrations of one transaction.
    static let eraseMax: Int64 = 500
    /// A person has a handful of devices. A caller for whom registrations arrive as fast as this erases is told to
    /// retry.
    static let eraseRoundsMax = 2_000

    /// Removes every registration that names the user, and those of the same installations that name no user. Their
    /// feed entries get a random name. Subscriptions that the user's token made go with them.
    ///
    /// Values of the registrations' own leave the messages that have them, in the same transaction. Counts of messages
    /// stay. Members of parcels end as `device_deleted` from the next lease on; what is leased
    /// already may still be sent. An erasure can't be undone, and repeating it does no harm.
    package func erase(user: String, app: AppID) async throws(StoreFault) -> ErasureReport {
        var report = ErasureReport()
        for _ in 0..<Self.eraseRoundsMax {
            let (found, renamed) = try await eraseSome(user, app)
            report.registrations += found
            report.feedback += renamed
            guard found == 0 else { continue }
            try await forgetDays(of: user, app)
            try await forget(user, app, EraseSQL.subscriptions)
            try await forget(user, app, EraseSQL.formerUsers)
            return report
        }
        throw .contended
    }

    /// - Parameter statement: deletes rows that name the user, at most `eraseMax`.
    private func forget(_ user: String, _ app: AppID, _ statement: Statement) async throws(StoreFault) {
        let query = Query(statement) {
            $0.int64("app", app.value)
            $0.text("user", user)
            $0.int64("limit", Self.eraseMax)
        }
        var count = Int(Self.eraseMax)
        while count == Self.eraseMax { count = try await translated(await pool.runThroughKeys(query).affectedRows) }
    }

    private func eraseSome(_ user: String, _ app: AppID) async throws(StoreFault) -> (found: Int, renamed: Int) {
        let find = Query(EraseSQL.ofUser) {
            $0.int64("app", app.value)
            $0.text("user", user)
            $0.int64("limit", Self.eraseMax)
        }
        return try await translated(
            await pool.retryingTransaction { transaction throws(PostgresError) -> (found: Int, renamed: Int) in
                let found = try await transaction.runThroughKeys(find).map { row throws(PostgresError) in
                    (id: try row.int64(), installation: try row.text())
                }
                guard !found.isEmpty else { return (0, 0) }
                try await OwnValueErasure(app: app, members: found.map(\.id)).run(in: transaction)
                var known: Set<[UInt8]> = []
                let installations = found.map(\.installation).filter { known.insert(Array($0.utf8)).inserted }
                let answers = try await transaction.runAndCommit([
                    Query(EraseSQL.erase) { $0.int64Array("registrations", found.map(\.id)) },
                    Query(EraseSQL.pseudonymise) {
                        $0.int64("app", app.value)
                        $0.textArray("installations", installations)
                    },
                ])
                return (found.count, answers[1].affectedRows)
            })
    }
}
