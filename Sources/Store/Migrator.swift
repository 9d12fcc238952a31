import Migrations
import Postgres
import PushModel

/// Brings a database's schema up to this program's: forward only, in one transaction, one process at a time.
///
/// What was applied is held against the embedded history by name and checksum. A database that is ahead of the program
/// is fine as long as every unknown step says that a program this old may still run beside it (`-- oldest program: NNNN`
/// in the step's own opening): migrations expand first, and contract a release later.
package struct Migrator: Sendable {
    private let pool: PostgresPool
    private let history: [Migration]

    /// This program's history.
    package static var embedded: [Migration] {
        EmbeddedMigrations.inOrder.map { Migration(name: $0.name, sql: $0.sql) }
    }

    package init(pool: PostgresPool) { self.init(pool: pool, history: Self.embedded) }

    package init(pool: PostgresPool, history: [Migration]) {
        self.pool = pool
        self.history = history
    }

    /// The names of the migrations that were applied now.
    package func migrate() async throws(MigrationFault) -> [String] {
        let outcome: Result<[String], MigrationFault>
        do throws(PostgresError) {
            // A migration may take its time: no statement timeout, and a long deadline of our own.
            let options = TransactionOptions(deadline: Self.deadline)
            // Programs are at work meanwhile, and lock tables in orders of their own.
            outcome = try await pool.retryingConflicts { () throws(PostgresError) in
                try await pool.transaction(options) { transaction throws(PostgresError) in
                    try await migrate(in: transaction)
                }
            }
        } catch .refused(let refusal) {
            throw .refused(statement: refusal.statement, refusal.sqlState)
        } catch {
            throw .store(StoreFault(error))
        }
        return try outcome.get()
    }

    private static let deadline: Duration = .seconds(3_600)

    private func migrate(
        in transaction: PostgresTransaction
    ) async throws(PostgresError) -> Result<[String], MigrationFault> {
        try await transaction.script("SET LOCAL statement_timeout = 0")
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
        if let fault = MigrationHistory.fault(applied: applied, known: history.map(\.name), checksums: checksums) {
            await transaction.abandon()
            return .failure(fault)
        }
        return try await apply(from: applied.count, checksums: checksums, in: transaction)
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

    private func apply(
        from position: Int, checksums: [[UInt8]], in transaction: PostgresTransaction
    ) async throws(PostgresError) -> Result<[String], MigrationFault> {
        var names: [String] = []
        for place in history.indices where place >= position {
            let migration = history[place]
            guard let oldest = migration.oldestProgram else {
                await transaction.abandon()
                return .failure(.saysNoOldestProgram(migration.name))
            }
            try await transaction.script(String(decoding: migration.sql, as: UTF8.self))
            let record = Query(MigrationSQL.record) {
                $0.int32(Int32(place + 1))
                $0.text(migration.name)
                $0.bytes(checksums[place])
                $0.int32(Int32(oldest))
            }
            _ = try await transaction.run([record])
            names.append(migration.name)
        }
        return .success(names)
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
        case .store(let fault): "the database could not be migrated: \(fault)"
        }
    }
}
