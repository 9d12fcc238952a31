import Basis
import Model
import Reactor
import Testing

/// A change after which the rules of the node `/clubs/rose` deny a user what they allowed.
private enum Change: CaseIterable {
    case memberRemoved, treeClosed, ownDataRemoved, timePassed

    func rule(until end: WallInstant) -> String {
        switch self {
        case .memberRemoved: "root.members.rose[auth.sub] == true"
        case .treeClosed: "root.isOpen == true"
        // The subscribers of the node below do not notice a change beside it.
        case .ownDataRemoved: "data.isOpen == true"
        case .timePassed: "now < \(end.microseconds / 1_000)"
        }
    }

    func happen(_ world: FanOutWorld) async throws {
        switch self {
        case .memberRemoved: try await world.put("/members/rose/ann", "null")
        case .treeClosed: try await world.put("/isOpen", "false")
        case .ownDataRemoved: try await world.put("/clubs/rose/isOpen", "false")
        case .timePassed: break
        }
    }
}

@Suite("A wake-up that waits")
struct WaitingWakeUpTests {
    @Test(
        "ends unsent if its user may read the node no longer, though the rules are the same",
        arguments: Change.allCases)
    private func denied(change: Change) async throws {
        try await withFanOuts { world in
            try await Self.cut(change, in: world)
            if change == .timePassed { world.waitLongest() }
            try await change.happen(world)
            #expect(try await world.send().isEmpty)
            let left = "SELECT (SELECT count(*) FROM parcels) + (SELECT count(*) FROM subscriptions)"
            #expect(try await world.world.number(left) == 1, "the push has ended, and the subscription has not")
        }
    }

    @Test("reaches at its retry only those who may still read the node")
    func retry() async throws {
        try await withFanOuts { world in
            try await Self.cut(.memberRemoved, in: world, for: ["ann", "bob"])
            try await world.answer(.unsent(.unreachable))
            try await Change.memberRemoved.happen(world)
            #expect(try await world.send() == ["phone-bob: {\"news\":1}"])
        }
    }

    @Test("leaves the next change to be told once its user may read the node again")
    func allowedAgain() async throws {
        try await withFanOuts { world in
            try await Self.cut(.memberRemoved, in: world)
            try await Change.memberRemoved.happen(world)
            #expect(try await world.send().isEmpty)
            try await world.put("/members/rose/ann", "true")
            try await world.put("/clubs/rose/wall/news", "2")
            try await world.fanOut()
            #expect(try await world.send() == ["phone-ann: {\"news\":2}"])
        }
    }

    /// Cuts a push about `/clubs/rose/wall` for the phones of users who may read it.
    private static func cut(_ change: Change, in world: FanOutWorld, for users: [String] = ["ann"]) async throws {
        let end = world.now + FanOutWorld.longestWait
        try await world.setRules(#"{"clubs": {"rose": {".read": "\#(change.rule(until: end))"}}}"#)
        try await world.put("/", #"{"isOpen": true, "clubs": {"rose": {"isOpen": true}}}"#)
        for user in users {
            try await world.put("/members/rose/\(user)", "true")
            try await world.subscribe("phone-\(user)", "/clubs/rose/wall", .value, user: user)
        }
        try await world.put("/clubs/rose/wall/news", "1")
        try await world.fanOut()
        #expect(try await world.waiting() == users.map { "phone-\($0): {\"news\":1}" })
    }
}
