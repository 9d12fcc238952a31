import Basis
import Encodings
import Model
import Postgres
import QueueRules

/// The parameters of `SettleSQL.settle`. A row of a list names its settlement by the place, from 1.
///
/// They are added in the order of the text, which spares sorting them.
extension Parameters {
    /// - Parameter places: for each settlement, its place in the order in which they were handed in.
    mutating func settlements(_ settlements: [Settlement], places: [Int], now: WallInstant?) {
        int64Array("parcels", settlements.map(\.parcel.value))
        int32Array("epochs", settlements.map(\.epoch))
        int32Array("settles", settlements.map(\.settles))
        for state in TerminalState.allCases { int32Array(state.name, settlements.map { $0.count(of: state) }) }
        int64Array("answered", settlements.map { Int64($0.sample.answered) })
        int64Array("suspected", settlements.map { Int64($0.sample.suspected) })
        int32Array("handed", settlements.map { Int32($0.remainders.reduce(0) { $0 + $1.members.count }) })
        bytesArray("bits", settlements.map { $0.pendingAfter > 0 ? $0.settledBits : [] })
        int32Array("pending", settlements.map { Int32($0.pendingAfter) })
        int64Array("turns", places.map(Int64.init))
        int64Array("badge_sets", settlements.map(\.badgeSet))
        instant("now", now)
    }

    mutating func reasons(of settlements: [Settlement]) {
        let counts = settlements.enumerated().flatMap { place, settlement in
            TerminalCount.nonZero(settlement.terminalCounts).map {
                (place: Int64(place + 1), settlement: settlement, count: $0)
            }
        }
        int64Array("ended_places", counts.map(\.place))
        uuidArray("ended_messages", counts.map(\.settlement.message.value))
        int64Array("ended_routes", counts.map(\.settlement.route.value))
        int16Array("ended_states", counts.map(\.count.terminalStatus.state.rawValue))
        textArray("ended_reasons", counts.map(\.count.terminalStatus.reason))
        int64Array("ended_counts", counts.map { Int64($0.count.count) })
        textArray("ended_details", counts.map { $0.settlement.detail(of: $0.count.terminalStatus) })
    }

    mutating func history(of settlements: [Settlement]) {
        let history = settlements.enumerated().flatMap { place, settlement in
            settlement.history.filter { !$0.members.isEmpty }.enumerated().map { number, entry in
                (place: Int64(place + 1), settlement: settlement, number: Int64(number + 1), entry: entry)
            }
        }
        int64Array("event_places", history.map(\.place))
        uuidArray("event_messages", history.map(\.settlement.message.value))
        int64Array("event_parcels", history.map(\.settlement.parcel.value))
        int32Array("event_settles", history.map(\.settlement.settles))
        int64Array("event_routes", history.map(\.settlement.route.value))
        int64Array("event_numbers", history.map(\.number))
        int16Array("event_states", history.map(\.entry.event.columns.state))
        textArray("event_reasons", history.map(\.entry.event.columns.reason))
        int16Array("event_attempts", history.map(\.entry.attempts))
        int64Array("event_first_members", history.map { $0.entry.members.first?.value ?? 0 })
        int64Array("event_last_members", history.map { $0.entry.members.last?.value ?? 0 })
        bytesArray("event_members", history.map { MemberList.encode($0.entry.members.map(\.value)) })
        int32Array("event_member_counts", history.map { Int32($0.entry.members.count) })
    }

    mutating func takenBack(of settlements: [Settlement]) {
        let taken = settlements.enumerated().flatMap { place, settlement in
            settlement.takenBack.map { (place: Int64(place + 1), member: $0.value, badgeSet: settlement.badgeSet) }
        }
        int64Array("taken_places", taken.map(\.place))
        int64Array("taken_members", taken.map(\.member))
        int64Array("taken_sets", taken.map(\.badgeSet))
    }

    mutating func remainders(of settlements: [Settlement]) {
        let remainders = settlements.enumerated().flatMap { place, settlement in
            settlement.remainders.filter { !$0.members.isEmpty }.map { (place: Int64(place + 1), left: $0) }
        }
        int64Array("remainder_places", remainders.map(\.place))
        int64Array("routes", remainders.map(\.left.route.value))
        int64Array("due_after_us", remainders.map(\.left.dueAfter.wholeMicroseconds))
        int16Array("attempts", remainders.map(\.left.attempt))
        int16Array("lapses", remainders.map(\.left.lapses))
        int64Array("retry_spent_us", remainders.map(\.left.retrySpent.wholeMicroseconds))
        boolArray("answer_lost", remainders.map(\.left.answerLost))
        bytesArray("members", remainders.map { MemberList.encode($0.left.members.map(\.value)) })
        int32Array("member_counts", remainders.map { Int32($0.left.members.count) })
        textArray("wait_causes", remainders.map(\.left.cause.rawValue))
        textArray("wait_quotes", remainders.map(\.left.quote))
        boolArray("are_counted", remainders.map(\.left.isCounted))
        instantArray("due_at", remainders.map(\.left.dueAt))
        let origins = remainders.map(\.left.origin)
        int64Array("origin_routes", origins.map { $0?.route.value })
        int32Array("origin_generations", origins.map { $0?.generation.value })
        textArray("origin_reasons", origins.map { $0?.reason })
        instantArray("origin_until", origins.map { $0?.until })
        instantArray("origin_as_of", origins.map { $0?.asOf })
    }
}

extension Settlement {
    fileprivate func count(of state: TerminalState) -> Int32 {
        Int32(terminalCounts.reduce(0) { $0 + ($1.terminalStatus.state == state ? $1.count : 0) })
    }
}

extension HistoryEvent {
    /// In the column of the terminal state: the push goes on.
    static let goesOnColumn: Int16 = 0

    fileprivate var columns: (state: Int16, reason: String) {
        switch self {
        case .ended(let terminalStatus): (terminalStatus.state.rawValue, terminalStatus.reason)
        case .goesOn(let cause): (Self.goesOnColumn, cause.rawValue)
        }
    }
}
