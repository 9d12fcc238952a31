import Postgres
import PushModel
import Store
import Testing

/// Times before and after whenever the test runs; and any one between them.
private let dawn = StoreWorld.dawn
private let dusk = dawn + .seconds(80 * 365 * 86_400)
private let noon = dawn + .seconds(40 * 365 * 86_400)

/// A stream of numbers that its seed repeats.
private struct Dice {
    private var state: UInt64
    init(seed: UInt64) { state = seed }

    mutating func below(_ bound: Int) -> Int {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return Int((mixed ^ (mixed >> 31)) % UInt64(bound))
    }
}

/// What one backend says, and what its devices are to be after it: last words by installation and by token, and nothing
/// of how the registry comes to it.
private struct Backend {
    struct Key: Hashable {
        let installation: String
        let kind: TokenKind
    }
    struct TokenName: Hashable {
        let provider: Provider
        let token: DeviceToken
    }
    struct Device {
        var provider: Provider
        var token: DeviceToken
        var environment: PushEnvironment
        var user: String?
        var tags: [String]
        var asOf: WallInstant?
        var registeredAt = dawn
        let badge: Int32

        var name: TokenName { TokenName(provider: provider, token: token) }
        var knownFrom: WallInstant { max(asOf ?? dawn, registeredAt) }
    }

    enum Expected { case done, stale, refused }

    let number: Int
    private var dice: Dice
    private(set) var devices: [Key: Device] = [:]
    private var lastClaim: [TokenName: Key] = [:]

    init(number: Int, seed: UInt64) {
        self.number = number
        dice = Dice(seed: seed &+ UInt64(number))
    }

    func isLive(_ key: Key) -> Bool {
        devices[key].map { lastClaim[$0.name] == key } ?? false
    }

    /// Few devices and few tokens: twins, swaps and moves in every batch.
    mutating func next() -> (said: DeviceRegistration, expected: Expected) {
        let provider: Provider = dice.below(4) == 0 ? .fcm : .apns
        var said = DeviceRegistration(
            installation: "b\(number)-i\(dice.below(40))",
            kind: provider == .apns && dice.below(5) == 0 ? .voip : .alert,
            provider: provider,
            environment: provider == .apns && dice.below(6) == 0 ? .sandbox : .production,
            token: StoreWorld.token(number * 1_000 + dice.below(45)))
        switch dice.below(4) {
        case 0: said.user = .clear
        case 1: said.user = .set("u\(dice.below(9))")
        default: break
        }
        if dice.below(3) == 0 { said.tags = .set((0..<dice.below(4)).map { "t\($0)" }) }
        if dice.below(3) > 0 { said.asOf = (dice.below(4) == 0 ? dusk : dawn) + .seconds(Int64(dice.below(1_000))) }
        if dice.below(2) == 0 { said.badge = Int32(dice.below(9)) }
        if dice.below(300) == 0 { return (spoilt(said), .refused) }
        return (said, take(said) ? .done : .stale)
    }

    /// What the door would have refused. Never stale: what is stale is not written, and nobody hears that it was bad.
    private mutating func spoilt(_ said: DeviceRegistration) -> DeviceRegistration {
        var said = said
        said.asOf = nil
        switch dice.below(3) {
        case 0: said.user = .set("a\0b")
        case 1: said.token = DeviceToken(bytes: [])
        default: said.locale = .set(String(repeating: "x", count: 65))
        }
        return said
    }

    private mutating func take(_ said: DeviceRegistration) -> Bool {
        let key = Key(installation: said.installation, kind: said.kind)
        let name = TokenName(provider: said.provider, token: said.token)
        if let learned = said.asOf {
            let holder = lastClaim[name].flatMap { devices[$0] }.flatMap { $0.name == name ? $0 : nil }
            guard [devices[key], holder].allSatisfy({ $0.map { $0.knownFrom <= learned } ?? true }) else {
                return false
            }
        }
        var device =
            devices[key]
            ?? Device(
                provider: said.provider, token: said.token, environment: said.environment, tags: [],
                badge: said.badge ?? 0)
        (device.provider, device.token, device.environment) = (said.provider, said.token, said.environment)
        switch said.user {
        case .keep: break
        case .clear: device.user = nil
        case .set(let user): device.user = user
        }
        if case .set(let tags) = said.tags { device.tags = tags }
        device.asOf = said.asOf ?? device.asOf
        device.registeredAt = max(device.registeredAt, min(said.asOf ?? noon, noon))
        devices[key] = device
        lastClaim[name] = key
        return true
    }
}

@Suite("Twenty thousand registrations at once")
struct RegistrationCrowdTests {
    private static let backends = 40
    private static let each = 500

