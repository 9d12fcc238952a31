import Basis
import Model
import Postgres
import QueueRules
import Store
import Testing

private let dawn = StoreWorld.dawn

extension StoreWorld {
    fileprivate func control(_ control: ControlRequest, _ number: UInt64 = 1, at now: WallInstant = dawn) async throws
        -> ControlReply
    {
        try await stores.messages.control(control, app: app, id: StoreWorld.message(number), now: now)
    }

    @discardableResult
    fileprivate func carryOut(at now: WallInstant = dawn) async throws -> Int {
        try await stores.stops.carryOut(now: now)
    }
}

@Suite("A cancelled message")
struct CancelledMessageTests {
    @Test("ends every unsent push as cancelled, in the account, by provider and in the history")
    func ready() async throws {
        try await withStores { world in
            try await world.register(1...5)
            try await world.send(world.newMessage(), parcelMembersMax: 2)
            #expect(try await world.control(.cancel) == .done)
            let before = try await world.account()
            #expect(before.state == .cancelled && before.pending == 5)
            #expect(try await world.carryOut() > 0)
            let account = try await world.account()
            #expect(account.state == .cancelled && account.audience == 5 && account.pending == 0)
            #expect(account.count(.cancelled) == 5)
            #expect(
                account.reasons == [TerminalTotal(terminalStatus: TerminalStatus(.cancelled, "cancelled"), count: 5)])
            #expect(account.providers.map { $0.count(.cancelled) } == [5])
            let pushHistory = try #require(
                try await world.stores.messages.pushHistory(app: world.app, id: account.id, installation: "i3"))
            #expect(pushHistory.status == .ended(TerminalStatus(.cancelled, "cancelled")))
            #expect(try await world.number("SELECT count(*) FROM parcels") == 0)
            #expect(try await world.number("SELECT count(*) FROM stops") == 0)
        }
    }

    @Test("stays as it was if its caller may not change a message to its audience")
    func forbidden() async throws {
        try await withStores { world in
            try await world.register(1...2)
            try await world.send(world.newMessage())
            let id = StoreWorld.message(1)
            for control in [ControlRequest.pause, .cancel, .rate(1), .resume] {
                let reply = try await world.stores.messages.control(control, app: world.app, id: id) {
                    $0 != .broadcast
                }
                #expect(reply == .forbidden(.broadcast))
            }
            #expect(try await world.account().state == .sending)
            #expect(try await world.number("SELECT count(*) FROM stops") == 0)
            #expect(try await world.number("SELECT count(*) FROM message_rates") == 0)
            #expect(
                try await world.stores.messages.control(.cancel, app: world.app, id: id) { $0 == .broadcast } == .done)
        }
    }

    @Test("waits for the repair of a damaged parcel, and delays no other message")
    func damaged() async throws {
        try await withStores { world in
            try await world.register(1...2)
            for number in UInt64(1)...2 {
                try await world.send(world.newMessage(number))
                _ = try await world.control(.cancel, number)
            }
            let first = StoreWorld.message(1)
            let members = try await world.pool.read(query("SELECT encode(members, 'hex') FROM parcels"))
                .one(String.init)
            try await world.pool.script(
                #"UPDATE parcels SET members = '\xff' WHERE message_id = '\#(first.value.text)'"#)
            let fault = await #expect(throws: StoreFault.self) { try await world.carryOut() }
            guard case .damaged(let place) = fault else { return #expect(Bool(false), "\(String(describing: fault))") }
            #expect(place.hasPrefix("message \(first.value.text): "))
            #expect(try await world.account(StoreWorld.message(2)).pending == 0)

            try await world.pool.script("UPDATE parcels SET members = '\\x\(members)'")
            try await world.carryOut()
            #expect(try await world.account(first).pending == 0)
        }
    }

    @Test("gives out no further lease, raises no badge, and blocks no other message")
    func noLease() async throws {
        try await withStores { world in
            try await world.register(1...4)
            try await world.send(world.newMessage(1, badge: .increment), parcelMembersMax: 1)
            try await world.send(world.newMessage(2))
            _ = try await world.control(.cancel)
            #expect(try await world.lease()?.message == StoreWorld.message(2))
            #expect(try await world.lease() == nil)
            // The parcels are on hold, not leased: no badge was raised, and no route is listed as ready.
            #expect(try await world.number("SELECT count(*) FROM parcels WHERE state = 3 AND epoch = 0") == 4)
            #expect(try await world.number("SELECT sum(badge) FROM registration_pulse") == 0)
            #expect(try await world.stores.parcels.readyRoutes(knownFormats: [1], now: dawn).routes.isEmpty)
        }
    }

    @Test("counts pushes in flight by their answers, and ends the returned pushes")
    func inFlight() async throws {
        try await withStores { world in
            try await world.register(1...3)
            try await world.send(world.newMessage())
            let leased = try #require(try await world.lease())
            _ = try await world.control(.cancel)
            try await world.carryOut()
            #expect(try await world.account().pending == 3)
            #expect(
                try await world.stores.messages.stopped(among: [leased.message])
                    == [StoppedMessage(message: leased.message, stop: .cancelled)])
            // One push was answered, one is handed back untried, and the answer of one was lost.
            let back = Remainder(
                route: leased.route, dueAfter: .zero, attempt: 0, lapses: 0, retrySpent: .zero, answerLost: false,
                cause: .handedBack, members: [leased.members[1].registration])
            let lost = leased.remainder(2..<3, after: .seconds(60))
            try await world.settle(leased.settling([(0..<1, TerminalStatus(.accepted))], remainders: [back, lost]))
            #expect(try await world.number("SELECT count(*) FROM parcels WHERE state = 3") == 2)
            try await world.carryOut()
            let account = try await world.account()
            #expect(account.count(.accepted) == 1 && account.count(.cancelled) == 1 && account.count(.gaveUp) == 1)
            #expect(
                account.reasons.last == TerminalTotal(terminalStatus: TerminalStatus(.gaveUp, "answer_lost"), count: 1))
            #expect(account.pending == 0 && account.audience == 3)
        }
    }

    @Test("counts the remaining audience as cancelled while its planning continues")
    func planning() async throws {
        try await withStores { world in
            try await world.register(1...6)
            _ = try await world.stores.messages.accept([world.newMessage()], now: dawn)
            _ = try await world.stores.messages.plan(atMost: 1, idsMax: 2, knownFormats: [1], now: dawn)
            _ = try await world.control(.cancel)
            try await world.carryOut()
            #expect(try await world.account().audience == nil)
            while try await world.stores.messages.plan(atMost: 1, idsMax: 2, knownFormats: [1], now: dawn) != .nothing {
            }
            #expect(try await world.number("SELECT count(*) FROM parcels WHERE state = 1") == 0)
            try await world.carryOut()
            let account = try await world.account()
            #expect(account.state == .cancelled && account.audience == 6 && account.count(.cancelled) == 6)
            #expect(try await world.number("SELECT count(*) FROM stops") == 0)
        }
    }

    @Test("accepts a repeated cancel, but no pause or resume; a finished message accepts neither")
    func replies() async throws {
        try await withStores { world in
            try await world.register(1...1)
            try await world.send(world.newMessage(1))
            #expect(try await world.control(.cancel) == .done)
            #expect(try await world.control(.cancel) == .done)
            #expect(try await world.control(.resume) == .over(.cancelled))
            #expect(try await world.control(.pause) == .over(.cancelled))
            #expect(try await world.control(.cancel, 9) == .noSuchMessage)
            try await world.carryOut()
            try await world.send(world.newMessage(2))
            try await world.settle(try #require(try await world.lease()).settlingAll())
            #expect(try await world.control(.cancel, 2) == .over(.finished))
            #expect(try await world.control(.pause, 2) == .over(.finished))
        }
    }

    @Test("lets the next message of its request continue")
    func inOrder() async throws {
        try await withStores { world in
            try await world.register(1...2)
            let messages = [world.newMessage(1), world.newMessage(2)]
            _ = try await world.stores.messages.accept(messages, now: dawn)
            _ = try await world.stores.messages.plan(atMost: 1, knownFormats: [1, 2], now: dawn)
            #expect(try await world.stores.messages.plan(atMost: 1, knownFormats: [1, 2], now: dawn) == .nothing)
            _ = try await world.control(.cancel)
            try await world.carryOut()
            let reply = try await world.stores.messages.plan(atMost: 1, knownFormats: [1, 2], now: dawn)
            guard let slice = reply.slice else { throw TestFailure(reason: "nothing was planned") }
            #expect(slice.message == messages[1].id)
        }
    }
}

