import Basis
import Model
import Postgres
import RegistryRules

package enum UndoReply: Equatable, Sendable {
    /// The token is live, since now or since an earlier undo or registration.
    case live(DeviceRecord)
    /// The app's feed has no such entry.
    case unknownFeedback
    /// The registration was removed.
    case unknownDevice
    case notARetirement
    case replaced
    case moved
}

extension RegistryStore {
    /// Restores the token that a feedback entry retired. Repeating it changes nothing.
    package func undo(feedback id: Int64, app: AppID, now: WallInstant? = nil) async throws(StoreFault) -> UndoReply {
        for _ in 1..<Self.singleTriesMax {
            do throws(StoreFault) { return try await undoOnce(id, app, now) } catch {
                // The token was registered elsewhere meanwhile. The next try sees that holder.
                guard case .conflict = error else { throw error }
            }
        }
        return try await undoOnce(id, app, now)
    }

    private func undoOnce(_ id: Int64, _ app: AppID, _ now: WallInstant?) async throws(StoreFault) -> UndoReply {
        let retirement = Query(UndoSQL.retirement) {
            $0.int64("app", app.value)
            $0.int64("feedback", id)
        }
        let options = TransactionOptions(lockTimeout: Self.lockTimeout)
        return try await translated(
            await pool.retryingTransaction(options) { transaction throws(PostgresError) -> UndoReply in
                let entry = try await transaction.runThroughKeys(retirement).first { row throws(PostgresError) in
                    (RegistrationID(try row.int64()), try Retirement(&row))
                }
                guard let (registration, retired) = entry else { return .unknownFeedback }
                return try await Self.undo(retired, feedback: id, of: registration, app, now, in: transaction)
            })
    }

    private static func undo(
        _ retired: Retirement, feedback: Int64, of registration: RegistrationID, _ app: AppID, _ now: WallInstant?,
        in transaction: PostgresTransaction
    ) async throws(PostgresError) -> UndoReply {
        let reading = [UndoSQL.lock, UndoSQL.holder].map {
            Query($0) {
                $0.int64("app", app.value)
                $0.int64("registration", registration.value)
            }
        }
        let answers = try await transaction.run(reading)
        guard let row = try answers[0].first(LockedRow.init) else { return .unknownDevice }
        let decision = TokenLifecycle.undo(
            retired, state: row.state, generation: row.generation, isTokenTaken: try answers[1].one(Bool.init))
        var writing: [Query] = []
        switch decision {
        case .notARetirement: return .notARetirement
        case .replaced: return .replaced
        case .moved: return .moved
        case .inEffect: break
        case .revived(let generation):
            writing = [
                Query(UndoSQL.revive) {
                    $0.int64("registration", registration.value)
                    $0.int32("generation", generation.value)
                },
                Query(UndoSQL.undone) {
                    $0.int64("feedback", feedback)
                    $0.int32("generation", generation.value)
                    $0.instant("now", now)
                },
                Query(awakening: [registration], now: now),
            ]
        }
        let query = Query(RegistrationSQL.device) { $0.installation(row.installation, of: app) }
        let done = try await transaction.runAndCommit(writing + [query])
        let records = try done[done.count - 1].map(DeviceRecord.init)
        guard let record = records.first(where: { $0.kind == row.kind }) else {
            throw .unexpectedShape(statement: "registration_device", column: 0)
        }
        return .live(record)
    }
}

extension Retirement {
    fileprivate init(_ row: inout Row) throws(PostgresError) {
        let generation = TokenGeneration(try row.int32())
        self.init(verdict: try row.stored(), generation: generation, isUndone: try row.bool())
    }
}

/// The registration that the entry names.
private struct LockedRow {
    let installation: String
    let kind: TokenKind
    let state: RegistrationState
    let generation: TokenGeneration

    init(_ row: inout Row) throws(PostgresError) {
        (installation, kind, state) = (try row.text(), try row.stored(), try row.stored())
        generation = TokenGeneration(try row.int32())
    }
}
