import Basis
import GroupCommit
import Model
import Postgres
import Registry
import Store
import Testing

/// Times that lie before, after and around the run of the test.
private let dawn = StoreWorld.dawn
private let dusk = dawn + .seconds(80 * 365 * 86_400)
private let noon = dawn + .seconds(40 * 365 * 86_400)

/// A sequence of numbers that repeats for the same seed.
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

/// One backend: what it registers, and which devices are expected afterwards. It keeps only the latest registration by
/// installation and by token, and knows nothing of how the registry works.
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
        var badge: Int32

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

    /// Draws from few devices and few tokens, so that each batch has duplicates, swaps and moves.
    mutating func next() -> (registration: DeviceRegistration, expected: Expected) {
        let provider: Provider = dice.below(4) == 0 ? .fcm : .apns
        var registration = DeviceRegistration(
            installation: "b\(number)-i\(dice.below(40))",
            kind: provider == .apns && dice.below(5) == 0 ? .voip : .alert,
            provider: provider,
            environment: provider == .apns && dice.below(6) == 0 ? .sandbox : .production,
            token: StoreWorld.token(number * 1_000 + dice.below(45)))
        switch dice.below(4) {
        case 0: registration.profile[.user] = .clear
        case 1: registration.profile[.user] = .set("u\(dice.below(9))")
        default: break
        }
        if dice.below(3) == 0 { registration.profile.tags = .set((0..<dice.below(4)).map { "t\($0)" }) }
        if dice.below(3) > 0 {
            registration.asOf = (dice.below(4) == 0 ? dusk : dawn) + .seconds(Int64(dice.below(1_000)))
        }
        if dice.below(2) == 0 { registration.badge = Int32(dice.below(9)) }
        if dice.below(300) == 0 { return (spoilt(registration), .refused) }
        return (registration, take(registration) ? .done : .stale)
    }

    /// Makes a registration that validation would reject. It is never stale, because a stale one is not checked.
    private mutating func spoilt(_ registration: DeviceRegistration) -> DeviceRegistration {
        var registration = registration
        registration.asOf = nil
        switch dice.below(3) {
        case 0: registration.profile[.user] = .set("a\0b")
        case 1: registration.token = DeviceToken(bytes: [])
        default: registration.profile[.locale] = .set(String(repeating: "x", count: 65))
        }
        return registration
    }

    private mutating func take(_ registration: DeviceRegistration) -> Bool {
        let key = Key(installation: registration.installation, kind: registration.kind)
        let name = TokenName(provider: registration.provider, token: registration.token)
        if let learned = registration.asOf {
            let holder = lastClaim[name].flatMap { devices[$0] }.flatMap { $0.name == name ? $0 : nil }
            guard [devices[key], holder].allSatisfy({ $0.map { $0.knownFrom <= learned } ?? true }) else {
                return false
            }
        }
        var device =
            devices[key]
            ?? Device(
                provider: registration.provider, token: registration.token, environment: registration.environment,
                tags: [],
                badge: registration.badge ?? 0)
        (device.provider, device.token, device.environment) = (
            registration.provider, registration.token, registration.environment
        )
        switch registration.profile[.user] {
        case .keep: break
        case .clear: device.user = nil
        case .set(let user): device.user = user
        }
        if case .set(let tags) = registration.profile.tags { device.tags = tags }
        device.asOf = registration.asOf ?? device.asOf
        device.badge = registration.badge ?? device.badge
        device.registeredAt = max(device.registeredAt, min(registration.asOf ?? noon, noon))
        devices[key] = device
        lastClaim[name] = key
        return true
    }
}

/// Devices and tokens that all backends compete for, derived from the answers.
///
/// No backend knows which registration came last. But each such registration has no time of its own. Its row gets the
/// time of writing by the database's clock, under the locks of all rows that it changes. Two registrations that share a
/// device or a token are therefore written in the order of these times. Registrations of one batch share neither, and
/// give the same result in any order. So sorting by time gives a sequence that has to explain everything stored.
private struct Contest {
    struct Taking {
        let at: WallInstant
        let installation: String
        let token: DeviceToken
        let user: String
        let isNew: Bool
    }

