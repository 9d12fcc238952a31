import Basis
import Encodings
import JSON
import Model
import Postgres
import QueueRules
import Reactor
import Signing
import Store
import TestSupport
import Testing
import WakeUpRules
import WakeUpStore

/// An app on a device: it keeps a copy of a node by what it is told, and reads when it is told to or starts.
private struct ModelClient {
    let device: String
    let path: NodePath
    let mode: WakeUpMode
    var view: JSONValue

    /// - Parameter read: the data at a path, as a GET answers it.
    mutating func receive(_ payload: JSONObject, read: (NodePath) async throws -> JSONValue) async throws {
        #expect(payload["sp"]?.string == path.text)
        switch (payload["t"]?.string, payload["s"]?.string) {
        case ("value", "OK"): view = try Self.json(payload, "d")
        case ("noData", nil), ("value", "TooBig"), ("childEvent", "TooBig"): view = try await read(path)
        case ("childEvent", "OK"), ("childEvent", "OnlyKeys"):
            let isWhole = payload["s"] == "OK"
            var children = view.object ?? JSONObject()
            for name in ["added", "changed"] {
                for member in try Self.json(payload, name).object?.members ?? [] {
                    let child = try path.child(member.name)
                    let value = isWhole ? member.value : try await read(child)
                    children[member.name] = value.isNull ? nil : value
                }
            }
            for key in try Self.json(payload, "removed").array ?? [] { children[key.string ?? ""] = nil }
            view = .object(children)
        case let other: Issue.record("unknown payload \(other)")
        }
    }

