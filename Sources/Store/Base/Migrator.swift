import Basis
import Migrations
import Postgres
import Reactor

/// Brings a database's schema up to this program's: forward only, one process at a time, each step in a transaction of
/// its own, so that what one locks the next doesn't hold.
///
/// What was applied is held against the embedded history by name and checksum. Until 0.1.0 a change edits the file of its
/// concern, so a database that another history made can't be brought up to this program's: it is refused.
///
/// Programs are at work meanwhile. Who asks for a whole table has everybody behind it wait as well, so that no lock is
/// waited for longer than `MigrationLockPolicy` says: then the step lets go of all that it has, and is tried again later.
package struct Migrator: Sendable {
    private let pool: PostgresPool
    private let history: [Migration]
    private let lockPolicy: MigrationLockPolicy

    /// This program's history.
    package static var embedded: [Migration] {
        EmbeddedMigrations.inOrder.map { Migration(name: $0.name, sql: $0.sql) }
    }

    package init(pool: PostgresPool) { self.init(pool: pool, history: Self.embedded) }

    package init(pool: PostgresPool, history: [Migration], lockPolicy: MigrationLockPolicy = MigrationLockPolicy()) {
        self.pool = pool
        self.history = history
        self.lockPolicy = lockPolicy
    }

    /// The names of the migrations that were applied now.
    ///
    /// - Parameter waits: told after each try of a step that found its tables taken, before the next.
    package func migrate(
        waits: @Sendable (MigrationWait) async -> Void = { _ in }
    ) async throws(MigrationFault) -> [String] {
        var names: [String] = []
        while let name = try await applyNext(waits) { names.append(name) }
        return names
    }

    /// What of this program's history the database lacks; changes nothing, and waits for nobody.
    package func missing() async throws(MigrationFault) -> [String] {
        let applied: Applied
        do throws(PostgresError) {
            let isThere = try await pool.read(Query(MigrationSQL.hasHistory)).bool(0, 0)
            guard isThere else { return history.map(\.name) }
            applied = try Applied(reading: await pool.read(comparison), of: history)
        } catch {
            throw .store(StoreFault(error))
        }
        if let fault = applied.fault { throw fault }
        return history.dropFirst(applied.count).map(\.name)
    }

    private var comparison: [Query] {
        [Query(MigrationSQL.applied), Query(MigrationSQL.checksums) { $0.bytesArray(history.map(\.sql)) }]
    }

    /// nil: nothing is left to do.
    private func applyNext(
        _ waits: @Sendable (MigrationWait) async -> Void
    ) async throws(MigrationFault) -> String? {
        let giveUpAt = Clocks.monotonicNow() + lockPolicy.total
        var tries = 0
        while true {
            let lockWait = lockPolicy.lockWait(afterTries: tries)
            let step: Step
            do throws(PostgresError) {
                step = try await tryNext(lockWait)
            } catch .refused(let refusal) {
                throw .refused(statement: refusal.statement, refusal.sqlState)
            } catch {
                throw .store(StoreFault(error))
            }
            switch step {
            case .none: return nil
            case .applied(let name): return name
            case .impossible(let fault): throw fault
            case .blocked:
                tries += 1
                let wait = MigrationWait(name: await nextName(), tries: tries, holders: await holders(since: lockWait))
                let pause = lockPolicy.pause(afterTries: tries)
                guard Clocks.monotonicNow() + pause < giveUpAt, !Task.isCancelled else { throw .blocked(wait) }
                await waits(wait)
                try? await Task.sleep(for: pause)
            }
        }
    }

    private enum Step {
        case none
        case applied(String)
        case impossible(MigrationFault)
        /// A lock was not to be had in time, or two would have waited for each other for ever.
        case blocked
    }

    /// A migration may take its time: no statement timeout, and a long deadline of our own.
    private static let deadline: Duration = .seconds(3_600)

    private func tryNext(_ lockWait: Duration) async throws(PostgresError) -> Step {
        do throws(PostgresError) {
            return try await pool.transaction(TransactionOptions(deadline: Self.deadline)) {
                transaction throws(PostgresError) in
                // Until its turn has come it holds nothing that anybody could want, and waits as long as it takes.
                try await transaction.script("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0")
                let applied = try await applied(in: transaction)
                if let fault = applied.fault {
                    await transaction.abandon()
                    return .impossible(fault)
                }
                guard applied.count < history.count else { return .none }
                try await transaction.script("SET LOCAL lock_timeout = \(lockWait.wholeMicroseconds / 1_000)")
                try await apply(applied.count, checksum: applied.checksums[applied.count], in: transaction)
                return .applied(history[applied.count].name)
            }
        } catch {
            guard error.isConflict || error.sqlState == .lockNotAvailable else { throw error }
            return .blocked
        }
    }

    private func applied(in transaction: PostgresTransaction) async throws(PostgresError) -> Applied {
        // Taken before anything is read: a second process waits here, then finds the work done.
        _ = try await transaction.run([Query(MigrationSQL.lock)])
        try await transaction.script(MigrationSQL.ownTable)
        return try Applied(reading: await transaction.run(comparison), of: history)
    }

    private func apply(
        _ place: Int, checksum: [UInt8], in transaction: PostgresTransaction
    ) async throws(PostgresError) {
        let migration = history[place]
        try await transaction.script(String(decoding: migration.sql, as: UTF8.self))
        let record = Query(MigrationSQL.record) {
            $0.int32(Int32(place + 1))
            $0.text(migration.name)
            $0.bytes(checksum)
        }
        _ = try await transaction.run([record])
    }

    private func nextName() async -> String {
        let missing = try? await missing()
        return missing?.first ?? ""
    }

    /// Whoever was at it before the last try began, and is still: the likely cause, as far as this role may see it.
    private func holders(since lockWait: Duration) async -> [LockHolder] {
        do throws(PostgresError) {
            let query = Query(MigrationSQL.holders) {
                $0.int64(lockWait.wholeMicroseconds)
                $0.int64(Int64(LockHolder.shownMax))
            }
            let rows = try await pool.read(query)
            var holders: [LockHolder] = []
            for row in 0..<rows.rowCount {
                holders.append(
                    LockHolder(
                        process: try rows.int32(row, 0), program: try rows.text(row, 1),
                        tables: try rows.textArray(row, 2), doing: try rows.text(row, 3),
                        heldFor: try rows.int64OrNil(row, 4).map { .seconds($0) }))
            }
            return holders
        } catch {
            return []
        }
    }
}