    let takings: [Taking]

    /// Returns errors in the answers, and the rows that are expected at the end.
    func outcome() -> (wrong: [String], devices: [Backend.Key: (device: Backend.Device, isLive: Bool)]) {
        var wrong: [String] = []
        var last: [String: Taking] = [:]
        var holders: [DeviceToken: String] = [:]
        for taking in takings.sorted(by: { $0.at < $1.at }) {
            let before = last.updateValue(taking, forKey: taking.installation)
            if taking.isNew != (before == nil) { wrong.append("\(taking.installation) was new: \(taking.isNew)") }
            if before?.at == taking.at { wrong.append("\(taking.installation) was written twice at once") }
            holders[taking.token] = taking.installation
        }
        var devices: [Backend.Key: (device: Backend.Device, isLive: Bool)] = [:]
        for taking in last.values {
            let device = Backend.Device(
                provider: .apns, token: taking.token, environment: .production, user: taking.user, tags: [], badge: 0)
            devices[Backend.Key(installation: taking.installation, kind: .alert)] = (
                device, holders[taking.token] == taking.installation
            )
        }
        return (wrong, devices)
    }
}

private struct Crowd: CustomTestStringConvertible {
    let seed: UInt64
    let processes: Int
    let backends: Int
    /// After each round all backends wait for each other, and the rows are compared.
    /// A contested row shows only its last writer.
    let rounds: Int
    /// Registrations of each backend in each round, without the contested ones.
    let each: Int
    let lotMax: Int
    /// Contested registrations in each lot.
    let contestedMax: Int

    var testDescription: String { "seed \(seed)" }

    static let large = Crowd(
        seed: 20_260_611, processes: 2, backends: 40, rounds: 1, each: 500, lotMax: 90, contestedMax: 2)
    static let small = (1...8).map {
        Crowd(seed: $0, processes: 4, backends: 8, rounds: 12, each: 6, lotMax: 3, contestedMax: 3)
    }
}

/// One backend in the crowd, and the answers it received.
private struct Member {
    var backend: Backend
    var dice: Dice
    var takings: [Contest.Taking] = []
    var wrong: [String] = []

    /// Sends its registrations in lots, each after the previous answer, mixed with contested ones.
    func afterRound(of crowd: Crowd, _ committer: RegistrationCommitter, _ app: AppID) async -> Member {
        var member = self
        var left = crowd.each
        while left > 0 {
            let lot = (0..<min(left, 1 + member.dice.below(crowd.lotMax))).map { _ in member.backend.next() }
            left -= lot.count
            let contested = (0..<member.dice.below(crowd.contestedMax + 1)).map { _ in member.contested() }
            let answers = await committer.commit(lot.map(\.registration) + contested.map(\.registration), app: app)
            for (asked, answer) in zip(lot, answers) where !Self.fits(answer, asked.expected) {
                member.wrong.append("\(asked.registration.installation): \(answer) instead of \(asked.expected)")
            }
            for ((registration, user), answer) in zip(contested, answers[lot.count...]) {
                switch answer {
                case .success(let device):
                    member.takings.append(
                        Contest.Taking(
                            at: device.record.registeredAt, installation: registration.installation,
                            token: registration.token,
                            user: user, isNew: device.isNew))
                case .failure(.contended): break
                case .failure(let fault): member.wrong.append("registration failed: \(fault)")
                }
            }
        }
        return member
    }

    private mutating func contested() -> (registration: DeviceRegistration, user: String) {
        var registration = StoreWorld.registration("hot\(dice.below(5))", token: 900_000 + dice.below(5))
        let user = "b\(backend.number)-\(dice.below(1_000_000))"
        registration.profile[.user] = .set(user)
        return (registration, user)
    }

