import LaneRules
import Model

/// Leased members and parcels that are neither settled nor handed back.
struct LaneLoad: Sendable {
    /// Members leased within the lane's bound.
    var members = 0
    /// Members leased on top of the bound.
    var urgentMembers = 0
    /// Parcels leased within the lane's bound. A parcel on top of it has at least one member, so `urgentMembers` bounds
    /// those.
    var parcels = 0

    fileprivate mutating func add(_ sign: Int, _ parcel: LeasedParcel, _ scope: LeaseScope) {
        guard scope != .urgent else { return urgentMembers += sign * parcel.members.count }
        parcels += sign
        members += sign * parcel.members.count
    }
}

struct LaneState: Sendable {
    let key: LaneKey
    var health: LaneHealth
    var hold: LaneHold
    fileprivate(set) var load = LaneLoad()
}

/// The lanes in use, and those whose health is worth remembering. A new lane counts as able to send.
struct LaneTable: Sendable {
    private(set) var states: [LaneState] = []
    private var places: [LaneKey: Int] = [:]  // lookup only
    private(set) var load = LaneLoad()
    private let signalsMin: Int
    private let membersMax: Int

    init(signalsMin: Int, membersMax: Int) { (self.signalsMin, self.membersMax) = (signalsMin, membersMax) }

    /// Access in place: a copy costs more than the question.
    subscript(place: Int) -> LaneState {
        _read { yield states[place] }
        _modify { yield &states[place] }
    }

    func known(_ key: LaneKey?) -> Int? { key.flatMap { places[$0] } }

    mutating func place(of key: LaneKey) -> Int {
        if let place = places[key] { return place }
        places[key] = states.count
        states.append(
            LaneState(
                key: key, health: LaneHealth(signalsMin: signalsMin), hold: LaneHold(ceiling: membersMax)))
        return states.count - 1
    }

    mutating func begin(_ parcel: LeasedParcel, _ scope: LeaseScope, on key: LaneKey) { add(1, parcel, scope, key) }

    mutating func end(_ parcel: LeasedParcel, _ scope: LeaseScope, on key: LaneKey) { add(-1, parcel, scope, key) }

    private mutating func add(_ sign: Int, _ parcel: LeasedParcel, _ scope: LeaseScope, _ key: LaneKey) {
        states[place(of: key)].load.add(sign, parcel, scope)
        load.add(sign, parcel, scope)
    }

    mutating func forget(where isForgotten: (LaneState) -> Bool) {
        let known = states.count
        states.removeAll { $0.load.members == 0 && $0.load.urgentMembers == 0 && isForgotten($0) }
        guard states.count < known else { return }
        places.removeAll(keepingCapacity: true)
        for (place, state) in states.enumerated() { places[state.key] = place }
    }
}
