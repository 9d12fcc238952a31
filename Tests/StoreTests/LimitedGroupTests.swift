import Basis
import Model
import Postgres
import QueueRules
import Reactor
import TestSupport
import Testing

// The time is noon in UTC on Saturday, 31 October 2026.
private let dawn = StoreWorld.dawn
private let hour: Duration = .seconds(3_600)

@Suite("A group of messages to single devices of an app with limits")
struct LimitedGroupTests {
    private func badges(_ parcels: [LeasedParcel]) -> [Int32] { parcels.flatMap { $0.members.map(\.badge) } }

    @Test("defers only the messages whose device is in its quiet hours")
    func quietHours() async throws {
        try await withStores { world in
            try await world.register(zones: ["Europe/Paris", nil])
            try await world.spare(quiet: (11, 13))
            try await world.sendEach(["i1", "i2", "i1"], badge: .increment, lifetime: hour * 24)
            let parcels = try await world.leaseGroup()
            #expect(parcels.map(\.message) == [1, 2, 3].map(StoreWorld.message))
            let end = dawn + hour
            #expect(parcels.map(\.deferrals) == [[], [.quietHours(until: end, isCounted: false)], []])
            #expect(badges([parcels[0], parcels[2]]) == [1, 2])
            #expect(try await world.badges() == [2, 0])
            for (parcel, sent) in zip(parcels, [1, 0, 1]) { #expect(try await world.deliver(parcel).count == sent) }
            #expect(try await world.leaseGroup(at: end + .seconds(-1)).isEmpty)
            let later = try await world.leaseGroup(at: end)
            #expect(later.map(\.message) == [StoreWorld.message(2)] && badges(later) == [1])
            #expect(try await world.deliver(later[0]).count == 1)
            #expect(try await world.badges() == [2, 1])
        }
    }

    @Test("counts its messages in order, and defers a user's messages beyond the daily cap")
    func cap() async throws {
        try await withStores { world in
            try await world.register(users: ["ann", "ann", "bob", nil])
            try await world.spare(cap: 2)
            try await world.sendEach(["i1", "i3", "i2", "i1", "i3", "i4", "i2"], badge: .increment)
            let parcels = try await world.leaseGroup()
            #expect(parcels.map(\.message) == (1...7).map(StoreWorld.message))
            #expect(parcels.map(\.deferrals) == [[], [], [], [.dailyCap], [], [], [.dailyCap]])
            #expect(try await world.badges() == [1, 1, 2, 1])
            for parcel in parcels { try await world.deliver(parcel) }
            for number in [4, 7] as [UInt64] {
                #expect(
                    try await world.suppressed(number)
                        == [TerminalTotal(terminalStatus: TerminalStatus(.suppressed, "daily_cap"), count: 1)])
            }
        }
    }

    @Test("locks users in the order of their keys, whatever the order of the messages")
    func keyOrder() async throws {
        try await withStores { world in
            try await world.register(users: ["zoe", "ann"])
            try await world.spare(cap: 5)
            try await world.sendEach(["i1", "i2"])
            #expect(try await world.leaseGroup().count == 2)
            #expect(try await world.number("SELECT count(*) FROM user_days") == 2)
            try await world.sendEach(["i1", "i2"], from: 3)
            let pool = world.pool
            let waiting = """
                SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
                """
            let lease = try await pool.transaction {
                transaction throws(PostgresError) -> Task<[LeasedParcel], any Error> in
                _ = try await transaction.run(query("SELECT FROM user_days WHERE who = 'user:ann' FOR UPDATE"))
                let lease = Task { try await world.leaseGroup() }
                while try await pool.number(waiting) < 1 { await Task.yield() }
                // The lease waits for ann and has locked nobody after her.
                _ = try await transaction.run(
                    query("SELECT FROM user_days WHERE who = 'user:zoe' FOR UPDATE NOWAIT"))
                return lease
            }
            // The lease returns fewer parcels if it has waited for too long.
            _ = try? await lease.value
        }
    }

