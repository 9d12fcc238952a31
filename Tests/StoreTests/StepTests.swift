import Basis
import Model
import Postgres
import Reactor
import Store
import Synchronization
import Testing

/// Notes which steps were reached.
private final class Notes: StepListener {
    let steps = Mutex<[Step]>([])
    func reached(_ step: Step) { steps.withLock { $0.append(step) } }

    /// Returns the steps since the last call.
    func take() -> [Step] {
        steps.withLock { steps in
            defer { steps = [] }
            return steps
        }
    }
}

@Suite("The step listener during message control")
struct ControlStepTests {
    private static let slice: [Step] = [.stopCommitted]

    private func write(_ control: ControlRequest, _ world: StoreWorld) async throws {
        let reply = try await world.stores.messages.control(
            control, app: world.app, id: StoreWorld.message(1), now: StoreWorld.dawn)
        #expect(reply == .done)
    }

    @Test("receives a step when messages fall due, and none when no message does")
    func hour() async throws {
        let notes = Notes()
        try await withStores(steps: notes) { world in
            var message = world.newMessage()
            message.dueAt = StoreWorld.dawn + .seconds(1)
            _ = try await world.stores.messages.accept([message], now: StoreWorld.dawn)
            _ = notes.take()
            #expect(try await world.stores.messages.fallDue(now: StoreWorld.dawn) == 0)
            #expect(notes.take() == [])
            #expect(try await world.stores.messages.fallDue(now: StoreWorld.dawn + .seconds(1)) == 1)
            #expect(notes.take() == [.scheduleCommitted])
        }
    }

    @Test("receives a step for each slice that is put on hold, released, ended or cleaned up")
    func slices() async throws {
        let notes = Notes()
        try await withStores(steps: notes) { world in
            let stops = StopStore(
                pool: world.pool, notifier: world.stores.notifier, steps: notes, movedMax: 2, endedMax: 3)
            try await world.register(1...7)
            try await world.send(world.newMessage(), parcelMembersMax: 1)
            _ = notes.take()
            try await write(.pause, world)
            #expect(try await stops.carryOut(now: StoreWorld.dawn) == 7)
            #expect(
                notes.take() == Self.slice + Self.slice + Self.slice + Self.slice,
                "seven parcels are put on hold, two per slice")
            #expect(try await stops.carryOut(now: StoreWorld.dawn) == 0)
            #expect(notes.take() == [], "no parcel is left to put on hold")
            try await write(.resume, world)
            #expect(try await stops.carryOut(now: StoreWorld.dawn) == 7)
            #expect(notes.take() == Self.slice + Self.slice + Self.slice + Self.slice)
            try await write(.cancel, world)
            #expect(try await stops.carryOut(now: StoreWorld.dawn) == 14)
            let held = Self.slice + Self.slice + Self.slice + Self.slice
            let ended = Self.slice + Self.slice + Self.slice
            #expect(
                notes.take() == held + ended + Self.slice, "the last slice cleans up the record of the cancellation")
            #expect(try await world.account().count(.cancelled) == 7)
        }
    }

    @Test("receives a step for each slice that no longer waits for a removed rate limit")
    func withoutRate() async throws {
        let notes = Notes()
        try await withStores(steps: notes) { world in
            let stops = StopStore(pool: world.pool, notifier: world.stores.notifier, steps: notes, movedMax: 2)
            try await world.register(1...3)
            var message = world.newMessage()
            message.ratePerSecond = 1
            try await world.send(message, parcelMembersMax: 1)
            _ = notes.take()
            try await write(.rate(nil), world)
            #expect(try await stops.carryOut(now: StoreWorld.dawn) == 3)
            #expect(notes.take() == Self.slice + Self.slice)
            #expect(try await world.number("SELECT count(*) FROM parcels WHERE state = 1") == 3)
        }
    }
}

@Suite("A message whose pause or cancellation was interrupted by a crash")
struct HalfStoppedMessageTests {
    private static let dawn = StoreWorld.dawn

    private func write(_ control: ControlRequest, _ world: StoreWorld) async throws {
        let id = StoreWorld.message(1)
        #expect(try await world.stores.messages.control(control, app: world.app, id: id, now: Self.dawn) == .done)
    }

