import Basis
import Model
import Store
import Synchronization
import Testing

private let dawn = StoreWorld.dawn

extension StoreWorld {
    fileprivate func credential(
        _ topics: [String], environment: PushEnvironment = .production, wholeTopics: [String] = [],
        sealed: [UInt8] = [1]
    ) async throws -> NewCredential {
        NewCredential(
            id: try await stores.credentials.nextIDs(1)[0], app: app, provider: .apns, environment: environment,
            kind: wholeTopics.isEmpty ? .token : .certificate, topics: topics, wholeTopics: wholeTopics,
            facts: Array(#"{"key_id":"ABCDE12345"}"#.utf8), sealed: sealed)
    }

    fileprivate func active(
        _ topic: String, _ environment: PushEnvironment = .production, _ service: TopicService = .app
    ) async throws -> CredentialID? {
        try await stores.credentials.active(
            app: app, provider: .apns, environment: environment, topic: topic, service: service)?.id
    }

    fileprivate func activated(_ topics: [String], wholeTopics: [String] = []) async throws -> CredentialID {
        try await stores.credentials.insert(credential(topics, wholeTopics: wholeTopics), activate: true).id
    }
}

extension CredentialStore {
    /// Inserts a single credential.
    func insert(_ credential: NewCredential, activate: Bool) async throws -> CredentialRecord {
        let reply = try await insert([credential], app: credential.app, activate: activate, once: nil) { _ in [] }
        #expect(reply == .done(answer: []))
        return try #require(try await list(app: credential.app).first { $0.id == credential.id })
    }
}

@Suite("A credential slot")
struct CredentialSlotTests {
    @Test("keeps exactly one active credential when another one is activated")
    func rotation() async throws {
        try await withStores { world in
            let credentials = world.stores.credentials
            let old = try await credentials.insert(world.credential(["b", "a", "b"]), activate: true)
            #expect(old.state == .active && old.topics == ["a", "b"])
            let new = try await credentials.insert(world.credential(["a", "b"], sealed: [2]), activate: false)
            #expect(new.state == .staged)
            #expect(try await world.active("a") == old.id)
            let activated = try await credentials.activate([new.id], app: world.app)
            #expect(activated?.records.map(\.state) == [.active])
            #expect(try await world.active("b") == new.id)
            #expect(try await credentials.list(app: world.app).map(\.state) == [.retired, .active])
            // The old credential can be activated again.
            _ = try await credentials.activate([old.id], app: world.app)
            #expect(try await credentials.list(app: world.app).map(\.state) == [.active, .retired])
        }
    }

    @Test("changes together with the slot of the other environment, or not at all")
    func together() async throws {
        try await withStores { world in
            let credentials = world.stores.credentials
            func states() async throws -> [CredentialState] {
                try await credentials.list(app: world.app).map(\.state)
            }
            let old = try await credentials.insert(world.credential(["a"], environment: .sandbox), activate: true).id
            let one = try await credentials.insert(world.credential(["a"]), activate: false).id
            let two = try await credentials.insert(world.credential(["a"], environment: .sandbox), activate: false).id
            #expect(try await credentials.activate([one, CredentialID(999)], app: world.app) == nil)
            #expect(try await states() == [.active, .staged, .staged])
            let written = try await credentials.activate([two, one], app: world.app)
            #expect(written?.records.map(\.id) == [two, one])
            #expect(try await states() == [.retired, .active, .active])
            #expect(try await credentials.retire([one, two], app: world.app))
            #expect(try await states() == [.retired, .retired, .retired])
            _ = try await credentials.activate([old], app: world.app)
            #expect(try await states() == [.active, .retired, .retired])
        }
    }

    @Test("ends with one active credential if several processes activate at once")
    func race() async throws {
        try await withStores { world in
            let credentials = world.stores.credentials
            var ids: [CredentialID] = []
            for _ in 0..<6 { ids.append(try await credentials.insert(world.credential(["a"]), activate: false).id) }
            for _ in 0..<5 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for id in ids { group.addTask { _ = try await credentials.activate([id], app: world.app) } }
                    try await group.waitForAll()
                }
                #expect(try await credentials.list(app: world.app).count { $0.state == .active } == 1)
            }
        }
    }

    @Test("prefers a credential that names the topic, and keeps environments apart")
    func topics() async throws {
        try await withStores { world in
            let credentials = world.stores.credentials
            let any = try await credentials.insert(world.credential([]), activate: true).id
            let named = try await credentials.insert(world.credential(["com.example.app"]), activate: true).id
            #expect(try await world.active("com.example.app") == named)
            #expect(try await world.active("com.example.other") == any)
            #expect(try await world.active("") != nil)
            #expect(try await world.active("com.example.app", .sandbox) == nil)
        }
    }

