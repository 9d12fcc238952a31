import Basis
import Content
import Model
import Store
import Testing

private let dawn = StoreWorld.dawn
private let noon = dawn + .seconds(6 * 3_600)

private struct Declined: Error, Equatable {}

extension StoreWorld {
    fileprivate func accept(
        _ number: UInt64 = 1, dueAt: WallInstant? = noon, _ change: (inout NewMessage) -> Void = { _ in }
    ) async throws {
        var message = newMessage(number, lifetime: .seconds(600))
        message.content = Self.content("Noon")
        message.dueAt = dueAt
        change(&message)
        #expect(try await stores.messages.accept([message], now: Self.dawn) == .accepted)
    }

    fileprivate static func content(_ body: String) -> [UInt8] {
        StoredContent.encode(MessageContent(notification: NotificationText(body: body)))
    }

    /// Changes a message that has not started. Returns false if it has.
    fileprivate func revise(
        _ number: UInt64 = 1, isRedated: Bool = false, at now: WallInstant = dawn,
        _ change: @escaping @Sendable (inout NewMessage) -> Void = { _ in }
    ) async throws -> Bool {
        let old = newMessage(number, lifetime: .seconds(600))
        let reply = try await stores.messages.revise(
            StoreWorld.message(number), of: app, beforeStart: true, now: now
        ) { record -> Result<MessageRevision, Declined> in
            guard record.hasNotStarted, let request = record.request else { return .failure(Declined()) }
            var message = old
            (message.content, message.audience) = (StoredContent.encode(request.content), request.audience)
            change(&message)
            var revision = MessageRevision()
            (revision.rewritten, revision.isRedated) = (message, isRedated)
            return .success(revision)
        }
        switch reply {
        case .revised: return true
        case .refused: return false
        case .noSuchMessage: throw Declined()
        }
    }

    fileprivate func record(_ number: UInt64 = 1) async throws -> MessageRecord {
        try #require(try await stores.messages.record(app: app, id: StoreWorld.message(number)))
    }

    /// Lets due messages begin, and plans as far as possible.
    fileprivate func start(at now: WallInstant) async throws {
        _ = try await stores.messages.fallDue(now: now)
        while try await stores.messages.plan(atMost: 1, knownFormats: [1], now: now) != .nothing {}
    }

    fileprivate func control(_ control: ControlRequest, at now: WallInstant) async throws {
        #expect(
            try await stores.messages.control(control, app: app, id: StoreWorld.message(1), now: now) == .done)
    }
}

@Suite("A message that is changed before it starts")
struct RevisionTests {
    @Test("goes out with its new content, to its new audience, with its new urgency")
    func rewritten() async throws {
        try await withStores { world in
            try await world.register(1...3)
            try await world.accept()
            let revised = try await world.revise { message in
                message.content = StoreWorld.content("One o'clock")
                (message.audience, message.urgency) = (.installations(["i2"]), .transactional)
            }
            #expect(revised)
            let stored = try await world.stores.messages.contents([StoreWorld.message(1)])[0].get()
            #expect(stored?.content == StoreWorld.content("One o'clock") && stored?.urgency == .transactional)
            #expect(try await world.record().request?.audience == .installations(["i2"]))
            let form = try await world.account().form
            #expect(form?.asked == Audience.installations(["i2"]).summary)
            try await world.start(at: noon)
            #expect(try await world.account().audience == 1)
            #expect(try await world.number("SELECT priority FROM parcels") == 1)
        }
    }

    @Test("falls due at its new time alone, and expires counted from there")
    func redated() async throws {
        try await withStores { world in
            try await world.register(1...1)
            try await world.accept()
            let later = noon + .seconds(86_400)
            #expect(try await world.revise(isRedated: true) { $0.dueAt = later })
            let account = try await world.account()
            #expect(account.sendAt == later && account.expiresAt == later + .seconds(600))
            #expect(try await world.stores.messages.fallDue(now: later + .microseconds(-1)) == 0)
            #expect(try await world.stores.messages.fallDue(now: later) == 1)
        }
    }