    @Test("keeps the daily cap without deadlocks if groups for the same users are leased at once")
    func contended() async throws {
        try await withStores { world in
            let names = (1...8).map { "i\($0)" }
            try await world.register(users: names.map { "user-" + $0 })
            try await world.spare(cap: 3)
            for turn in 0..<8 {
                try await world.sendEach(
                    turn.isMultiple(of: 2) ? names : names.reversed(), badge: .increment, from: UInt64(turn * 8 + 1))
            }
            let eight = LeaseGroup(parcelsMax: 8, membersMax: 1_000)
            let groups = try await withThrowingTaskGroup(of: [LeasedParcel].self) { group in
                for number in UInt64(0)..<8 {
                    group.addTask {
                        try await world.leaseGroup(eight, owner: ProcessID(UniversalID(high: 9, low: number)))
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            // There are eight parcels for each process. A lease that fails over a locked row would return fewer.
            #expect(groups.map(\.count) == [Int](repeating: 8, count: 8))
            #expect(groups.joined().count { $0.deferrals.isEmpty } == 24)
            #expect(groups.joined().count { $0.deferrals == [.dailyCap] } == 40)
            #expect(try await world.badges() == [Int](repeating: 3, count: 8))
            #expect(try await world.number("SELECT count(*) FROM user_days WHERE cardinality(messages) = 3") == 8)
        }
    }

    @Test("fills the cap that earlier leases left, and a lower cap leaves counts unchanged")
    func room() async throws {
        try await withStores { world in
            try await world.register(users: ["ann", "bob", "ann"])
            try await world.spare(cap: 3)
            try await world.sendEach(["i1", "i2"])
            #expect(try await world.leaseGroup().map(\.deferrals) == [[], []])
            // One message reaches both devices of ann, in a parcel each, after another message.
            try await world.sendEach(["i3"], from: 3)
            let both = world.newMessage(
                4, urgency: .transactional, audience: Audience(.installations(["i1", "i3"])))
            try await world.send(both, parcelMembersMax: 1, at: dawn + .microseconds(4))
            try await world.sendEach(["i1", "i2", "i2"], from: 5)
            let parcels = try await world.leaseGroup()
            #expect(parcels.map(\.message) == [3, 4, 4, 5, 6, 7].map(StoreWorld.message))
            #expect(parcels.map(\.deferrals) == [[], [], [], [.dailyCap], [], []])
            let kept = """
                SELECT count(*) FROM user_days WHERE messages = ARRAY['\(StoreWorld.message(1).value.text)',
                    '\(StoreWorld.message(3).value.text)', '\(StoreWorld.message(4).value.text)']::uuid[]
                """
            #expect(try await world.number(kept + " AND who = 'user:ann'") == 1)
            // A lower cap admits no push of a user above it. Counted messages stay counted.
            try await world.spare(cap: 1)
            try await world.sendEach(["i3", "i2"], from: 8)
            #expect(try await world.leaseGroup().map(\.deferrals) == [[.dailyCap], [.dailyCap]])
            #expect(try await world.number(kept) == 1)
        }
    }

    @Test("moves messages to the end of quiet hours in order, even if it is settled late")
    func asleep() async throws {
        try await withStores { world in
            try await world.register(zones: [nil, "Europe/Paris"])
            try await world.spare(quiet: (11, 13))
            try await world.sendEach(["i1", "i2", "i1", "i1"], badge: .increment, lifetime: hour * 24)
            let both = world.newMessage(
                5, urgency: .transactional, badge: .increment, audience: Audience(.installations(["i1", "i2"])),
                lifetime: hour * 24)
            try await world.send(both, at: dawn + .microseconds(5))
            let settlements = try await world.leaseGroup().map(world.accepted)
            #expect(settlements.map { $0.remainders.count } == [1, 0, 1, 1, 1])
            // The order of settlement counts, not the order of the message ids.
            let handedIn = [3, 4, 0, 1, 2].map { settlements[$0] }
            let late = dawn + .milliseconds(1_800_001)
            let parcels = world.stores.parcels
            #expect(await parcels.settle(handedIn, now: late) == handedIn.map { _ in .success(.settled) })
            #expect(
                await parcels.settle(handedIn, now: late)
                    == handedIn.map { _ in .success(.fenced(status: nil)) })
            let end = dawn + hour
            #expect(try await world.number("SELECT count(*) FROM parcels") == 4)
            #expect(try await world.number("SELECT count(*) FROM parcels WHERE waits_for = 'quiet_hours'") == 4)
            #expect(try await world.account(StoreWorld.message(2)).state == .finished)
            let shared = try await world.account(StoreWorld.message(5))
            #expect(shared.count(.accepted) == 1 && shared.pending == 1)
            #expect(try await world.badges() == [0, 2])
            #expect(try await world.leaseGroup(at: end + .microseconds(-1)).isEmpty)
            let later = try await world.leaseGroup(at: end)
            #expect(later.map(\.message) == [4, 5, 1, 3].map(StoreWorld.message))
            #expect(later.allSatisfy { $0.members.map(\.registration) == [RegistrationID(1)] })
            #expect(later.allSatisfy { $0.deferrals.isEmpty && $0.attempt == 0 } && badges(later) == [1, 2, 3, 4])
            for parcel in later { #expect(try await world.deliver(parcel).count == 1) }
            #expect(try await world.number("SELECT count(*) FROM messages WHERE state = 6") == 5)
        }
    }

    @Test("applies changed limits at the next lease, and keeps a badge that was raised before")
    func again() async throws {
        try await withStores { world in
            try await world.register(zones: ["Europe/Paris", "Asia/Tokyo"])
            try await world.spare(quiet: (11, 13))
            try await world.sendEach(["i1", "i2"], badge: .increment, lifetime: hour * 24)
            #expect(try await world.leaseGroup().map(\.deferrals) == [[], []])
            let late = dawn + .seconds(100)
            #expect(try await world.stores.parcels.rescue(now: late) == 2)
            try await world.spare(quiet: (12, 14), at: late)
            let again = try await world.leaseGroup(at: late)
            #expect(again.map(\.deferrals) == [[.quietHours(until: dawn + hour, isCounted: true)], []])
            #expect(try await world.badges() == [1, 1])
        }
    }
}