private struct TestFailure: Error { let reason: String }

@Suite("A paused message")
struct PausedMessageTests {
    @Test("gives out no parcel until it is resumed, and then each parcel once")
    func pauseAndResume() async throws {
        try await withStores { world in
            try await world.register(1...4)
            try await world.send(world.newMessage(badge: .increment), parcelMembersMax: 2)
            let leased = try #require(try await world.lease())
            #expect(try await world.control(.pause) == .done)
            #expect(try await world.control(.pause) == .done)
            #expect(try await world.lease() == nil)
            // Pushes in flight are handed back untried, and their new parcel is on hold at once.
            let back = Remainder(
                route: leased.route, dueAfter: .zero, attempt: 0, lapses: 0, retrySpent: .zero, answerLost: false,
                cause: .handedBack, members: leased.members.map(\.registration))
            try await world.settle(leased.settling([], remainders: [back]))
            try await world.carryOut()
            #expect(try await world.lease() == nil)
            #expect(try await world.number("SELECT count(*) FROM parcels WHERE state = 3") == 2)
            let later = dawn + .seconds(60)
            #expect(try await world.control(.resume, at: later) == .done)
            #expect(try await world.account().state == .sending)
            try await world.carryOut(at: later)
            for _ in 1...2 {
                try await world.settle(try #require(try await world.lease(at: later)).settlingAll(), at: later)
            }
            let account = try await world.account()
            #expect(account.state == .finished && account.count(.accepted) == 4)
            #expect(try await world.number("SELECT sum(badge) FROM registration_pulse") == 4)
            #expect(try await world.number("SELECT count(*) FROM stops") == 0)
        }
    }

    @Test("uses up no time for retries while it is paused")
    func budget() async throws {
        try await withStores { world in
            try await world.register(1...1)
            try await world.send(world.newMessage(lifetime: .seconds(86_400)))
            let leased = try #require(try await world.lease())
            try await world.settle(leased.settling([], remainders: [leased.remainder(0..<1, after: .seconds(10))]))
            _ = try await world.control(.pause)
            try await world.carryOut()
            let later = dawn + .seconds(4 * 3_600)
            _ = try await world.control(.resume, at: later)
            try await world.carryOut(at: later)
            let again = try #require(try await world.lease(at: later))
            #expect(again.retrySpent == .seconds(3) && again.attempt == 1 && again.answerLost)
        }
    }

    @Test("ends unsent pushes as expired, and possibly shown pushes as given up, when it expires")
    func expiry() async throws {
        try await withStores { world in
            try await world.register(1...3)
            try await world.send(world.newMessage(lifetime: .seconds(100)), parcelMembersMax: 2)
            let leased = try #require(try await world.lease())
            try await world.settle(
                leased.settling(
                    [(0..<1, TerminalStatus(.accepted))], remainders: [leased.remainder(1..<2, after: .seconds(9))])
            )
            _ = try await world.control(.pause)
            try await world.carryOut(at: dawn + .seconds(99))
            #expect(try await world.account().pending == 2)
            try await world.carryOut(at: dawn + .seconds(100))
            let account = try await world.account()
            #expect(account.state == .finished && account.audience == 3)
            #expect(account.count(.accepted) == 1 && account.count(.expired) == 1 && account.count(.gaveUp) == 1)
        }
    }

    @Test("completes its planning, and is sent only when it is resumed")
    func planning() async throws {
        try await withStores { world in
            try await world.register(1...5)
            _ = try await world.stores.messages.accept([world.newMessage()], now: dawn)
            _ = try await world.control(.pause)
            while try await world.stores.messages.plan(atMost: 1, idsMax: 2, knownFormats: [1], now: dawn) != .nothing {
            }
            let paused = try await world.account()
            #expect(paused.state == .paused && paused.audience == 5 && paused.pending == 5)
            #expect(try await world.lease() == nil)
            _ = try await world.control(.resume)
            try await world.carryOut()
            #expect(try await world.account().state == .sending)
            #expect(try await world.lease() != nil)
        }
    }

    @Test("finishes at the end of its planning when its audience is empty")
    func emptyAudience() async throws {
        try await withStores { world in
            _ = try await world.stores.messages.accept([world.newMessage()], now: dawn)
            _ = try await world.control(.pause)
            while try await world.stores.messages.plan(atMost: 1, knownFormats: [1], now: dawn) != .nothing {}
            #expect(try await world.account().state == .finished)
            try await world.carryOut()
            #expect(try await world.number("SELECT count(*) FROM stops") == 0)
        }
    }

    @Test("puts leftover ready parcels on hold, and the leased parcels of a dead process")
    func leftovers() async throws {
        try await withStores { world in
            try await world.register(1...4)
            try await world.send(world.newMessage(), parcelMembersMax: 2)
            _ = try #require(try await world.lease())
            _ = try await world.control(.pause)
            let later = dawn + .seconds(61)
            #expect(try await world.stores.parcels.rescue(now: later) == 1)
            #expect(try await world.lease(at: later) == nil)
            #expect(try await world.number("SELECT count(*) FROM parcels WHERE state = 3") == 2)
            try await world.pool.script("UPDATE parcels SET state = 1")
            try await world.carryOut(at: later)
            #expect(try await world.number("SELECT count(*) FROM parcels WHERE state = 3") == 2)
            _ = try await world.control(.cancel, at: later)
            try await world.carryOut(at: later)
            let account = try await world.account()
            #expect(account.count(.gaveUp) == 2 && account.count(.cancelled) == 2 && account.pending == 0)
        }
    }

    @Test("keeps the next message of its request waiting")
    func inOrder() async throws {
        try await withStores { world in
            try await world.register(1...2)
            let messages = [world.newMessage(1), world.newMessage(2)]
            _ = try await world.stores.messages.accept(messages, now: dawn)
            _ = try await world.control(.pause)
            _ = try await world.stores.messages.plan(atMost: 1, knownFormats: [1, 2], now: dawn)
            try await world.carryOut()
            let later = dawn + .seconds(60)
            #expect(try await world.stores.messages.plan(atMost: 1, knownFormats: [1, 2], now: later) == .nothing)
        }
    }
}