    private static func json(_ payload: JSONObject, _ name: String) throws -> JSONValue {
        try JSONReader.read(Array(try #require(payload[name]?.string).utf8), limits: .trusted)
    }

    /// Children are all that a client of child events knows: a value in the place of an object has none.
    func agrees(with data: JSONValue) -> Bool {
        guard mode == .childEvent else { return view.ordered == data.ordered }
        return JSONValue.object(view.object ?? JSONObject()).ordered
            == JSONValue.object(data.object ?? JSONObject()).ordered
    }
}

extension JSONValue {
    /// The value with the members of every object in the order of their names.
    fileprivate var ordered: JSONValue {
        guard case .object(let object) = self else { return self }
        let members = object.members.map { JSONMember($0.name, $0.value.ordered) }
        return .object(JSONObject(members.sorted { $0.name < $1.name }))
    }
}

/// A tree, its clients, and a provider that refuses, delays and loses.
private struct ClientWorld {
    let world: StoreWorld
    var random: SeededGenerator
    var clients: [ModelClient] = []
    var now = Clocks.wallNow() + .seconds(86_400)

    private static let keys = ["a", "b", "c"]

    mutating func path(_ depth: ClosedRange<Int>) throws -> NodePath {
        try NodePath(
            (0..<Int.random(in: depth, using: &random)).map { _ in
                Self.keys[Int.random(in: 0..<3, using: &random)]
            })
    }

    mutating func value(_ depth: Int) -> JSONValue {
        switch Int.random(in: 0..<(depth > 0 ? 7 : 3), using: &random) {
        case 0: return .null
        case 1: return .string(String(repeating: "x", count: Int.random(in: 0..<40, using: &random)))
        case 2: return .integer(Int.random(in: 0..<3, using: &random))
        default:
            var object = JSONObject()
            for key in Self.keys where Bool.random(using: &random) { object[key] = value(depth - 1) }
            return .object(object)
        }
    }

    func read(_ path: NodePath) async throws -> JSONValue {
        let reading = try await world.wakeUpStores.nodes.read(path, app: world.app)
        guard case .found(let leaves) = reading else { return .null }
        return try JSONReader.read(NodeText.compose(leaves, at: path))
    }

    func write(_ value: JSONValue, at path: NodePath) async throws {
        let policy = NodeStore.WritePolicy(gather: .zero)
        let result = await world.wakeUpStores.nodes.write(
            [try .put(value, at: path)], app: world.app, policy, sha256: Hashes.sha256)
        #expect(try result.replies[0].get() == .written)
    }

    mutating func subscribe() async throws {
        let (path, device) = (try path(0...2), "device-\(clients.count)")
        let mode = WakeUpMode.allCases[clients.count % 3]
        let reply = try await world.wakeUpStores.subscriptions.subscribe(
            SubscriptionStore.Request(
                app: world.app, path: path, token: device, installation: device, mode: mode,
                lifetime: .seconds(30 * 86_400), weightBytesMax: 1 << 20, weightLeavesMax: 1 << 20))
        #expect(reply == .subscribed)
        clients.append(ModelClient(device: device, path: path, mode: mode, view: try await read(path)))
    }

    /// Payloads of more bytes than this are too large for the provider of this world.
    private static let payloadBytesMax = 160

    private static let contents = FanOutContents(
        change: { group in
            func fits(_ payload: WakeUpPayload) -> Bool { payload.bytes.count <= payloadBytesMax }
            let payload: WakeUpPayload
            switch group.mode {
            case .noData: payload = WakeUpShaping.noData(group.watch.address)
            case .value: payload = WakeUpShaping.value(group.watch.data, of: group.watch.address, fits: fits)
            case .childEvent:
                let changes = group.changes
                if let changes, changes.isEmpty { return nil }
                payload = WakeUpShaping.childEvent(changes, of: group.watch.address, fits: fits)
            }
            let id = MessageID(UUIDv7.make(at: Clocks.wallNow(), random: (Entropy.uint64(), Entropy.uint64())))
            return FanOutContent(
                id: id, content: payload.bytes, pushType: .background, lifetime: .seconds(86_400))
        }, revocation: { _ in nil })

    /// An app that starts reads its node, as it is advised to, whatever it will be told of it.
    mutating func restart() async throws {
        let place = Int.random(in: clients.indices, using: &random)
        clients[place].view = try await read(clients[place].path)
    }

    mutating func fanOut() async throws -> Bool {
        let order = FanOutOrder(subscriptionsMax: 3, parcelMembersMax: 2, format: 1)
        now = now + .milliseconds(300)
        let reply = try await world.wakeUpStores.fanOuts.fanOut(order, now: now, contents: Self.contents)
        return reply != .nothing
    }

    private enum Fate: CaseIterable { case accepted, discarded, retried, answerLost }

    /// Leases a parcel, and settles it in one of the ways in which pushes end, or leaves it to a later lease.
    ///
    /// - Returns: false if there is none.
    mutating func send(onlyAccepting: Bool = false) async throws -> Bool {
        guard let parcel = try await world.lease(at: now) else { return false }
        // A second lost lease would put the parcel into quarantine, where it is not looked for here.
        let drawn = Fate.allCases.randomElement(using: &random) ?? .accepted
        let fate = onlyAccepting || parcel.lapses > 0 && drawn == .answerLost ? .accepted : drawn
        if fate == .accepted || fate == .answerLost { try await deliver(parcel) }
        let settlement: Settlement
        switch fate {
        case .accepted: settlement = parcel.settlingAll()
        case .discarded: settlement = parcel.settlingAll(as: TerminalStatus(.gaveUp, "retries_exhausted"))
        case .retried:
            settlement = parcel.settling([], remainders: [parcel.remainder(0..<parcel.members.count, attempt: 1)])
        case .answerLost:
            // The process dies: another one finds the lease expired, and sends the pushes again.
            now = now + .seconds(120)
            _ = try await world.stores.parcels.rescue(now: now)
            return true
        }
        #expect(try await world.stores.parcels.settle([settlement], now: now)[0].get() == .settled)
        return true
    }

    private mutating func deliver(_ parcel: LeasedParcel) async throws {
        let content = try await world.pool.read(
            query("SELECT content FROM message_contents WHERE message_id = :message") {
                $0.uuid("message", parcel.message.value)
            })
        let bytes = try content.one { row throws(PostgresError) in try row.bytes() }
        let payload = try #require(try JSONReader.read(bytes).object)
        for member in parcel.members {
            let name = try await world.pool.read(
                query("SELECT installation FROM registrations WHERE id = :registration") {
                    $0.int64("registration", member.registration.value)
                })
            let device = try name.one { row throws(PostgresError) in try row.text() }
            let place = try #require(clients.firstIndex { $0.device == device })
            var client = clients[place]
            let world = self
            try await client.receive(payload) { try await world.read($0) }
            clients[place] = client
        }
    }
}

@Suite("An app that keeps a copy of a node by what it is told")
struct WakeUpClientTests {
    @Test("has the node's data in the end, whatever was refused, repeated or lost between", arguments: 0..<12)
    func converges(seed: UInt64) async throws {
        try await withStores { stores in
            try await stores.wakeUpStores.access.setRules(#"{".read": true}"#, of: stores.app)
            var change = AppChange()
            change.wakeUp.isEnabled = true
            _ = try await stores.stores.registry.changeApp(stores.app, change)
            var world = ClientWorld(world: stores, random: SeededGenerator(seed: seed))
            try await world.subscribe()
            for _ in 0..<120 {
                switch Int.random(in: 0..<10, using: &world.random) {
                case 0 where world.clients.count < 9: try await world.subscribe()
                case 0...4: try await world.write(world.value(2), at: world.path(0...3))
                case 5...6: _ = try await world.fanOut()
                case 7: try await world.restart()
                default: _ = try await world.send()
                }
            }
            try await world.settleDown()
            // A push that was discarded may have been the last. The next change tells all that it would have told.
            for client in world.clients { try await world.write(.string("last"), at: client.path.child("z")) }
            try await world.settleDown()
            for client in world.clients {
                let data = try await world.read(client.path)
                #expect(
                    client.agrees(with: data), "seed \(seed), \(client.mode) of \(client.path): \(client.view), \(data)"
                )
            }
            #expect(try await stores.number("SELECT count(*) FROM due_watches") == 0)
        }
    }
}

extension ClientWorld {
    /// Sends until nothing is left to tell. The provider accepts everything.
    fileprivate mutating func settleDown() async throws {
        for _ in 0..<400 {
            while try await send(onlyAccepting: true) {}
            now = now + .seconds(10)
            if try await !fanOut(), try await world.number("SELECT count(*) FROM parcels") == 0 { return }
        }
        Issue.record("something is always left to tell")
    }
}
