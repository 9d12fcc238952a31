import Basis
import Model
import Testing

private let dawn = StoreWorld.dawn
private let hour: Duration = .seconds(3_600)

/// The owner of the lease died before its first settlement.
@Suite("A member deferred by a lease that was lost")
struct DeferredMemberTests {
    private let lapse = dawn + .seconds(61)
    private let lost = TerminalTotal(terminalStatus: TerminalStatus(.gaveUp, "answer_lost"), count: 1)

    /// Leases one member in its quiet hours and one that is free, and loses that lease.
    private func lose(_ world: StoreWorld, lifetime: Duration = hour * 24) async throws {
        try await world.register(zones: [nil, "Europe/Paris"])
        try await world.spare(quiet: (11, 13))
        try await world.send(world.newMessage(badge: .increment, lifetime: lifetime))
        #expect(try await world.lease()?.deferredCount == 1)
        #expect(try await world.stores.parcels.rescue(now: lapse) == 1)
    }

    @Test("ends as cancelled with its message; a member that was free counts as answer lost")
    func cancelled() async throws {
        try await withStores { world in
            try await lose(world)
            let reply = try await world.stores.messages.control(.cancel, app: world.app, id: StoreWorld.message(1))
            #expect(reply == .done)
            try await world.stores.stops.carryOut(now: lapse)
            let account = try await world.account()
            #expect(
                account.reasons == [
                    TerminalTotal(terminalStatus: TerminalStatus(.cancelled, "cancelled"), count: 1), lost,
                ])
            let pushHistory = try await world.stores.messages.pushHistory(
                app: world.app, id: account.id, installation: "i1")
            #expect(pushHistory?.status == .ended(TerminalStatus(.cancelled, "cancelled")))
        }
    }

    @Test("ends as expired with its message, whether the message is paused or not", arguments: [false, true])
    func expired(isPaused: Bool) async throws {
        try await withStores { world in
            try await lose(world, lifetime: hour)
            if isPaused {
                _ = try await world.stores.messages.control(
                    .pause, app: world.app, id: StoreWorld.message(1), now: lapse)
                try await world.stores.stops.carryOut(now: lapse)
            }
            let late = dawn + hour
            try await world.stores.stops.carryOut(now: late)
            if !isPaused { #expect(try await world.deliverAll(at: late) == []) }
            #expect(
                try await world.account().reasons == [
                    TerminalTotal(terminalStatus: TerminalStatus(.expired, "expired"), count: 1), lost,
                ])
        }
    }

    @Test("counts as never sent in the next lease; after its settlement no such mark remains")
    func sent() async throws {
        try await withStores { world in
            try await lose(world)
            let free = try #require(try await world.lease(at: dawn + hour))
            #expect(free.lapses == 1 && free.deferrals.isEmpty && free.neverSent == [true, false])
            // No byte was sent, and the remainder goes to the route where the registration is now.
            let settlement = free.settling([], remainders: [free.remainder(0..<2)])
            #expect(try await world.stores.parcels.settle([settlement], now: dawn + hour)[0].get() == .settled)
            let again = try #require(try await world.lease(at: dawn + hour))
            #expect(again.neverSent.isEmpty)
        }
    }

    @Test("ends as expired, not as answer lost, if the push had expired before its first lease")
    func neverFree() async throws {
        try await withStores { world in
            try await world.register(1...2)
            try await world.send(world.newMessage())
            let late = dawn + hour
            #expect(try await world.lease(at: late)?.neverSent == [])
            #expect(try await world.stores.parcels.rescue(now: late + .seconds(61)) == 1)
            #expect(try await world.deliverAll(at: late + .seconds(61)) == [])
            #expect(
                try await world.account().reasons == [
                    TerminalTotal(terminalStatus: TerminalStatus(.expired, "expired"), count: 2)
                ])
        }
    }
}
