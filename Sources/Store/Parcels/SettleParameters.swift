import Basis
import Encodings
import Model
import Postgres
import QueueRules

/// The parameters of `SettleSQL.settle`, in their order. A row of a list names its settlement by the place, from 1.
extension Parameters {
    /// - Parameter places: for each settlement, its place in the order in which they were handed in.
    mutating func settlements(_ settlements: [Settlement], places: [Int], now: WallInstant?) {
        int64Array(settlements.map(\.parcel.value))
        int32Array(settlements.map(\.epoch))
        int32Array(settlements.map(\.settles))
        for state in TerminalState.allCases {
            int32Array(
                settlements.map { settlement in
                    Int32(
                        settlement.terminalCounts.reduce(0) { $0 + ($1.terminalStatus.state == state ? $1.count : 0) })
                })
        }
        int64Array(settlements.map { Int64($0.sample.answered) })
        int64Array(settlements.map { Int64($0.sample.suspected) })
        instant(now)
        int32Array(settlements.map { Int32($0.remainders.reduce(0) { $0 + $1.members.count }) })
        bytesArray(settlements.map { $0.pendingAfter > 0 ? $0.settledBits : [] })
        int32Array(settlements.map { Int32($0.pendingAfter) })
        int64Array(places.map(Int64.init))
    }

    mutating func reasons(of settlements: [Settlement]) {
        let counts = settlements.enumerated().flatMap { place, settlement in
            TerminalCount.nonZero(settlement.terminalCounts).map { (place: Int64(place + 1), terminalStatus: $0) }
        }
        int64Array(counts.map(\.place))
        int16Array(counts.map(\.terminalStatus.terminalStatus.state.rawValue))
        textArray(counts.map(\.terminalStatus.terminalStatus.reason))
        int64Array(counts.map { Int64($0.terminalStatus.count) })
    }

    mutating func history(of settlements: [Settlement]) {
        let history = settlements.enumerated().flatMap { place, settlement in
            settlement.history.filter { !$0.members.isEmpty }.enumerated().map { number, entry in
                (place: Int64(place + 1), number: Int64(number + 1), entry: entry)
            }
        }
        int64Array(history.map(\.place))
        int64Array(history.map(\.number))
        int16Array(history.map(\.entry.event.state))
        textArray(history.map(\.entry.event.reason))
        int16Array(history.map(\.entry.attempts))
        int64Array(history.map { $0.entry.members.first?.value ?? 0 })
        int64Array(history.map { $0.entry.members.last?.value ?? 0 })
        bytesArray(history.map { MemberList.encode($0.entry.members.map(\.value)) })
        int32Array(history.map { Int32($0.entry.members.count) })
    }

    mutating func remainders(of settlements: [Settlement]) {
        let remainders = settlements.enumerated().flatMap { place, settlement in
            settlement.remainders.filter { !$0.members.isEmpty }.map { (place: Int64(place + 1), left: $0) }
        }
        int64Array(remainders.map(\.place))
        int64Array(remainders.map(\.left.route.value))
        int64Array(remainders.map(\.left.dueAfter.wholeMicroseconds))
        int16Array(remainders.map(\.left.attempt))
        int16Array(remainders.map(\.left.lapses))
        int64Array(remainders.map(\.left.retrySpent.wholeMicroseconds))
        boolArray(remainders.map(\.left.answerLost))
        bytesArray(remainders.map { MemberList.encode($0.left.members.map(\.value)) })
        int32Array(remainders.map { Int32($0.left.members.count) })
        textArray(remainders.map(\.left.cause.rawValue))
        boolArray(remainders.map(\.left.isCounted))
        instantArray(remainders.map(\.left.dueAt))
        let origins = remainders.map(\.left.origin)
        int64Array(origins.map { $0?.route.value })
        int32Array(origins.map { $0?.generation.value })
        textArray(origins.map { $0?.reason })
        instantArray(origins.map { $0?.until })
        instantArray(origins.map { $0?.asOf })
    }
}

extension HistoryEvent {
    /// The value of the column `state`.
    fileprivate var state: Int16 {
        switch self {
        case .ended(let terminalStatus): terminalStatus.state.rawValue
        case .goesOn: 0
        }
    }

    fileprivate var reason: String {
        switch self {
        case .ended(let terminalStatus): terminalStatus.reason
        case .goesOn(let cause): cause.rawValue
        }
    }
}