    @Test("falls due at once without a time, and reaches devices that registered meanwhile")
    func atOnce() async throws {
        try await withStores { world in
            try await world.register(1...1)
            try await world.accept()
            try await world.register(2...2)
            let soon = dawn + .seconds(60)
            #expect(try await world.revise(isRedated: true, at: soon) { $0.dueAt = nil })
            #expect(try await world.account().expiresAt == soon + .seconds(600))
            try await world.start(at: soon)
            #expect(try await world.account().audience == 2)
        }
    }

    @Test("takes a new local hour, which is too late for a clock that passed it before the change")
    func localHour() async throws {
        try await withStores { world in
            for (place, zone) in ["America/New_York", "Pacific/Honolulu"].enumerated() {
                var registration = StoreWorld.registration(zone, token: place + 1)
                registration.profile[.timeZone] = .set(zone)
                try await world.register(registration)
            }
            func sending(_ hour: WallInstant) -> LocalSending { LocalSending(hour: LocalHour(inUTC: hour)) }
            let first = sending(dawn + .seconds(86_400))
            // It is 12:00 in UTC, and 8:00 in New York.
            try await world.accept(dueAt: first.hour.first) { $0.localSending = first }
            // Six hours later, a clock in New York has shown 10:00. One in Honolulu has not.
            let next = sending(dawn + .seconds(-2 * 3_600))
            let revised = try await world.revise(isRedated: true, at: noon) { message in
                (message.localSending, message.dueAt) = (next, nil)
            }
            #expect(revised)
            #expect(try await world.account().localHour == next.hour)
            try await world.start(at: noon)
            let account = try await world.account()
            #expect(account.audience == 2 && account.count(.suppressed) == 1 && account.pending == 1)
        }
    }

    @Test("stays as it was if the change is declined")
    func declined() async throws {
        try await withStores { world in
            try await world.accept()
            let before = try await world.record()
            let reply = try await world.stores.messages.revise(
                StoreWorld.message(1), of: world.app, beforeStart: true, now: dawn
            ) { _ -> Result<MessageRevision, Declined> in .failure(Declined()) }
            guard case .refused = reply else { return #expect(Bool(false), "\(reply)") }
            #expect(try await world.record() == before)
            let other = try await world.neighbour().app
            #expect(try await world.stores.messages.record(app: other, id: StoreWorld.message(1)) == nil)
        }
    }

    @Test("has started once it has a plan, unless it was paused before anything was cut")
    func started() async throws {
        try await withStores { world in
            try await world.register(1...1)
            try await world.accept(dueAt: nil)
            #expect(try await !world.revise())
            try await world.control(.pause, at: dawn)
            #expect(try await world.revise { $0.content = StoreWorld.content("Later") })
            try await world.start(at: noon)
            let waiting = try await world.account()
            #expect(waiting.state == .paused && waiting.audience == nil, "it is held until it is resumed")
            try await world.register(2...2)
            try await world.control(.resume, at: noon)
            try await world.start(at: noon)
            let account = try await world.account()
            #expect(account.audience == 2 && account.expiresAt == noon + .seconds(600))
            #expect(try await !world.revise())
        }
    }

    @Test("keeps its position before the next message of its list while it is held")
    func inOrder() async throws {
        try await withStores { world in
            try await world.register(1...1)
            let list = [world.newMessage(1), world.newMessage(2)]
            #expect(try await world.stores.messages.accept(list, now: dawn) == .accepted)
            try await world.control(.pause, at: dawn)
            #expect(try await world.revise())
            try await world.start(at: dawn)
            #expect(try await world.account(StoreWorld.message(2)).audience == nil)
            try await world.control(.resume, at: dawn)
            try await world.start(at: dawn)
            #expect(try await world.account().audience == 1)
        }
    }

    @Test("has started if it is paused after its audience was cut")
    func pausedLater() async throws {
        try await withStores { world in
            try await world.register(1...1)
            try await world.accept(dueAt: nil)
            try await world.start(at: dawn)
            try await world.control(.pause, at: dawn)
            #expect(try await !world.revise())
        }
    }

    @Test("goes out entirely as it was, or entirely as it is, beside a start at the same time", arguments: 1...10)
    func raced(round: Int) async throws {
        try await withStores { world in
            try await world.register(1...2)
            try await world.accept()
            async let starting: Void = world.start(at: noon)
            async let revising = world.revise { message in
                (message.content, message.audience) = (StoreWorld.content("New"), .installations(["i1"]))
            }
            let isRevised = try await revising
            try await starting
            // A start leaves alone what the other one had locked.
            try await world.start(at: noon)
            let account = try await world.account()
            #expect(account.audience == (isRevised ? 1 : 2) && account.pending == account.audience)
            let stored = try await world.stores.messages.contents([account.id])[0].get()
            #expect(stored?.content == StoreWorld.content(isRevised ? "New" : "Noon"))
        }
    }

    @Test("keeps its content for its retention after the time at which it was sent at last")
    func retention() async throws {
        try await withStores { world in
            try await world.accept()
            let month = Duration.seconds(31 * 86_400)
            #expect(try await world.revise(isRedated: true) { $0.dueAt = noon + month })
            try await world.start(at: noon + month)
            #expect(try await world.account().state == .finished)
            func hasContent(at now: WallInstant) async throws -> Bool {
                _ = try await world.stores.sweeper.sweep(now: now)
                return try await world.record().request != nil
            }
            #expect(try await hasContent(at: noon + month))
            #expect(try await !hasContent(at: noon + month + month))
        }
    }
}

@Suite("A message that is accepted paused")
struct HeldMessageTests {
    private func accept(_ world: StoreWorld, dueAt: WallInstant? = nil) async throws {
        try await world.accept(dueAt: dueAt) { $0.isHeld = true }
    }