    private static func fits(_ answer: Result<RegisteredDevice, StoreFault>, _ expected: Backend.Expected) -> Bool {
        switch (answer, expected) {
        case (.success(let device), .done): device.change != .stale
        case (.success(let device), .stale): device.change == .stale
        case (.failure(.invalid), .refused): true
        case (.success, .refused), (.failure, .done), (.failure, .stale), (.failure, .refused): false
        }
    }

}

@Suite("A crowd of concurrent registrations")
struct RegistrationCrowdTests {
    @Test("ends as if its twenty thousand registrations had arrived one by one")
    func large() async throws {
        let lines = try await Self.held(.large)
        #expect(lines.count > 1_500)
        #expect(lines.contains { $0.contains("retired") } && lines.contains { $0.contains("live") })
    }

    @Test(
        "ends as if its registrations had arrived one by one, also when many compete for few tokens",
        arguments: Crowd.small)
    private func small(_ crowd: Crowd) async throws { _ = try await Self.held(crowd) }

    /// Runs the crowd, compares the stored rows, and returns them.
    private static func held(_ crowd: Crowd) async throws -> [String] {
        print("seed \(crowd.seed)")
        var stored: [String] = []
        try await withStores { world in
            let settings = GroupCommitSettings(batchMax: 1_000, waitingMax: 40_000, appWaitingMax: 20_000)
            let processes = (0..<crowd.processes).map { _ in
                RegistrationCommitter(registry: Stores(pool: world.pool).registry, settings: settings)
            }
            var members = (0..<crowd.backends).map { number in
                Member(
                    backend: Backend(number: number, seed: crowd.seed),
                    dice: Dice(seed: crowd.seed &* 1_000 &+ UInt64(number)))
            }
            for _ in 1...crowd.rounds {
                members = await withTaskGroup(of: Member.self) { group in
                    for member in members {
                        let (process, app) = (processes[member.backend.number % crowd.processes], world.app)
                        group.addTask { await member.afterRound(of: crowd, process, app) }
                    }
                    return await group.reduce(into: []) { $0.append($1) }
                }
                stored = try await Self.stored(world)
                compare(stored, with: members)
            }
            let untrue = """
                SELECT count(*) FROM (SELECT app_id, tag, registration_id FROM registration_tags
                    EXCEPT SELECT app_id, unnest(tags), id FROM registrations) AS d
                """
            #expect(try await world.number(untrue) == 0)
        }
        return stored
    }

    private static func compare(_ stored: [String], with members: [Member]) {
        let contest = Contest(takings: members.flatMap(\.takings)).outcome()
        #expect((members.flatMap(\.wrong) + contest.wrong).prefix(9) == [])
        var expected = contest.devices.map { line($0, $1.device, isLive: $1.isLive) }
        for backend in members.map(\.backend) {
            for (key, device) in backend.devices { expected.append(line(key, device, isLive: backend.isLive(key))) }
        }
        expected.sort()
        #expect(stored.count == expected.count)
        for (row, line) in zip(stored, expected) where row != line { Issue.record("\(row), not \(line)") }
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
                SELECT r.installation, r.kind, r.state, r.provider, r.token, routes.environment, r.user_id, r.tags,
                    p.as_of, p.badge
                FROM registrations r JOIN registration_pulse p ON p.registration_id = r.id
                JOIN routes ON routes.id = r.route_id
                """))
        return try rows.map { row throws(PostgresError) in
            let key = Backend.Key(installation: try row.text(), kind: try row.stored())
            let isLive = try row.int16() != RegistrationState.retired.rawValue
            let device = Backend.Device(
                provider: try row.stored(), token: DeviceToken(bytes: try row.bytes()), environment: try row.stored(),
                user: try row.textOrNil(), tags: try row.textArray(), asOf: try row.instantOrNil(),
                badge: try row.int32())
            return line(key, device, isLive: isLive)
        }.sorted()
    }
}