    @Test("prefers a service's own certificate for that service and never uses it for another")
    func services() async throws {
        try await withStores { world in
            let topic = "com.example.app"
            let calls = try await world.activated([topic + ".voip"], wholeTopics: [topic + ".voip", ".voip"])
            for unnamed in ["", topic] {
                #expect(try await world.active(unnamed, .production, .voip) == calls)
                for service in TopicService.allCases where service != .voip {
                    #expect(try await world.active(unnamed, .production, service) == nil)
                }
            }
            #expect(try await world.active("com.example.other", .production, .voip) == nil)
            let any = try await world.activated([])
            #expect(try await world.active(topic, .production, .voip) == calls)
            #expect(try await world.active(topic) == any)
            let key = try await world.activated([topic])
            for unnamed in ["", topic] {
                #expect(try await world.active(unnamed, .production, .voip) == calls)
                #expect(try await world.active(unnamed, .production, .complication) == key)
                #expect(try await world.active(unnamed) == key)
            }
            #expect(try await world.active("com.example.other", .production, .voip) == any)
            _ = try await world.stores.credentials.retire([calls], app: world.app)
            #expect(try await world.active(topic, .production, .voip) == key)
        }
    }

    @Test("serves only what its certificate lists, and leaves other services to a key or to none")
    func exactServices() async throws {
        try await withStores { world in
            let topic = "com.example.app"
            let certificate = try await world.activated(
                [topic], wholeTopics: [topic, topic + ".voip", "", ".voip"])
            for service in TopicService.allCases {
                let covered = [.app, .voip].contains(service) ? certificate : nil
                for unnamed in ["", topic] {
                    #expect(try await world.active(unnamed, .production, service) == covered, "\(service)")
                }
                #expect(try await world.active("com.example.other", .production, service) == nil, "\(service)")
            }
            let key = try await world.activated([])
            for service in TopicService.allCases {
                let sender = [.app, .voip].contains(service) ? certificate : key
                #expect(try await world.active(topic, .production, service) == sender, "\(service)")
                #expect(try await world.active("com.example.other", .production, service) == key, "\(service)")
            }
        }
    }

    @Test("becomes empty when its own app retires or removes the credential")
    func emptied() async throws {
        try await withStores { world in
            let credentials = world.stores.credentials
            let first = try await credentials.insert(world.credential(["a"]), activate: true).id
            #expect(try await credentials.retire([first], app: AppID(99)) == false)
            #expect(try await credentials.retire([first], app: world.app))
            #expect(try await credentials.retire([first], app: world.app))
            #expect(try await credentials.retire([CredentialID(999)], app: world.app) == false)
            let other = try await credentials.insert(world.credential(["b"]), activate: true).id
            let gone = [first, CredentialID(999)]
            #expect(try await credentials.inactive(among: [first, other, CredentialID(999)]) == gone)
            #expect(try await world.active("a") == nil)
            #expect(try await credentials.activate([CredentialID(999)], app: world.app) == nil)
            #expect(try await credentials.delete(first, app: world.app))
            #expect(try await credentials.list(app: world.app).map(\.id) == [other])
        }
    }
}

@Suite("The topics of a written credential")
struct TopicMismatchTests {
    private func mismatches(
        _ world: StoreWorld, _ topics: [String], environment: PushEnvironment = .production, wholeTopics: [String] = [],
        activate: Bool = true
    ) async throws -> [TopicMismatch] {
        let new = try await world.credential(topics, environment: environment, wholeTopics: wholeTopics)
        let found = Mutex<[TopicMismatch]>([])
        _ = try await world.stores.credentials.insert([new], app: world.app, activate: activate, once: nil) { written in
            found.withLock { $0 = written.mismatches }
            return []
        }
        return found.withLock { $0 }
    }

    @Test("match those of the app's devices, whether the credential is active yet or not")
    func matching() async throws {
        try await withStores { world in
            #expect(try await mismatches(world, ["com.example.gardn"]).isEmpty, "without devices nothing mismatches")
            try await world.register(1...1)
            for activate in [false, true] {
                #expect(try await mismatches(world, [StoreWorld.topic], activate: activate).isEmpty)
            }
            #expect(try await mismatches(world, []).isEmpty)
        }
    }

    @Test("mismatch if no device has one of them, and if no credential covers a device's topic")
    func misspelt() async throws {
        try await withStores { world in
            try await world.register(1...1)
            let found = try await mismatches(world, ["com.example.ap"])
            #expect(
                found == [
                    TopicMismatch(topic: "com.example.ap", kind: .withoutDevices),
                    TopicMismatch(topic: StoreWorld.topic, kind: .withoutCredential(.production)),
                ])
            // No device named the topic in the sandbox: pushes to it need no credential there.
            let sandbox = try await mismatches(world, ["com.example.ap"], environment: .sandbox)
            #expect(sandbox.map(\.kind) == [.withoutDevices])
        }
    }

    @Test("match a service's certificate if the app's devices have its bundle id")
    func service() async throws {
        try await withStores { world in
            try await world.register(1...1)
            let voip = StoreWorld.topic + ".voip"
            #expect(try await mismatches(world, [voip], wholeTopics: [voip, ".voip"]).isEmpty)
        }
    }
}

