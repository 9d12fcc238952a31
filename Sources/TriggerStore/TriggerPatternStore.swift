import Postgres
import Store

/// An app's regular expressions for triggers, compiled and matched by PostgreSQL.
package struct TriggerPatternStore: Sendable {
    /// The longest time that one question takes. Compiling and matching have no bound of their own.
    package static let timeMax: Duration = .seconds(1)

    private let pool: PostgresPool

    /// - Parameter stores: their pool is shared.
    package init(beside stores: Stores) { pool = stores.pool }

    package enum Compilation: Equatable, Sendable {
        case compiled
        /// The text is no regular expression, or one that is too complex.
        case invalid
        case tooSlow
    }

    /// Compiles a pattern, alone and in its wrapper.
    package func compile(_ pattern: WholePattern) async throws(StoreFault) -> Compilation {
        let query = Query(TriggerPatternSQL.compile) {
            $0.text("own", pattern.own)
            $0.text("whole", pattern.whole)
        }
        return try await translating { () throws(PostgresError) in
            do throws(PostgresError) { _ = try await pool.read(query, deadline: Self.timeMax) } catch {
                if error == .deadlinePassed { return .tooSlow }
                guard error.isAboutValues else { throw error }
                return .invalid
            }
            return .compiled
        }
    }

    /// Whether one of the patterns matches the whole trigger. False if finding out takes too long, or if PostgreSQL no
    /// longer compiles one that it has to look at.
    package func matches(_ trigger: String, _ patterns: [WholePattern]) async throws(StoreFault) -> Bool {
        if patterns.isEmpty { return false }
        let query = Query(TriggerPatternSQL.match) {
            $0.text("trigger", trigger)
            $0.textArray("patterns", patterns.map(\.whole))
        }
        return try await translating { () throws(PostgresError) in
            do throws(PostgresError) {
                return try await pool.read(query, deadline: Self.timeMax).one(Bool.init)
            } catch {
                guard error == .deadlinePassed || error.isAboutValues else { throw error }
                return false
            }
        }
    }
}

enum TriggerPatternSQL {
    static let compile = Statement("trigger_pattern_compile", "SELECT '' ~ :own, '' ~ :whole")

    /// The patterns are looked at in their order, up to the first that matches.
    static let match = Statement(
        "trigger_pattern_match",
        "SELECT EXISTS (SELECT FROM unnest(:patterns) AS pattern WHERE :trigger ~ pattern)")
}

extension PostgresError {
    /// Whether PostgreSQL refuses a value, such as a text that is no regular expression.
    fileprivate var isAboutValues: Bool { sqlState?.isOfClass("22") ?? false }
}
