/// How a step of the schema waits for its tables while programs are at work.
///
/// A table that a step has asked for is shut to everybody who comes later, and what it has already stays shut while it
/// waits for the next: `lockWait`, once for each table that it locks, is what a program can lose by one try.
package struct MigrationLockPolicy: Equatable, Sendable {
    /// Half of what a registration waits for a lock: the first tries turn no request away.
    package var lockWaitFirst: Duration = .milliseconds(250)
    /// Longer than PostgreSQL's `deadlock_timeout` (a second): only who has waited for that long makes an autovacuum give
    /// way.
    package var lockWaitMax: Duration = .milliseconds(1_500)
    /// Whoever had to wait is through before the next try.
    package var pauseFirst: Duration = .milliseconds(250)
    /// Longer would miss moments; by then programs lose little of their time to it.
    package var pauseMax: Duration = .seconds(10)
    /// A backup or somebody's forgotten session may last for hours: who starts a program learns of it sooner.
    package var total: Duration = .seconds(300)

    package init() {}

    func lockWait(afterTries tries: Int) -> Duration { Self.doubled(lockWaitFirst, tries, lockWaitMax) }

    func pause(afterTries tries: Int) -> Duration { Self.doubled(pauseFirst, tries - 1, pauseMax) }

    private static func doubled(_ first: Duration, _ times: Int, _ most: Duration) -> Duration {
        var length = first
        for _ in 0..<max(0, times) where length < most { length *= 2 }
        return min(length, most)
    }
}

/// A step of the schema that found its tables taken.
package struct MigrationWait: Equatable, Sendable {
    package let name: String
    package let tries: Int
    /// Who is likely to have them.
    package let holders: [LockHolder]

    package init(name: String, tries: Int, holders: [LockHolder]) {
        self.name = name
        self.tries = tries
        self.holders = holders
    }

    /// For people.
    package var whoHolds: String {
        guard !holders.isEmpty else { return "programs at work were faster" }
        return holders.map(\.description).joined(separator: "; ")
    }
}

/// A session of PostgreSQL that holds tables. Nothing of what it asked: that may hold what is secret.
package struct LockHolder: Equatable, Sendable, CustomStringConvertible {
    /// Of which one is told.
    static let shownMax = 3
    private static let tablesShownMax = 5

    package let process: Int32
    /// Its `application_name`, or what kind of process it is.
    package let program: String
    package let tables: [String]
    /// PostgreSQL's word, such as "idle in transaction"; empty where this role may not know.
    package let doing: String
    /// Since its transaction began; nil where this role may not know.
    package let heldFor: Duration?

    package init(process: Int32, program: String, tables: [String], doing: String, heldFor: Duration?) {
        self.process = process
        self.program = program
        self.tables = tables
        self.doing = doing
        self.heldFor = heldFor
    }

    package var description: String {
        var text = "PostgreSQL's process \(process)"
        if !program.isEmpty { text += " (\(program))" }
        text += " holds " + tables.prefix(Self.tablesShownMax).joined(separator: ", ")
        if tables.count > Self.tablesShownMax { text += " and \(tables.count - Self.tablesShownMax) more tables" }
        if let heldFor { text += " for \(heldFor.components.seconds) s" }
        if !doing.isEmpty { text += ", \(doing)" }
        return text
    }
}