    /// Leaves the state of a process that died between two slices.
    private func halfCarriedOut(_ world: StoreWorld, _ from: Int, _ to: Int) async throws {
        try await world.pool.script(
            """
            UPDATE parcels SET state = \(to)
            WHERE id IN (SELECT id FROM parcels WHERE state = \(from) ORDER BY id LIMIT 3)
            """)
    }

    @Test("continues in another process, with each push counted once")
    func anotherGoesOn() async throws {
        try await withStores { world in
            let stops = StopStore(pool: world.pool, notifier: world.stores.notifier, movedMax: 2, endedMax: 2)
            try await world.register(1...7)
            try await world.send(world.newMessage(badge: .increment), parcelMembersMax: 1)
            try await write(.pause, world)
            try await halfCarriedOut(world, 1, 3)
            try await stops.carryOut(now: Self.dawn)
            #expect(try await world.number("SELECT count(*) FROM parcels WHERE state = 3") == 7)
            #expect(try await world.lease() == nil)

            try await write(.resume, world)
            try await halfCarriedOut(world, 3, 1)
            let parcel = try #require(try await world.lease())
            #expect(try await world.stores.parcels.settle([parcel.settlingAll()], now: Self.dawn)[0].get() == .settled)
            try await stops.carryOut(now: Self.dawn)
            #expect(try await world.number("SELECT count(*) FROM parcels WHERE state = 1") == 6)

            try await write(.cancel, world)
            try await halfCarriedOut(world, 1, 3)
            try await stops.carryOut(now: Self.dawn)
            let account = try await world.account()
            #expect(account.state == .cancelled && account.audience == 7 && account.pending == 0)
            #expect(account.count(.accepted) == 1 && account.count(.cancelled) == 6)
            #expect(try await world.number("SELECT sum(badge) FROM registration_pulse") == 1)
            #expect(try await world.number("SELECT count(*) FROM stops") == 0)
        }
    }
}

@Suite("The work notifier")
struct WorkNotifierTests {
    @Test("notifies other processes of new plans, parcels and credentials")
    func signals() async throws {
        try await withStores { world in
            let received = ReceivedEvents()
            try await withListener(world.settings, received) {
                try await world.register(1...1)
                _ = try await world.stores.messages.accept([world.newMessage()])
                await received.waits(for: "carillon_work plan")
                _ = try await world.stores.messages.plan(atMost: 1, knownFormats: [1])
                await received.waits(for: "carillon_work parcels")
                let credential = NewCredential(
                    id: try await world.stores.credentials.nextIDs(1)[0], app: world.app, provider: .apns,
                    environment: .production, kind: .token, topics: [],
                    facts: Array("{}".utf8), sealed: [1])
                _ = try await world.stores.credentials.insert(credential, activate: true)
                await received.waits(for: "carillon_credentials changed")
            }
        }
    }
}

/// The events that a listener received.
private actor ReceivedEvents {
    private var text: Set<String> = []
    private var waiting: [(String, CheckedContinuation<Void, Never>)] = []

    func note(_ name: String) {
        text.insert(name)
        for (wanted, continuation) in waiting where wanted == name { continuation.resume() }
        waiting.removeAll { $0.0 == name }
    }

    func waits(for name: String) async {
        if text.contains(name) { return }
        await withCheckedContinuation { waiting.append((name, $0)) }
    }
}

private func withListener(
    _ settings: PostgresSettings, _ received: ReceivedEvents, _ body: () async throws -> Void
) async throws {
    let loop = try ReactorLoop(name: "store-listener")
    let listener = PostgresListener(
        settings, channels: [WorkChannel.work, WorkChannel.credentials], loop: loop)
    let reading = Task {
        for await event in listener.events {
            switch event {
            case .listening: await received.note("listening")
            case .notification(let registration): await received.note(registration.channel + " " + registration.payload)
            }
        }
    }
    await listener.start()
    await received.waits(for: "listening")
    let outcome: Result<Void, any Error>
    do { outcome = .success(try await body()) } catch { outcome = .failure(error) }
    await listener.close()
    await reading.value
    loop.stop()
    try outcome.get()
}