@Suite("A blocked lane")
struct LaneBlockTests {
    @Test("stays blocked for every process until its block expires")
    func blocked() async throws {
        try await withStores { world in
            let credentials = world.stores.credentials
            let id = try await credentials.insert(world.credential(["a"]), activate: true).id
            try await credentials.block(id, reason: "InvalidProviderToken", for: .seconds(60), now: dawn)
            try await credentials.block(id, reason: "ExpiredProviderToken", for: .seconds(1), now: dawn)
            let blocks = try await credentials.blocks(now: dawn + .seconds(59))
            #expect(blocks.map(\.credential) == [id])
            #expect(blocks.map(\.until) == [dawn + .seconds(60)])
            #expect(blocks.map(\.since) == [dawn])
            #expect(try await credentials.blocks(now: dawn + .seconds(60)).isEmpty)
        }
    }

    @Test("comes before fresh reports that its credential gets no token")
    func refusals() async throws {
        try await withStores { world in
            let credentials = world.stores.credentials
            let id = try await credentials.insert(world.credential(["a"]), activate: true).id
            let outage = LaneOutage(credential: id, cause: .token, reason: "invalid_grant", age: .seconds(5))
            try await credentials.report(outages: [outage], of: StoreWorld.ann, now: dawn)
            let reported = CredentialRefusal(
                credential: id, reason: "invalid_grant", since: dawn + .seconds(-5), isByProvider: false)
            #expect(try await credentials.refusals(now: dawn) == [reported])
            try await credentials.block(id, reason: "InvalidProviderToken", for: .seconds(600), now: dawn)
            let blocked = CredentialRefusal(
                credential: id, reason: "InvalidProviderToken", since: dawn, isByProvider: true)
            #expect(try await credentials.refusals(now: dawn) == [blocked, reported])
            #expect(try await credentials.refusals(now: dawn + .seconds(60)) == [blocked])
        }
    }
}

/// Counts the signatures.
private final class Signatures: Sendable {
    let count = Atomic<Int>(0)
}

@Suite("A provider token")
struct ProviderTokenTests {
    @Test("gets its signature from one process, and the others use the same token")
    func singleFlight() async throws {
        try await withStores { world in
            let credentials = world.stores.credentials
            let signatures = Signatures()
            let tokens = try await withThrowingTaskGroup(of: SealedProviderToken?.self) { group in
                for _ in 0..<6 {
                    group.addTask {
                        try await credentials.renewProviderToken(fingerprint: [7], staleBefore: dawn) {
                            let number = signatures.count.add(1, ordering: .relaxed).newValue
                            return SealedProviderToken(sealed: [UInt8(number)], issuedAt: dawn + .seconds(1))
                        }
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(signatures.count.load(ordering: .relaxed) == 1)
            #expect(tokens.allSatisfy { $0 == SealedProviderToken(sealed: [1], issuedAt: dawn + .seconds(1)) })
            #expect(try await credentials.providerToken(fingerprint: [7])?.sealed == [1])
        }
    }

    @Test("gets a new signature when it is stale; a failed signature leaves nothing behind")
    func renewed() async throws {
        try await withStores { world in
            let credentials = world.stores.credentials
            let none = try await credentials.renewProviderToken(fingerprint: [7], staleBefore: dawn) { nil }
            #expect(none == nil)
            #expect(try await credentials.providerToken(fingerprint: [7]) == nil)
            for number in 1...2 as ClosedRange<UInt8> {
                let at = dawn + .seconds(Int64(number))
                let token = try await credentials.renewProviderToken(fingerprint: [7], staleBefore: at) {
                    SealedProviderToken(sealed: [number], issuedAt: at + .seconds(1))
                }
                #expect(token?.sealed == [number])
            }
        }
    }
}

@Suite("The proof of the master key")
struct MasterKeyProofTests {
    @Test("stays the first one that was stored")
    func first() async throws {
        try await withStores { world in
            let credentials = world.stores.credentials
            #expect(try await credentials.masterKeyProof() == nil)
            let kept = try await credentials.keepMasterKeyProof([1])
            #expect(kept == [1])
            #expect(try await credentials.keepMasterKeyProof([2]) == [1])
            #expect(try await credentials.masterKeyProof() == [1])
        }
    }
}