    /// Its registrations in lots, each after the answer to the one before; in between, some that others fight for.
    private static func run(
        _ backend: Backend, _ committer: GroupCommitter, _ app: AppID
    ) async -> (backend: Backend, wrong: [String]) {
        var backend = backend
        var dice = Dice(seed: UInt64(backend.number))
        var wrong: [String] = []
        var left = each
        while left > 0 {
            let lot = (0..<min(left, 1 + dice.below(90))).map { _ in backend.next() }
            left -= lot.count
            let contested = (0..<dice.below(3)).map { _ in
                StoreWorld.registration("hot\(dice.below(5))", token: 900_000 + dice.below(5))
            }
            let answers = await committer.register(lot.map(\.said) + contested, app: app)
            for (asked, answer) in zip(lot, answers) where !fits(answer, asked.expected) {
                wrong.append("\(asked.said.installation): \(answer), not \(asked.expected)")
            }
            for answer in answers[lot.count...] {
                if case .failure(let fault) = answer, fault != .contended { wrong.append("hot: \(fault)") }
            }
        }
        return (backend, wrong)
    }

    private static func fits(_ answer: Result<RegisteredDevice, StoreFault>, _ expected: Backend.Expected) -> Bool {
        switch (answer, expected) {
        case (.success(let device), .done): device.change != .stale
        case (.success(let device), .stale): device.change == .stale
        case (.failure(.invalid), .refused): true
        case (.success, .refused), (.failure, .done), (.failure, .stale), (.failure, .refused): false
        }
    }

    @Test("of two processes end as if each backend's had come one by one, whatever is wrong with their neighbours")
    func crowd() async throws {
        let seed: UInt64 = 20_260_611
        print("seed \(seed)")
        try await withStores { world in
            let settings = GroupCommitSettings(batchMax: 1_000, waitingMax: 40_000, appWaitingMax: 20_000)
            let processes = [world.stores, Stores(pool: world.pool)].map {
                GroupCommitter(registry: $0.registry, settings: settings)
            }
            let ended = await withTaskGroup(of: (backend: Backend, wrong: [String]).self) { group in
                for number in 0..<Self.backends {
                    let (process, app) = (processes[number % 2], world.app)
                    group.addTask { await Self.run(Backend(number: number, seed: seed), process, app) }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(ended.flatMap(\.wrong).prefix(9) == [])
            var expected: [String] = []
            for (backend, _) in ended {
                for (key, device) in backend.devices {
                    expected.append(Self.line(key, device, isLive: backend.isLive(key)))
                }
            }
            expected.sort()
            let stored = try await Self.stored(world)
            #expect(expected.count > 1_500 && stored.count == expected.count)
            for (row, line) in zip(stored, expected) where row != line { Issue.record("\(row), not \(line)") }
            #expect(expected.contains { $0.contains("retired") } && expected.contains { $0.contains("live") })
            let untrue = """
                SELECT count(*) FROM (SELECT app_id, tag, registration_id FROM registration_tags
                    EXCEPT SELECT app_id, unnest(tags), id FROM registrations) AS d
                """
            #expect(try await world.number(untrue) == 0)
        }
    }

    private static func line(_ key: Backend.Key, _ device: Backend.Device, isLive: Bool) -> String {
        [
            key.installation, key.kind.name, device.provider.name, device.environment.name, "\(device.token.bytes)",
            isLive ? "live" : "retired", device.user ?? "-", device.tags.joined(separator: ","), "\(device.badge)",
            "\(device.asOf?.microseconds ?? 0)",
        ].joined(separator: " ")
    }

    private static func stored(_ world: StoreWorld) async throws -> [String] {
        let rows = try await world.pool.read(
            query(
                """
                SELECT r.installation, r.kind, r.provider, routes.environment, r.token, r.state, r.user_id, r.tags,
                    p.badge, p.as_of
                FROM registrations r JOIN registration_pulse p ON p.registration_id = r.id
                JOIN routes ON routes.id = r.route_id WHERE r.installation NOT LIKE 'hot%'
                """))
        var lines: [String] = []
        for row in 0..<rows.rowCount {
            let kind = try #require(TokenKind(rawValue: try rows.int16(row, 1)))
            let provider = try #require(Provider(rawValue: try rows.int16(row, 2)))
            let environment = try #require(PushEnvironment(rawValue: try rows.int16(row, 3)))
            let device = Backend.Device(
                provider: provider, token: DeviceToken(bytes: try rows.bytes(row, 4)), environment: environment,
                user: try rows.textOrNil(row, 6), tags: try rows.textArray(row, 7),
                asOf: try rows.instantOrNil(row, 9), badge: try rows.int32(row, 8))
            lines.append(
                line(
                    Backend.Key(installation: try rows.text(row, 0), kind: kind), device,
                    isLive: try rows.int16(row, 5) != RegistrationState.retired.rawValue))
        }
        return lines.sorted()
    }
}
