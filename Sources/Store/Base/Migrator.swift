import Basis
import Migrations
import Postgres
import Reactor

/// Brings a database's schema up to this program's. It goes forward only, one process at a time. Each step has a
/// transaction of its own, so that it holds no lock of the step before.
///
/// Applied migrations are compared with the embedded history by name and checksum. Until 0.1.0 a change edits the file
/// of its concern. A database that another history made can't be brought up to this program's, so it is refused.
///
/// Programs run meanwhile. A request for a whole table makes everybody behind it wait too, so no lock is waited for
/// longer than `MigrationLockPolicy` says. Then the step releases all its locks and is tried again later.
package struct Migrator: Sendable {
    private let pool: PostgresPool
    private let history: [Migration]
    private let lockPolicy: MigrationLockPolicy

    package static var embedded: [Migration] {
        EmbeddedMigrations.inOrder.map { Migration(name: $0.name, sql: $0.sql) }
    }

    package init(pool: PostgresPool) { self.init(pool: pool, history: Self.embedded) }

    package init(pool: PostgresPool, history: [Migration], lockPolicy: MigrationLockPolicy = MigrationLockPolicy()) {
        (self.pool, self.history, self.lockPolicy) = (pool, history, lockPolicy)
    }

    /// Applies what is missing and returns the names of what it applied.
    ///
    /// - Parameter waits: called after each try of a step that found its tables locked, before the next.
    package func migrate(
        waits: @Sendable (MigrationWait) async -> Void = { _ in }
    ) async throws(MigrationFault) -> [String] {
        var names: [String] = []
        while let name = try await applyNext(waits) { names.append(name) }
        return names
    }

    /// The names of this program's migrations that the database lacks. Changes nothing and waits for no lock.
    package func missing() async throws(MigrationFault) -> [String] {
        let applied: Applied
        do throws(PostgresError) {
            let isThere = try await pool.read(Query(MigrationSQL.hasHistory)).one(Bool.init)
            guard isThere else { return history.map(\.name) }
            applied = try Applied(reading: await pool.read(comparison), of: history)
        } catch { throw .store(StoreFault(error)) }
        if let fault = applied.fault { throw fault }
        return history.dropFirst(applied.count).map(\.name)
    }

    private var comparison: [Query] {
        [Query(MigrationSQL.applied), Query(MigrationSQL.checksums) { $0.bytesArray("files", history.map(\.sql)) }]
    }

    /// Returns the migration's name; nil: nothing is left to do.
    private func applyNext(_ waits: @Sendable (MigrationWait) async -> Void) async throws(MigrationFault) -> String? {
        let giveUpAt = Clocks.monotonicNow() + lockPolicy.total
        var tries = 0
        while true {
            let lockWait = lockPolicy.lockWait(afterTries: tries)
            let step: Step
            do throws(PostgresError) {
                step = try await tryNext(lockWait)
            } catch .refused(let refusal) {
                throw .refused(statement: refusal.statement, refusal.sqlState)
            } catch { throw .store(StoreFault(error)) }
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
        /// A lock was not available in time, or there was a deadlock.
        case blocked
    }

    /// A migration may take long, so it runs without a statement timeout, under a long deadline of ours.
    private static let deadline: Duration = .seconds(3_600)

    private func tryNext(_ lockWait: Duration) async throws(PostgresError) -> Step {
        do throws(PostgresError) {
            return try await pool.transaction(TransactionOptions(deadline: Self.deadline)) {
                transaction throws(PostgresError) -> Step in
                // Until it has the migration lock, it holds nothing that anybody needs. So it waits without a limit.
                try await transaction.script("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0")
                let applied = try await applied(in: transaction)
                if let fault = applied.fault { return await transaction.abandon(returning: .impossible(fault)) }
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
        // The lock comes before anything is read: a second process waits here, then finds the work done.
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
            $0.int32("position", Int32(place + 1))
            $0.text("name", migration.name)
            $0.bytes("checksum", checksum)
        }
        _ = try await transaction.run([record])
    }

    private func nextName() async -> String {
        let missing = try? await missing()
        return missing?.first ?? ""
    }

    /// The sessions that held locks before the last try and still do: the likely cause, as far as this role may see it.
    private func holders(since lockWait: Duration) async -> [LockHolder] {
        (try? await LockHolder.read(pool, since: lockWait, onlyBlocking: false)) ?? []
    }
}

/// One step of the schema.
package struct Migration: Equatable, Sendable {
    /// "NNNN_concern".
    package let name: String
    package let sql: [UInt8]

    package init(name: String, sql: [UInt8]) { (self.name, self.sql) = (name, sql) }
}

/// The migrations applied to a database, compared with this program's history.
private struct Applied {
    let count: Int
    /// The checksums of this program's migrations.
    let checksums: [[UInt8]]
    /// The reason why this program may not work on the database.
    let fault: MigrationFault?

    /// - Parameter answers: those to `MigrationSQL.applied` and `MigrationSQL.checksums`.
    init(reading answers: [ResultSet], of history: [Migration]) throws(PostgresError) {
        count = answers[0].rowCount
        checksums = try answers[1].map { row throws(PostgresError) in try row.bytes() }
        let steps = try answers[0].map { row throws(PostgresError) in
            (name: try row.text(), checksum: try row.bytes())
        }
        for (place, step) in steps.enumerated() {
            if place >= history.count || step.name != history[place].name {
                fault = .unknown(step.name)
                return
            }
            if step.checksum != checksums[place] {
                fault = .changed(step.name)
                return
            }
        }
        fault = nil
    }
}

package enum MigrationFault: Error, Equatable, Sendable {
    /// The database was made with another text of this migration.
    case changed(String)
    /// The database has a migration that this program does not have, or has at another place.
    case unknown(String)
    case refused(statement: String, SQLState)
    /// Others held the step's tables until `MigrationLockPolicy.total` was over.
    case blocked(MigrationWait)
    case store(StoreFault)
}

extension MigrationFault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .changed(let name): "its migration \(name) differs from this program's"
        case .unknown(let name): "its migration \(name) is not known to this program"
        case .refused(let statement, let state): "PostgreSQL refused a migration (\(statement), SQLSTATE \(state.code))"
        case .blocked(let wait):
            "migration \(wait.name) could not lock its tables in \(wait.tries) tries: \(wait.whoHolds)"
        case .store(let fault): "the database could not be migrated: \(fault)"
        }
    }
}
