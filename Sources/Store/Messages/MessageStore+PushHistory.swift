import Basis
import Encodings
import Model
import Postgres

extension MessageStore {
    /// The steps of a message's push to one installation; nil: the app has no such message.
    ///
    /// The open parcels are read before the history: what is settled in between is in the history, and that counts.
    package func pushHistory(
        app: AppID, id: MessageID, installation: String
    ) async throws(StoreFault) -> PushHistory? {
        let query = Query(HistorySQL.subject) {
            $0.int64(app.value)
            $0.uuid(id.value)
            $0.text(installation)
        }
        let pool = pool
        return try await translating { () throws(PostgresError) in
            let rows = try await pool.read(query)
            guard rows.rowCount == 1 else { return nil }
            let subject = try HistorySubject(reading: rows, installation: installation)
            let named = try await stepsOfName(subject, of: id)
            guard let registration = subject.registration, named.isEmpty else {
                return subject.pushHistory(id, installation, status: subject.status(nil, named), steps: named)
            }
            let pending = try await pending(registration, of: id)
            let steps = try await steps(registration, of: id)
            return subject.pushHistory(id, installation, status: subject.status(pending, steps), steps: steps)
        }
    }

    /// The rows that are read at a time: each may name thousands of members.
    private static let rowsAtOnce: Int64 = 64

    /// The push in the open parcel that owes it; nil: none does.
    private func pending(_ registration: Int64, of id: MessageID) async throws(PostgresError) -> PushStatus? {
        var last: Int64 = 0
        while true {
            let after = last
            let rows = try await pool.read(
                Query(HistorySQL.openParcels) {
                    $0.uuid(id.value)
                    $0.int64(after)
                    $0.int64(Self.rowsAtOnce)
                })
            for row in 0..<rows.rowCount {
                last = try rows.int64(row, 0)
                let members = try rows.members(row, 8, of: "history_open_parcels")
                guard let place = members.place(of: registration), try !rows.isSettled(place, row) else { continue }
                guard let leg = try rows.leg(row, 1) else { continue }
                let push = PendingPush(
                    parcel: ParcelID(last), leg: leg, attempts: try rows.int16(row, 5), dueAt: try rows.instant(row, 6),
                    cause: try rows.textOrNil(row, 7))
                return try rows.int16(row, 4) == 2 ? .sending(push) : .waiting(push)
            }
            if rows.rowCount < Int(Self.rowsAtOnce) { return nil }
        }
    }

    /// The steps of a named installation that the app did not know.
    private func stepsOfName(_ subject: HistorySubject, of id: MessageID) async throws(PostgresError) -> [PushStep] {
        guard !subject.isInTime, let name = subject.placeAmongNames else { return [] }
        let query = Query(HistorySQL.aboutName) {
            $0.uuid(id.value)
            $0.int64(name)
        }
        let rows = try await pool.read(query)
        var steps: [PushStep] = []
        for row in 0..<rows.rowCount {
            guard try rows.members(row, 3, of: "history_about_name").place(of: name) != nil,
                let state = TerminalState(rawValue: try rows.int16(row, 0))
            else { continue }
            steps.append(
                PushStep(
                    at: try rows.instant(row, 2), parcel: nil, leg: nil, attempts: 0,
                    event: .ended(TerminalStatus(state, try rows.text(row, 1)))))
        }
        return steps
    }

    /// The steps by time, then by parcel.
    private func steps(_ registration: Int64, of id: MessageID) async throws(PostgresError) -> [PushStep] {
        var steps: [PushStep] = []
        var last = FailureCursor.start
        while true {
            let after = last
            let rows = try await pool.read(
                Query(HistorySQL.about) {
                    $0.uuid(id.value)
                    $0.int64(registration)
                    $0.int64(after.parcel)
                    $0.int32(after.settle)
                    $0.int16(after.place)
                    $0.int64(Self.rowsAtOnce)
                })
            for row in 0..<rows.rowCount {
                last = FailureCursor(
                    parcel: try rows.int64(row, 0), settle: try rows.int32(row, 1), place: try rows.int16(row, 2),
                    position: 0)
                let members = try rows.members(row, 10, of: "history_about")
                guard members.place(of: registration) != nil, let leg = try rows.leg(row, 3) else { continue }
                let state = try rows.int16(row, 6)
                let reason = try rows.text(row, 7)
                let event = TerminalState(rawValue: state).map { PushStep.Event.ended(TerminalStatus($0, reason)) }
                steps.append(
                    PushStep(
                        at: try rows.instant(row, 9), parcel: last.parcel == 0 ? nil : ParcelID(last.parcel), leg: leg,
                        attempts: try rows.int16(row, 8), event: event ?? .goesOn(reason)))
            }
            if rows.rowCount < Int(Self.rowsAtOnce) { break }
        }
        return steps.sorted { one, other in
            one.at == other.at ? (one.parcel?.value ?? 0) < (other.parcel?.value ?? 0) : one.at < other.at
        }
    }
}

