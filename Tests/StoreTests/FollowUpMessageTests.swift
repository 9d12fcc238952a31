import Basis
import Model
import QueueRules
import Store
import Testing

private let dawn = StoreWorld.dawn

@Suite("A follow-up message of a request")
struct FollowUpMessageTests {
    private func plan(_ world: StoreWorld, now: WallInstant = dawn) async throws -> MessageID? {
        guard let slice = try await world.stores.messages.plan(atMost: 1, knownFormats: [1, 2], now: now).slice
        else {
            return nil
        }
        return slice.message
    }

    @Test("waits until the pushes of its predecessor had their first attempt")
    func inOrder() async throws {
        try await withStores { world in
            try await world.register(1...3)
            let messages = [world.newMessage(1), world.newMessage(2), world.newMessage(3)]
            #expect(try await world.stores.messages.accept(messages, now: dawn) == .accepted)
            #expect(try await plan(world) == messages[0].id)
            #expect(try await plan(world) == nil)
            let first = try #require(try await world.lease())
            #expect(try await plan(world) == nil)
            // One push is retried later. It does not delay the next message.
            let settlement = Settlement(
                parcel: first.id, message: first.message, route: first.route, epoch: 1, settles: 0,
                terminalCounts: [TerminalCount(terminalStatus: TerminalStatus(.accepted), count: 2)],
                settledBits: [0b111],
                remainders: [
                    Remainder(
                        route: first.route, dueAfter: .seconds(60), attempt: 1, lapses: 0, retrySpent: .seconds(60),
                        answerLost: false, cause: .providerBusy, members: [first.members[2].registration])
                ], pendingAfter: 0)
            #expect(try await world.stores.parcels.settle([settlement], now: dawn)[0].get() == .settled)
            #expect(try await plan(world) == messages[1].id)
            #expect(try await plan(world) == nil)
        }
    }

    @Test("waits at most ten seconds for a predecessor whose route cannot send")
    func blockedRoute() async throws {
        try await withStores { world in
            try await world.register(1...3)
            let messages = [world.newMessage(1), world.newMessage(2), world.newMessage(3)]
            #expect(try await world.stores.messages.accept(messages, now: dawn) == .accepted)
            #expect(try await plan(world) == messages[0].id)
            #expect(try await plan(world, now: dawn + .seconds(9)) == nil)
            #expect(try await plan(world, now: dawn + .seconds(10)) == messages[1].id)

            // The second message is leased and handed back, since no connection can be made.
            let later = dawn + .seconds(11)
            _ = try #require(try await world.lease(formats: [1, 2], at: later))
            let second = try #require(try await world.lease(formats: [1, 2], at: later))
            #expect(second.message == messages[1].id)
            #expect(try await plan(world, now: later) == nil)
            let members = second.members.map(\.registration)
            let settlement = Settlement(
                parcel: second.id, message: second.message, route: second.route, epoch: 1, settles: 0,
                terminalCounts: [],
                settledBits: [0b111],
                remainders: [
                    Remainder(
                        route: second.route, dueAfter: .seconds(1), attempt: 0, lapses: 0, retrySpent: .zero,
                        answerLost: false, cause: .unreachable, members: members)
                ], pendingAfter: 0)
            #expect(try await world.stores.parcels.settle([settlement], now: later)[0].get() == .settled)
            #expect(try await plan(world, now: later) == messages[2].id)
        }
    }

    @Test("stays a single message if its request is repeated with the same idempotency key")
    func allOrNone() async throws {
        try await withStores { world in
            try await world.register(1...3)
            let claim = IdempotencyClaim(
                operation: "messages.create", key: "k", bodySHA256: Array(repeating: 1, count: 32))
            let once = IdempotentAnswer(claim: claim, answer: [42])
            let messages = [world.newMessage(1, idempotency: once), world.newMessage(2)]
            #expect(try await world.stores.messages.accept(messages, now: dawn) == .accepted)
            let again = [world.newMessage(3, idempotency: once), world.newMessage(4)]
            #expect(try await world.stores.messages.accept(again, now: dawn) == .replayed(answer: [42]))
            #expect(try await world.number("SELECT count(*) FROM messages") == 2)
            #expect(try await world.number("SELECT count(*) FROM plans") == 2)
        }
    }
}
