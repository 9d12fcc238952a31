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
    package func undo(
        feedback id: Int64, app: AppID, now: WallInstant? = nil
    ) async throws(StoreFault) -> UndoReply {
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
            $0.int64(app.value)
            $0.int64(id)
        }
        let pool = pool
        let options = TransactionOptions(lockTimeout: Self.lockTimeout)
        return try await translating { () throws(PostgresError) in
            try await pool.retryingConflicts { () throws(PostgresError) in
                try await pool.transaction(options) { transaction throws(PostgresError) -> UndoReply in
                    let found = try await transaction.run([Query(PlannerSQL.throughKeys), retirement])[1]
                    guard found.rowCount == 1 else { return .unknownFeedback }
                    guard let verdict = FeedbackVerdict(rawValue: try found.int16(0, 2)) else {
                        throw .unexpectedShape(statement: "undo_retirement", column: 2)
                    }
                    let retired = Retirement(
                        verdict: verdict, generation: TokenGeneration(try found.int32(0, 1)),
                        isUndone: try found.bool(0, 3))
                    return try await Self.undo(
                        retired, feedback: id, of: RegistrationID(try found.int64(0, 0)), app, now, in: transaction)
                }
            }
        }
    }

    private static func undo(
        _ retired: Retirement, feedback: Int64, of registration: RegistrationID, _ app: AppID, _ now: WallInstant?,
        in transaction: PostgresTransaction
    ) async throws(PostgresError) -> UndoReply {
        var name = Parameters()
        name.int64(app.value)
        name.int64(registration.value)
        let answers = try await transaction.run([Query(UndoSQL.lock, name), Query(UndoSQL.holder, name)])
        let row = answers[0]
        guard row.rowCount == 1 else { return .unknownDevice }
        guard let kind = TokenKind(rawValue: try row.int16(0, 1)),
            let state = RegistrationState(rawValue: try row.int16(0, 2))
        else { throw .unexpectedShape(statement: "undo_lock", column: 1) }
        let installation = try row.text(0, 0)
        let decision = TokenLifecycle.undo(
            retired, state: state, generation: TokenGeneration(try row.int32(0, 3)),
            isTokenTaken: try answers[1].bool(0, 0))
        var writing: [Query] = []
        switch decision {
        case .notARetirement: return .notARetirement
        case .replaced: return .replaced
        case .moved: return .moved
        case .inEffect: break
        case .revived(let generation):
            writing = [
                Query(UndoSQL.revive) {
                    $0.int64(registration.value)
                    $0.int32(generation.value)
                },
                Query(UndoSQL.undone) {
                    $0.int64(feedback)
                    $0.int32(generation.value)
                    $0.instant(now)
                },
            ]
        }
        let query = Query(RegistrationSQL.device) {
            $0.int64(app.value)
            $0.text(installation)
        }
        let done = try await transaction.runAndCommit(writing + [query])
        guard let record = try DeviceRecord.all(in: done[done.count - 1]).first(where: { $0.kind == kind }) else {
            throw .unexpectedShape(statement: "registration_device", column: 0)
        }
        return .live(record)
    }
}
