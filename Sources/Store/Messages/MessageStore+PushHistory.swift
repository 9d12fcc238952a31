import Basis
import Encodings
import Model
import Postgres
import QueueRules

extension MessageStore {
    /// The steps of a message's push to one installation; nil: the app has no such message.
    ///
    /// The open parcels are read before the history: what is settled in between is in the history, and that counts.
    package func pushHistory(app: AppID, id: MessageID, installation: String) async throws(StoreFault) -> PushHistory? {
        let query = Query(HistorySQL.subject) {
            $0.message(id, of: app)
            $0.text("installation", installation)
        }
        return try await translating { () throws(PostgresError) in
            let subject = try await pool.read(query).first { row throws(PostgresError) in
                try HistorySubject(&row, installation: installation)
            }
            guard let subject else { return nil }
            let named = try await stepsOfName(subject, of: id)
            guard let registration = subject.registration, named.isEmpty else {
                return subject.pushHistory(id, installation, pending: nil, steps: named)
            }
            let pending = try await pending(registration, of: id)
            var steps = try await steps(registration, of: id)
            let details = try ReasonDetails(
                try await pool.read(Query(HistorySQL.details) { $0.uuid("message", id.value) }))
            for place in steps.indices {
                if case .ended(let status) = steps[place].event { steps[place].detail = details[status] }
            }
            return subject.pushHistory(id, installation, pending: pending, steps: steps)
        }
    }

    /// The rows that are read at a time: each may name thousands of members.
    private static let rowsAtOnce: Int64 = 64

    /// The push in a parcel where it has not ended yet; nil: there is none.
    private func pending(_ registration: Int64, of id: MessageID) async throws(PostgresError) -> PushStatus? {
        var last: Int64 = 0
        while true {
            let query = Query(HistorySQL.openParcels) {
                $0.uuid("message", id.value)
                $0.int64("after", last)
                $0.int64("limit", Self.rowsAtOnce)
            }
            let parcels = try await pool.read(query).map { row throws(PostgresError) in
                try OpenParcel(&row, for: registration)
            }
            if let status = parcels.lazy.compactMap(\.status).first { return status }
            guard parcels.count == Int(Self.rowsAtOnce), let parcel = parcels.last else { return nil }
            last = parcel.id
        }
    }

    /// The steps of a named installation that the app did not know.
    private func stepsOfName(_ subject: HistorySubject, of id: MessageID) async throws(PostgresError) -> [PushStep] {
        guard !subject.isWithinHorizon, let name = subject.placeAmongNames else { return [] }
        let query = Query(HistorySQL.aboutName) {
            $0.uuid("message", id.value)
            $0.int64("name", name)
        }
        return try await pool.read(query).map { row throws(PostgresError) -> PushStep? in
            let (state, reason, at) = (TerminalState(rawValue: try row.int16()), try row.text(), try row.instant())
            let members = try row.members(column: 3, of: HistorySQL.aboutName)
            guard members.place(of: name) != nil, let state else { return nil }
            return PushStep(at: at, parcel: nil, leg: nil, attempts: 0, event: .ended(TerminalStatus(state, reason)))
        }.compactMap { $0 }
    }

    /// The steps by time, then by parcel.
    private func steps(_ registration: Int64, of id: MessageID) async throws(PostgresError) -> [PushStep] {
        var steps: [PushStep] = []
        var last = HistoryCursor.start
        while true {
            let query = Query(HistorySQL.about) {
                $0.uuid("message", id.value)
                $0.int64("registration", registration)
                $0.int64("parcel", last.parcel)
                $0.int32("settle", last.settle)
                $0.int16("place", last.place)
                $0.int64("limit", Self.rowsAtOnce)
            }
            let rows = try await pool.read(query).map { row throws(PostgresError) in
                try AboutRow(&row, for: registration)
            }
            steps += rows.compactMap(\.step)
            guard rows.count == Int(Self.rowsAtOnce), let row = rows.last else { break }
            last = row.place
        }
        return steps.sorted { one, other in
            one.at == other.at ? (one.parcel?.value ?? 0) < (other.parcel?.value ?? 0) : one.at < other.at
        }
    }
}

/// A row of `HistorySQL.openParcels`.
private struct OpenParcel {
    let id: Int64
    /// nil: the parcel has no open push to the registration, or its route was written by a later version.
    let status: PushStatus?

