import Postgres
import PushModel
import Reactor
import Store
import Synchronization
import Testing

/// Notes which steps were reached, and looks from outside at what was committed by then.
private final class Notes: StepListener {
    let steps = Mutex<[Step]>([])
    func reached(_ step: Step) { steps.withLock { $0.append(step) } }
}

@Suite("The steps of a push, where somebody listens")
struct StepTests {
    @Test("are told in their order, each inside its transaction")
    func order() async throws {
        let notes = Notes()
        try await withStores(steps: notes) { world in
            try await world.register(1...3)
            try await world.send(world.newMessage(badge: .increment))
            let parcel = try #require(try await world.lease())
            let reply = try await world.stores.parcels.settle(parcel.settlingAll(), now: StoreWorld.dawn)
            #expect(reply == .settled)
            #expect(notes.steps.withLock { $0 } == [.messageWritten, .sliceWritten, .leaseWritten, .settleWritten])
            #expect(try await world.account().state == .finished)
        }
    }
}

@Suite("The bell")
struct BellTests {
    @Test("tells other processes of plans, parcels and credentials")
    func rings() async throws {
        try await withStores { world in
            let heard = Heard()
            try await withListener(world.settings, heard) {
                try await world.register(1...1)
                _ = try await world.stores.messages.accept(world.newMessage())
                await heard.waits(for: "carillon_work plan")
                _ = try await world.stores.messages.planSlice(knownFormats: [1])
                await heard.waits(for: "carillon_work parcels")
                let credential = NewCredential(
                    id: try await world.stores.credentials.nextIDs(1)[0], app: world.app, provider: .apns,
                    environment: .production, kind: .token, topics: [],
                    facts: Array("{}".utf8), sealed: [1])
                _ = try await world.stores.credentials.insert(credential, activate: true)
                await heard.waits(for: "carillon_credentials changed")
            }
        }
    }
}

/// What a listener heard.
private actor Heard {
    private var words: Set<String> = []
    private var waiting: [(String, CheckedContinuation<Void, Never>)] = []

    func note(_ word: String) {
        words.insert(word)
        for (wanted, continuation) in waiting where wanted == word { continuation.resume() }
        waiting.removeAll { $0.0 == word }
    }

    func waits(for word: String) async {
        if words.contains(word) { return }
        await withCheckedContinuation { waiting.append((word, $0)) }
    }
}

private func withListener(
    _ settings: PostgresSettings, _ heard: Heard, _ body: () async throws -> Void
) async throws {
    let loop = try ReactorLoop(name: "store-listener")
    let listener = PostgresListener(
        settings, channels: [WorkChannel.work, WorkChannel.credentials], loop: loop)
    let reading = Task {
        for await event in listener.events {
            switch event {
            case .listening: await heard.note("listening")
            case .notification(let said): await heard.note(said.channel + " " + said.payload)
            }
        }
    }
    await listener.start()
    await heard.waits(for: "listening")
    let outcome: Result<Void, any Error>
    do { outcome = .success(try await body()) } catch { outcome = .failure(error) }
    await listener.close()
    await reading.value
    loop.stop()
    try outcome.get()
}