/// One step of the schema.
package struct Migration: Equatable, Sendable {
    /// "NNNN_concern".
    package let name: String
    package let sql: [UInt8]

    package init(name: String, sql: [UInt8]) {
        self.name = name
        self.sql = sql
    }
}

/// What was applied to a database, held against this program's history.
private struct Applied {
    let count: Int
    /// The checksums of this program's migrations.
    let checksums: [[UInt8]]
    /// Why this program may not work on the database.
    let fault: MigrationFault?

    /// - Parameter answers: to `MigrationSQL.applied` and `checksums`.
    init(reading answers: [ResultSet], of history: [Migration]) throws(PostgresError) {
        count = answers[0].rowCount
        var checksums: [[UInt8]] = []
        for row in 0..<answers[1].rowCount { checksums.append(try answers[1].bytes(row, 0)) }
        self.checksums = checksums
        var fault: MigrationFault?
        for row in 0..<count where fault == nil {
            let name = try answers[0].text(row, 0)
            if row >= history.count || name != history[row].name {
                fault = .unknown(name)
            } else if try answers[0].bytes(row, 1) != checksums[row] {
                fault = .changed(name)
            }
        }
        self.fault = fault
    }
}

package enum MigrationFault: Error, Equatable, Sendable {
    /// The database was made with another text of this migration.
    case changed(String)
    /// The database has a migration that this program does not have, or not at that place.
    case unknown(String)
    case refused(statement: String, SQLState)
    /// For as long as patience lasted others held what a step needs.
    case blocked(MigrationWait)
    case store(StoreFault)
}

extension MigrationFault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .changed(let name): "its migration \(name) differs from this program's"
        case .unknown(let name): "its migration \(name) is not known to this program"
        case .refused(let statement, let state): "PostgreSQL refused a migration (\(statement), SQLSTATE \(state.code))"
        case .blocked(let wait): "migration \(wait.name) found its tables taken \(wait.tries) times: \(wait.whoHolds)"
        case .store(let fault): "the database could not be migrated: \(fault)"
        }
    }
}
