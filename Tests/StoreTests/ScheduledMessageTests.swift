import Basis
import Model
import QueueRules
import Store
import Testing

private let dawn = StoreWorld.dawn
private let noon = dawn + .seconds(6 * 3_600)

@Suite("A scheduled message")
struct ScheduledMessageTests {
    private func message(_ world: StoreWorld, _ number: UInt64 = 1, dueAt: WallInstant = noon) -> NewMessage {
        var message = world.newMessage(number, lifetime: .seconds(600))
        message.dueAt = dueAt
        return message
    }

    private func accept(_ world: StoreWorld, _ messages: NewMessage...) async throws {
        #expect(try await world.stores.messages.accept(messages, now: dawn) == .accepted)
    }

    private func plan(_ world: StoreWorld, at now: WallInstant) async throws -> MessageID? {
        let reply = try await world.stores.messages.plan(atMost: 1, knownFormats: [1, 2], now: now)
        guard let slice = reply.slice else { return nil }
        return slice.message
    }

    @Test("waits for its time, reports the wait, and reaches devices that registered meanwhile")
    func falls() async throws {
        try await withStores { world in
            let messages = world.stores.messages
            try await world.register(1...2)
            #expect(try await messages.nextDue(now: dawn) == nil)
            try await accept(world, message(world))
            let waiting = try await world.account()
            #expect(waiting.state == .scheduled && waiting.sendAt == noon && waiting.expiresAt == noon + .seconds(600))
            #expect(try await messages.nextDue(now: dawn) == .seconds(6 * 3_600))
            #expect(try await messages.fallDue(now: noon + .microseconds(-1)) == 0)
            #expect(try await plan(world, at: dawn) == nil)
            let pushHistory = try await messages.pushHistory(app: world.app, id: waiting.id, installation: "i1")
            #expect(pushHistory?.status == .planning)

            try await world.register(3...3, at: noon)
            #expect(try await messages.fallDue(now: noon) == 1)
            #expect(try await world.account().state == .accepted)
            #expect(try await plan(world, at: noon) == waiting.id)
            #expect(try await world.account().audience == 3)
            #expect(try await world.lease(at: noon)?.expiresAt == noon + .seconds(600))
            #expect(try await messages.nextDue(now: noon) == nil)
        }
    }

    @Test("wakes nobody while it follows a message that is due later")
    func following() async throws {
        try await withStores { world in
            let messages = world.stores.messages
            try await accept(world, message(world), message(world, 2))
            try await world.pool.script(
                "UPDATE schedules SET due_at = due_at - interval '5 hours' WHERE after_message IS NOT NULL")
            let late = dawn + .seconds(2 * 3_600)
            #expect(try await messages.fallDue(now: late) == 0)
            #expect(try await messages.nextDue(now: late) == noon - late)
            #expect(try await messages.fallDue(now: noon) == 2)
            #expect(try await messages.nextDue(now: noon) == nil)
        }
    }

    @Test("takes the time of sending as the present time in its filter")
    func now() async throws {
        try await withStores { world in
            let messages = world.stores.messages
            try await world.register(1...2)
            var asked = world.newMessage(
                1, audience: Audience(.filter("registered_at > now - 1h")), lifetime: .seconds(600))
            asked.dueAt = noon
            try await accept(world, asked)
            try await world.register(3...3, at: noon + .seconds(-60))
            #expect(try await messages.fallDue(now: noon) == 1)
            let reply = try await messages.plan(atMost: 1, knownFormats: [1], now: noon)
            guard case .planned = reply else { return #expect(Bool(false), "\(reply)") }
            #expect(try await world.account().audience == 1)
        }
    }

    @Test("ends with an empty audience when it is cancelled before its time")
    func cancelled() async throws {
        try await withStores { world in
            try await world.register(1...2)
            try await accept(world, message(world))
            #expect(
                try await world.stores.messages.control(.cancel, app: world.app, id: StoreWorld.message(1), now: dawn)
                    == .done)
            #expect(try await world.stores.messages.fallDue(now: noon) == 0)
            let account = try await world.account()
            #expect(account.state == .cancelled && account.audience == 0 && account.pending == 0)
            #expect(try await world.number("SELECT count(*) FROM stops") == 0)
        }
    }

    @Test("stays paused past its time until it is resumed; resumed earlier, it waits again")
    func paused() async throws {
        try await withStores { world in
            let messages = world.stores.messages
            try await world.register(1...2)
            try await accept(world, message(world))
            func control(_ control: ControlRequest, at now: WallInstant) async throws {
                #expect(
                    try await messages.control(control, app: world.app, id: StoreWorld.message(1), now: now) == .done)
            }
            try await control(.pause, at: dawn)
            try await control(.resume, at: dawn)
            #expect(try await world.account().state == .scheduled)
            try await control(.pause, at: dawn)
            #expect(try await messages.fallDue(now: noon) == 1)
            #expect(try await world.account().state == .paused)
            #expect(try await plan(world, at: noon) != nil)
            #expect(try await world.lease(at: noon) == nil)
            try await control(.resume, at: noon)
            try await world.stores.stops.carryOut(now: noon)
            #expect(try await world.lease(at: noon)?.members.count == 2)
        }
    }

    @Test("sends late while it has not expired, and ends as expired after that")
    func late() async throws {
        try await withStores { world in
            try await world.register(1...2)
            try await accept(world, message(world))
            let late = noon + .seconds(599)
            #expect(try await world.stores.messages.nextDue(now: late) == .zero)
            #expect(try await world.stores.messages.fallDue(now: late) == 1)
            #expect(try await plan(world, at: late) != nil)
            let later = noon + .seconds(600)
            let leased = try #require(try await world.lease(scope: .expired, at: later))
            var run = ParcelRun(
                parcel: leased, leasedAt: MonotonicInstant(nanoseconds: 0), policy: RetryPolicy(), isRepeatable: true)
            let settlement = try #require(run.takeSettlement()?.settlement)
            #expect(try await world.stores.parcels.settle([settlement], now: later)[0].get() == .settled)
            #expect(try await world.account().count(.expired) == 2)
        }
    }

    @Test("keeps its position among the messages of its request")
    func inOrder() async throws {
        try await withStores { world in
            try await world.register(1...2)
            // Ids of one millisecond are not in rising order.
            try await accept(world, message(world, 2), message(world, 1))
            #expect(try await world.stores.messages.fallDue(now: noon) == 2)
            #expect(try await plan(world, at: noon) == StoreWorld.message(2))
            #expect(try await plan(world, at: noon) == nil)
        }
    }

    @Test("gets a single schedule when its request is repeated under the same idempotency key")
    func once() async throws {
        try await withStores { world in
            let claim = IdempotencyClaim(
                operation: "messages.create", key: "k", bodySHA256: Array(repeating: 1, count: 32))
            var first = message(world)
            first.idempotency = IdempotentAnswer(claim: claim, answer: [42])
            try await accept(world, first)
            var again = message(world, 2)
            again.idempotency = first.idempotency
            #expect(try await world.stores.messages.accept([again], now: noon) == .replayed(answer: [42]))
            #expect(try await world.number("SELECT count(*) FROM schedules") == 1)
        }
    }
}