    @Test("starts only when it is resumed: for every device of that time, and with its whole lifetime")
    func resumed() async throws {
        try await withStores { world in
            try await world.register(1...1)
            try await accept(world)
            #expect(try await world.stores.messages.nextDue(now: dawn) == nil)
            let later = noon + .seconds(86_400)
            try await world.start(at: later)
            let waiting = try await world.account()
            #expect(waiting.state == .paused && waiting.audience == nil)
            try await world.register(2...2)
            try await world.control(.resume, at: later)
            #expect(try await world.stores.messages.nextDue(now: later) == .zero)
            try await world.start(at: later)
            let account = try await world.account()
            #expect(account.audience == 2 && account.expiresAt == later + .seconds(600))
            #expect(try await world.lease(at: later)?.members.count == 2)
        }
    }

    @Test("waits for its time if it is resumed before that")
    func scheduled() async throws {
        try await withStores { world in
            try await accept(world, dueAt: noon)
            try await world.control(.resume, at: dawn)
            let account = try await world.account()
            #expect(account.state == .scheduled && account.expiresAt == noon + .seconds(600))
            #expect(try await world.stores.messages.nextDue(now: dawn) == .seconds(6 * 3_600))
        }
    }

    @Test("starts when it is resumed, if its time has passed by then")
    func late() async throws {
        try await withStores { world in
            try await accept(world, dueAt: noon)
            let later = noon + .seconds(86_400)
            try await world.control(.resume, at: later)
            let account = try await world.account()
            #expect(account.sendAt == later && account.expiresAt == later + .seconds(600))
            #expect(try await world.stores.messages.fallDue(now: later) == 1)
        }
    }

    @Test("ends with an empty audience when it is cancelled")
    func cancelled() async throws {
        try await withStores { world in
            try await accept(world)
            try await world.control(.cancel, at: dawn)
            let account = try await world.account()
            #expect(account.state == .cancelled && account.audience == 0)
            #expect(try await world.number("SELECT count(*) FROM schedules") == 0)
        }
    }
}
