import Basis
import Model
import Postgres

extension MessageStore {
    /// Takes effect with its commit: no lease that begins afterwards gets anything of a paused or cancelled message.
    /// Leased parcels are taken back when their process learns of it, within one poll.
    package func control(
        _ control: ControlRequest, app: AppID, id: MessageID, now: WallInstant? = nil
    ) async throws(StoreFault) -> ControlReply {
        let pool = pool
        let answers = try await translating { () throws(PostgresError) in
            try await pool.retryingConflicts { () throws(PostgresError) in
                try await pool.transaction { transaction throws(PostgresError) in
                    try await transaction.runAndCommit(control.queries(app: app, id: id, now: now))
                }
            }
        }
        guard let last = answers.last else { return .noSuchMessage }
        let state = try await translating { () throws(PostgresError) in
            last.rowCount == 1 ? MessageState(rawValue: try last.int16(0, 0)) : nil
        }
        guard let state else { return .noSuchMessage }
        guard control.allows(state) else { return .over(state) }
        notifier.notify(.stops)
        return .done
    }

    /// The paused and cancelled ones among these messages.
    package func stopped(among messages: [MessageID]) async throws(StoreFault) -> [StoppedMessage] {
        let query = Query(ControlSQL.stopped) { $0.uuidArray(messages.map(\.value)) }
        return try await translating { () throws(PostgresError) in
            let rows = try await pool.read(query)
            return try (0..<rows.rowCount).map { row throws(PostgresError) in
                StoppedMessage(
                    message: MessageID(try rows.uuid(row, 0)),
                    stop: try rows.int16(row, 1) == MessageState.paused.rawValue ? .paused : .cancelled)
            }
        }
    }
}

extension MessageStore {
    /// The rates of those messages that have one.
    package func rates(among messages: [MessageID]) async throws(StoreFault) -> [RatedMessage] {
        let query = Query(RateSQL.among) { $0.uuidArray("messages", messages.map(\.value)) }
        return try await translating { () throws(PostgresError) in
            let rows = try await pool.read(query)
            return try (0..<rows.rowCount).map { row throws(PostgresError) in
                RatedMessage(message: MessageID(try rows.uuid(row, 0)), perSecond: try rows.int32(row, 1))
            }
        }
    }
}

extension ControlRequest {
    fileprivate func queries(app: AppID, id: MessageID, now: WallInstant?) -> [Query] {
        var named = Parameters()
        named.int64(app.value)
        named.uuid(id.value)
        return changes(app: app, id: id, now: now) + [Query(ControlSQL.state, named)]
    }

    /// The statements, in the order of their locks.
    func changes(app: AppID, id: MessageID, now: WallInstant?) -> [Query] {
        var named = Parameters()
        named.int64(app.value)
        named.uuid(id.value)
        var timed = named
        timed.instant(now)
        switch self {
        case .cancel:
            return [
                Query(ControlSQL.unschedule, named), Query(ControlSQL.cancel, named), Query(ControlSQL.stop, timed),
            ]
        case .pause: return [Query(ControlSQL.pause, named), Query(ControlSQL.stop, timed)]
        case .resume:
            return [
                Query(ControlSQL.holdSchedule, named), Query(ControlSQL.resume, timed), Query(ControlSQL.goOn, named),
            ]
        case .rate(let perSecond):
            var closing = Parameters()
            closing.int64("app", app.value)
            closing.uuid("message", id.value)
            var (rated, opening) = (closing, closing)
            rated.int32("per_second", perSecond)
            opening.instant("now", now)
            let row = perSecond == nil ? Query(RateSQL.close, closing) : Query(RateSQL.open, opening)
            return [Query(RateSQL.change, rated), row]
        }
    }

    /// Whether the request took effect, by the message's state afterwards.
    fileprivate func allows(_ state: MessageState) -> Bool {
        switch self {
        case .pause: state == .paused
        case .resume, .rate: state != .cancelled && state != .finished
        case .cancel: state == .cancelled
        }
    }
}
