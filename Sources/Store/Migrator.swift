import Migrations
import Postgres
import PushModel
import Reactor

/// Brings a database's schema up to this program's: forward only, one process at a time, each step in a transaction of
/// its own, so that what one locks the next doesn't hold.
///
/// What was applied is held against the embedded history by name and checksum. A database that is ahead of the program
/// is fine as long as every unknown step says that a program this old may still run beside it (`-- oldest program: NNNN`
/// in the step's own opening): migrations expand first, and contract a release later.
///
/// Programs are at work meanwhile. Who asks for a whole table has everybody behind it wait as well, so that no lock is
/// waited for longer than `MigrationPatience` says: then the step lets go of all that it has, and is tried again later.
package struct Migrator: Sendable {
    private let pool: PostgresPool
    private let history: [Migration]
    private let patience: MigrationPatience

    /// This program's history.
    package static var embedded: [Migration] {
        EmbeddedMigrations.inOrder.map { Migration(name: $0.name, sql: $0.sql) }
    }

    package init(pool: PostgresPool) { self.init(pool: pool, history: Self.embedded) }

    package init(pool: PostgresPool, history: [Migration], patience: MigrationPatience = MigrationPatience()) {
        self.pool = pool
        self.history = history
        self.patience = patience
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
        do throws(PostgresError) {
            let isThere = try await pool.read(Query(MigrationSQL.hasHistory)).bool(0, 0)
            guard isThere else { return history.map(\.name) }
            let rows = try await pool.read(Query(MigrationSQL.applied))
            var applied: Set<String> = []
            for row in 0..<rows.rowCount { applied.insert(try rows.text(row, 0)) }
            return history.map(\.name).filter { !applied.contains($0) }
        } catch {
            throw .store(StoreFault(error))
        }
    }

    /// nil: nothing is left to do.
    private func applyNext(
        _ waits: @Sendable (MigrationWait) async -> Void
    ) async throws(MigrationFault) -> String? {
        let giveUpAt = Clocks.monotonicNow() + patience.total
        var tries = 0
        while true {
            let lockWait = patience.lockWait(afterTries: tries)
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
            case .inTheWay:
                tries += 1
                let wait = MigrationWait(name: await nextName(), tries: tries, holders: await holders(since: lockWait))
                let pause = patience.pause(afterTries: tries)
                guard Clocks.monotonicNow() + pause < giveUpAt, !Task.isCancelled else { throw .inTheWay(wait) }
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
        case inTheWay
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
            return .inTheWay
        }
    }

    private struct Applied {
        let count: Int
        /// Of this program's history.
        let checksums: [[UInt8]]
        let fault: MigrationFault?
    }

    private func applied(in transaction: PostgresTransaction) async throws(PostgresError) -> Applied {
        // Taken before anything is read: a second process waits here, then finds the work done.
        _ = try await transaction.run([Query(MigrationSQL.lock)])
        try await transaction.script(MigrationSQL.ownTable)
        let answers = try await transaction.run([
            Query(MigrationSQL.applied),
            Query(MigrationSQL.checksums) { $0.bytesArray(history.map(\.sql)) },
        ])
        var applied: [AppliedMigration] = []
        for row in 0..<answers[0].rowCount {
            applied.append(
                AppliedMigration(
                    name: try answers[0].text(row, 0), checksum: try answers[0].bytes(row, 1),
                    oldestProgram: try answers[0].int32(row, 2)))
        }
        var checksums: [[UInt8]] = []
        for row in 0..<answers[1].rowCount { checksums.append(try answers[1].bytes(row, 0)) }
        let silent = history.dropFirst(applied.count).first { $0.oldestProgram == nil }
        let fault =
            MigrationHistory.fault(applied: applied, known: history.map(\.name), checksums: checksums)
            ?? silent.map { .saysNoOldestProgram($0.name) }
        return Applied(count: applied.count, checksums: checksums, fault: fault)
    }

    private func apply(
        _ place: Int, checksum: [UInt8], in transaction: PostgresTransaction
    ) async throws(PostgresError) {
        let migration = history[place]
        guard let oldest = migration.oldestProgram else { preconditionFailure("looked at before") }
        try await transaction.script(String(decoding: migration.sql, as: UTF8.self))
        let record = Query(MigrationSQL.record) {
            $0.int32(Int32(place + 1))
            $0.text(migration.name)
            $0.bytes(checksum)
            $0.int32(Int32(oldest))
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
    /// "NNNN_what_it_does".
    package let name: String
    package let sql: [UInt8]

    package init(name: String, sql: [UInt8]) {
        self.name = name
        self.sql = sql
    }

    static let oldestProgramMark = "-- oldest program: "

    /// The number of the last migration that a program has to know to run on what this step leaves behind.
    package var oldestProgram: Int? {
        let lines = String(decoding: sql, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        for line in lines {
            guard line.hasPrefix("--") else { return nil }
            if line.hasPrefix(Self.oldestProgramMark) { return Int(line.dropFirst(Self.oldestProgramMark.count)) }
        }
        return nil
    }
}

struct AppliedMigration: Equatable {
    let name: String
    let checksum: [UInt8]
    let oldestProgram: Int32
}

/// Whether this program may work on a database with that history. Pure.
enum MigrationHistory {
    static func fault(applied: [AppliedMigration], known: [String], checksums: [[UInt8]]) -> MigrationFault? {
        for (place, migration) in applied.enumerated() {
            if place < known.count {
                if migration.name != known[place] { return .unknownStep(migration.name) }
                if migration.checksum != checksums[place] { return .changed(migration.name) }
            } else if migration.oldestProgram > Int32(known.count) {
                return .tooNew(migration.name)
            }
        }
        return nil
    }
}

package enum MigrationFault: Error, Equatable, Sendable {
    /// The file was edited after it had been applied here.
    case changed(String)
    /// The database has a step at a place where this program knows another one: histories that forked.
    case unknownStep(String)
    /// The database was taken further by a newer program, and says that this one is too old for it.
    case tooNew(String)
    /// Our own mistake: every step says how old a program may run beside it.
    case saysNoOldestProgram(String)
    case refused(statement: String, SQLState)
    /// For as long as patience lasted others held what a step needs.
    case inTheWay(MigrationWait)
    case store(StoreFault)
}

extension MigrationFault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .changed(let name): "migration \(name) is not the one that was applied to this database"
        case .unknownStep(let name): "this database has migration \(name), which is not part of this program's history"
        case .tooNew(let name): "this database has migration \(name): it needs a newer program than this one"
        case .saysNoOldestProgram(let name): "migration \(name) does not say how old a program may run beside it"
        case .refused(let statement, let state): "PostgreSQL refused a migration (\(statement), SQLSTATE \(state.code))"
        case .inTheWay(let wait): "migration \(wait.name) found its tables taken \(wait.tries) times: \(wait.whoHolds)"
        case .store(let fault): "the database could not be migrated: \(fault)"
        }
    }
}