/// The message and the installation that a push history is about.
private struct HistorySubject {
    let registration: Int64?
    private let kind: TokenKind
    private let acceptedAt: WallInstant
    /// Whether the registration lies within the message's horizon.
    let isInTime: Bool
    private let isPlanned: Bool
    private let isWhole: Bool
    /// False once retention removed the message's content.
    private let knowsNames: Bool
    /// The place among the audience's names, from 1; nil: it is not named there.
    let placeAmongNames: Int64?

    init(reading rows: ResultSet, installation: String) throws(PostgresError) {
        guard let kind = TokenKind(rawValue: try rows.int16(0, 0)) else {
            throw .unexpectedShape(statement: "history_subject", column: 0)
        }
        self.kind = kind
        acceptedAt = try rows.instant(0, 1)
        let horizon = try rows.int64(0, 2)
        isPlanned = try rows.bool(0, 3)
        registration = try rows.int64OrNil(0, 4)
        isWhole = try rows.bool(0, 5)
        isInTime = registration.map { $0 <= horizon } ?? false
        let bytes = try rows.bytesOrNil(0, 6)
        knowsNames = bytes != nil
        let audience = bytes.flatMap(AudienceText.decode)
        if case .installations(let names)? = audience?.selection {
            // Names compare by their bytes, as in the database.
            let place = names.firstIndex { $0.utf8.elementsEqual(installation.utf8) }
            placeAmongNames = place.map { Int64($0) + 1 }
        } else {
            placeAmongNames = nil
        }
    }

    /// The status without a registration in time and a recorded end: a named installation was deleted since. Once
    /// retention removed the content, nobody can tell whom it named.
    private var statusWithoutMember: PushStatus {
        if placeAmongNames == nil, knowsNames { return .notInAudience }
        return isPlanned ? .notKept : .planning
    }

    func status(_ pending: PushStatus?, _ steps: [PushStep]) -> PushStatus {
        for step in steps {
            if case .ended(let terminalStatus) = step.event { return .ended(terminalStatus) }
        }
        if let pending { return pending }
        if !isInTime { return statusWithoutMember }
        if steps.isEmpty, !isPlanned { return .planning }
        return steps.isEmpty && isWhole ? .notInAudience : .notKept
    }

    func pushHistory(
        _ id: MessageID, _ installation: String, status: PushStatus, steps: [PushStep] = []
    ) -> PushHistory {
        PushHistory(
            message: id, acceptedAt: acceptedAt, installation: installation, kind: kind,
            registration: registration.map(RegistrationID.init), status: status, steps: steps)
    }
}

extension ResultSet {
    /// The route in three columns: provider, environment and topic; nil: a newer program's.
    fileprivate func leg(_ row: Int, _ column: Int) throws(PostgresError) -> RouteDescription? {
        guard let provider = Provider(rawValue: try int16(row, column)),
            let environment = PushEnvironment(rawValue: try int16(row, column + 1))
        else { return nil }
        return RouteDescription(provider: provider, environment: environment, topic: try text(row, column + 2))
    }

    /// Whether the member is settled, by a row of `HistorySQL.openParcels`.
    fileprivate func isSettled(_ place: Int, _ row: Int) throws(PostgresError) -> Bool {
        guard let bits = try bytesOrNil(row, 9), !bits.isEmpty else { return false }
        guard let bitmap = MemberBitmap(bytes: bits, count: Int(try int32(row, 10))), place < bitmap.count else {
            throw .unexpectedShape(statement: "history_open_parcels", column: 9)
        }
        return bitmap[place]
    }
}

extension [Int64] {
    /// Binary search in rising ids.
    fileprivate func place(of id: Int64) -> Int? {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if self[middle] < id { low = middle + 1 } else { high = middle }
        }
        return low < count && self[low] == id ? low : nil
    }
}