    init(_ row: inout Row, for registration: Int64) throws(PostgresError) {
        let leg: RouteDescription?
        (id, leg) = (try row.int64(), try row.leg())
        let (attempts, dueAt, cause) = (try row.int16(), try row.instant(), try row.textOrNil())
        let isLeased = try row.int16() == ParcelState.leased.rawValue
        let count = Int(try row.int32())
        let members = try row.members(column: 9, of: HistorySQL.openParcels)
        let bits = try row.bytesOrNil() ?? []
        let settled = MemberBitmap(bytes: bits, count: count)
        guard bits.isEmpty || settled?.count == members.count else {
            throw .unexpectedShape(statement: HistorySQL.openParcels.name, column: 10)
        }
        guard let place = members.place(of: registration), settled?[place] != true, let leg else {
            status = nil
            return
        }
        let push = PendingPush(parcel: ParcelID(id), leg: leg, attempts: attempts, dueAt: dueAt, cause: cause)
        status = isLeased ? .sending(push) : .waiting(push)
    }
}

/// A row of `HistorySQL.about`.
private struct AboutRow {
    let place: HistoryCursor
    /// nil: the row is about others, or its route or state was written by a later version.
    let step: PushStep?

    init(_ row: inout Row, for registration: Int64) throws(PostgresError) {
        place = try HistoryCursor(&row)
        let (leg, state, reason) = (try row.leg(), try row.int16(), try row.text())
        let (attempts, at) = (try row.int16(), try row.instant())
        let isMember = try row.members(column: 10, of: HistorySQL.about).place(of: registration) != nil
        let parcel = place.parcel == 0 ? nil : ParcelID(place.parcel)
        let event: PushStep.Event? =
            state == HistoryEvent.goesOnColumn
            ? .goesOn(reason) : TerminalState(rawValue: state).map { .ended(TerminalStatus($0, reason)) }
        guard isMember, let leg, let event else {
            step = nil
            return
        }
        step = PushStep(at: at, parcel: parcel, leg: leg, attempts: attempts, event: event)
    }
}

/// The message and the installation that a push history is about: a row of `HistorySQL.subject`.
private struct HistorySubject {
    let registration: Int64?
    private let kind: TokenKind
    private let acceptedAt: WallInstant
    /// Whether the registration lies within the message's horizon.
    let isWithinHorizon: Bool
    private let isPlanned: Bool
    /// Whether history and open parcels tell of the whole audience.
    private let isWhole: Bool
    /// False once retention removed the message's content.
    private let knowsNames: Bool
    /// The place among the audience's names, from 1; nil: it is not named there.
    let placeAmongNames: Int64?

    init(_ row: inout Row, installation: String) throws(PostgresError) {
        (kind, acceptedAt) = (try row.stored(), try row.instant())
        let horizon = try row.int64()
        (isPlanned, registration, isWhole) = (try row.bool(), try row.int64OrNil(), try row.bool())
        isWithinHorizon = registration.map { $0 <= horizon } ?? false
        let audience = try row.bytesOrNil()
        knowsNames = audience != nil
        if case .installations(let names)? = audience.flatMap(AudienceText.decode)?.selection {
            // Names compare by their bytes, as in the database.
            placeAmongNames = names.firstIndex { $0.utf8.elementsEqual(installation.utf8) }.map { Int64($0) + 1 }
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

    private func status(_ pending: PushStatus?, _ steps: [PushStep]) -> PushStatus {
        for step in steps {
            if case .ended(let terminalStatus) = step.event { return .ended(terminalStatus) }
        }
        if let pending { return pending }
        if !isWithinHorizon { return statusWithoutMember }
        if steps.isEmpty, !isPlanned { return .planning }
        return steps.isEmpty && isWhole ? .notInAudience : .notKept
    }

    func pushHistory(_ id: MessageID, _ installation: String, pending: PushStatus?, steps: [PushStep]) -> PushHistory {
        PushHistory(
            message: id, acceptedAt: acceptedAt, installation: installation, kind: kind,
            registration: registration.map(RegistrationID.init), status: status(pending, steps), steps: steps)
    }
}

extension Row {
    /// Reads a route's provider, environment and topic; nil: a later version wrote it.
    fileprivate mutating func leg() throws(PostgresError) -> RouteDescription? {
        let (provider, environment) = (Provider(rawValue: try int16()), PushEnvironment(rawValue: try int16()))
        let topic = try text()
        guard let provider, let environment else { return nil }
        return RouteDescription(provider: provider, environment: environment, topic: topic)
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
