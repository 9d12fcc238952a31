import Basis
import Model
import Postgres

extension MessageStore {
    /// Takes effect with its commit: no lease that begins afterwards gets anything of a paused or cancelled message.
    /// Leased parcels are taken back when their process learns of it, within one poll.
    ///
    /// - Parameter permits: whether the caller may change a message for whose audience a key needs this scope. It is
    ///   asked once the message is locked, because a revision may change the audience meanwhile.
    package func control(
        _ control: ControlRequest, app: AppID, id: MessageID, now: WallInstant? = nil,
        permits: @escaping @Sendable (APIScope) -> Bool = { _ in true }
    ) async throws(StoreFault) -> ControlReply {
        let queries =
            control.changes(app: app, id: id, now: now) + [Query(ControlSQL.state) { $0.message(id, of: app) }]
        let reply = try await translated(
            await pool.retryingTransaction { transaction throws(PostgresError) -> ControlReply in
                let answers = try await transaction.run(queries)
                let found = try answers.last?.first { row throws(PostgresError) in
                    (try row.stored() as MessageState, JSONText(bytes: try row.textBytes()))
                }
                guard let (state, summary) = found else { return .noSuchMessage }
                let scope = AudienceText.scope(ofSummary: summary)
                guard permits(scope) else { return await transaction.abandon(returning: .forbidden(scope)) }
                return control.allows(state) ? .done : .over(state)
            })
        guard reply == .done else { return reply }
        notifier.notify(.stops)
        // A held message may be due at once, and so may one that followed a cancelled one.
        if control == .resume || control == .cancel { notifier.notify(.schedule) }
        return .done
    }

    /// The paused and cancelled ones among these messages.
    package func stopped(among messages: [MessageID]) async throws(StoreFault) -> [StoppedMessage] {
        try await read(Query(ControlSQL.stopped) { $0.uuidArray("messages", messages.map(\.value)) }) {
            row throws(PostgresError) in
            let message = MessageID(try row.uuid())
            return StoppedMessage(
                message: message, stop: try row.int16() == MessageState.paused.rawValue ? .paused : .cancelled)
        }
    }

    /// The rates of those messages that have one.
    package func rates(among messages: [MessageID]) async throws(StoreFault) -> [RatedMessage] {
        try await read(Query(RateSQL.among) { $0.uuidArray("messages", messages.map(\.value)) }) {
            row throws(PostgresError) in RatedMessage(message: MessageID(try row.uuid()), perSecond: try row.int32())
        }
    }

    /// Reads all rows of one query.
    func read<Value: Sendable>(
        _ query: Query, _ row: (inout Row) throws(PostgresError) -> Value
    ) async throws(StoreFault) -> [Value] { try await translated(await pool.read(query).map(row)) }
}

extension ControlRequest {
    /// The statements, in the order of their locks.
    func changes(app: AppID, id: MessageID, now: WallInstant?) -> [Query] {
        func named(_ statement: Statement) -> Query { Query(statement) { $0.message(id, of: app) } }
        func timed(_ statement: Statement) -> Query {
            Query(statement) {
                $0.message(id, of: app)
                $0.instant("now", now)
            }
        }
        switch self {
        case .cancel:
            return [
                named(ControlSQL.unschedule), named(ControlSQL.lock), named(ControlSQL.unschedule),
                named(ControlSQL.cancel), timed(ControlSQL.stop),
            ]
        case .pause: return [named(ControlSQL.pause), timed(ControlSQL.stop)]
        case .resume:
            return [
                named(ControlSQL.holdSchedule), named(ControlSQL.lock), timed(ControlSQL.start),
                timed(ControlSQL.resume), named(ControlSQL.goOn),
            ]
        case .rate(let perSecond):
            let change = Query(RateSQL.change) {
                $0.message(id, of: app)
                $0.int32("per_second", perSecond)
            }
            return [change, perSecond == nil ? named(RateSQL.close) : timed(RateSQL.open)]
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

extension Parameters {
    mutating func message(_ id: MessageID, of app: AppID) {
        int64("app", app.value)
        uuid("message", id.value)
    }
}
