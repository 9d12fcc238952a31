import Basis
import JSON
import Model
import QueueRules
import Signing
import Store
import Synchronization
import WakeUpRules
import WakeUpStore
import Worlds

// Data trees, and the devices that are woken by their changes.
extension ConformanceRun {
    private static let gather: Duration = .seconds(1)
    private static let lifetime: Duration = .seconds(30 * 86_400)
    private static let paths = ["/", "/a", "/a/b", "/c"]

    /// Lets every user read every node, and takes subscriptions to items.
    func enableWakeUps() async throws {
        for app in apps {
            var change = AppChange()
            change.wakeUp.isEnabled = true
            change.triggers.isEnabled = true
            _ = try await stores.registry.changeApp(app, change)
            try await wakeUpStores.access.setRules(#"{".read": true}"#, of: app)
        }
    }

    mutating func wake() async throws -> String? {
        switch random.below(20) {
        case 0..<7: try await write()
        case 7..<11: try await subscribe()
        case 11..<12: try await unsubscribe()
        case 12..<18: try await fanOut()
        case 18..<19: try await expire()
        default: try await leaseWakeUp()
        }
    }

    /// Writes a few values in one transaction: small trees, so that writes meet and often change nothing.
    private mutating func write() async throws -> String? {
        let app = random.pick(apps)
        var writes: [TreeWrite] = []
        var texts: [String] = []
        for _ in 0..<random.within(1...3) {
            let path = random.pick(Self.paths + ["/a/x", "/a/b/y", "/c/z"])
            let json = random.pick(["1", "2", "null", #"{"x":1}"#, #"{"x":2,"b":{"y":1}}"#, #"{"b":{"y":2}}"#, "{}"])
            let value = try JSONReader.read(Array(json.utf8))
            let isPatch = random.happens(perMille: 300)
            if isPatch, case .object(let members) = value {
                writes.append(try TreeWrite.patch(members, at: NodePath(stored: path)))
            } else if path != "/" || json.hasPrefix("{") {
                writes.append(try TreeWrite.put(value, at: NodePath(stored: path)))
            }
            texts.append("\(path) \(json)\(isPatch ? " patched" : "")")
        }
        pushHistory.append("write to app \(app.value): \(texts.joined(separator: ", "))")
        let policy = NodeStore.WritePolicy(gather: Self.gather)
        let real = await wakeUpStores.nodes.write(writes, app: app, policy, now: now, sha256: Hashes.sha256)
        let raised = simulated.write(writes, app: app, gather: Self.gather, now: now)
        return differ("write", real.replies, writes.map { _ in .success(.written) })
            ?? differ("write", real.raisedAny, !raised.isEmpty)
    }

    private mutating func subscribe() async throws -> String? {
        let app = random.pick(apps)
        let path = NodePath(stored: random.pick(Self.paths))
        let mode = random.pick(WakeUpMode.allCases)
        let lifetime: Duration = random.pick([.seconds(600), Self.lifetime])
        let (text, request) = drawSubscribing(app, path, mode, lifetime)
        pushHistory.append("subscribe \(text) to \(path.text) of app \(app.value), \(mode.name)")
        let real = try await wakeUpStores.subscriptions.subscribe(
            SubscriptionStore.Request(
                app: app, path: path, token: text, installation: request.installation, mode: mode, lifetime: lifetime,
                weightBytesMax: 1 << 20, weightLeavesMax: 10_000), now: now)
        let registration = simulated.subscribe(request, now: now)
        return differ("subscribe", real, registration == nil ? .unusableToken : .subscribed)
    }

    private mutating func unsubscribe() async throws -> String? {
        let app = random.pick(apps)
        let path = NodePath(stored: random.pick(Self.paths))
        let (text, request) = drawSubscribing(app, path, .noData, .zero)
        pushHistory.append("unsubscribe \(text) from \(path.text) of app \(app.value)")
        let real = try await wakeUpStores.subscriptions.unsubscribe(
            app: app, path: path, token: text, installation: request.installation, user: "")
        simulated.unsubscribe(request)
        return differ("unsubscribe", real, true)
    }

    /// The same bytes are another text for each provider.
    private mutating func drawSubscribing(
        _ app: AppID, _ path: NodePath, _ mode: WakeUpMode, _ lifetime: Duration
    ) -> (token: String, SimulatedSubscribing) {
        let bytes = Self.token(random.below(12)).bytes
        let isForAPNs = random.happens(perMille: 400)
        let text =
            isForAPNs
            ? bytes.map { String($0, radix: 16) }.joined() : String(decoding: bytes, as: UTF8.self)
        var tokens = [(provider: Provider.fcm, token: DeviceToken(bytes: Array(text.utf8)))]
        if isForAPNs { tokens.insert((.apns, DeviceToken(bytes: bytes)), at: 0) }
        let request = SimulatedSubscribing(
            app: app, path: path, tokens: tokens, installation: "nameless-\(text)", mode: mode, lifetime: lifetime)
        return (text, request)
    }

    /// Records the messages that the real store makes, in its order.
    private final class Told: Sendable {
        private let lines = Mutex<[String]>([])
        private let names: Mutex<WakeUpNames>

        init(_ names: WakeUpNames) { self.names = Mutex(names) }

        func tell(_ line: String, about watch: Int64) -> MessageID {
            lines.withLock { $0.append(line) }
            return names.withLock { $0.next(about: watch) }
        }

        var all: [String] { lines.withLock { $0 } }

        var contents: FanOutContents {
            FanOutContents(
                change: { group in
                    guard let text = Self.text(group) else { return nil }
                    let watch = group.watch.id.value
                    return self.content(
                        self.tell("\(watch) \(group.mode.name) \(group.provider) \(text)", about: watch))
                },
                revocation: { group in
                    self.content(self.tell("\(group.reason.name) \(group.provider)", about: 0))
                })
        }

        private func content(_ id: MessageID) -> FanOutContent {
            FanOutContent(
                id: id, content: [], pushType: .alert, lifetime: ConformanceRun.lifetime)
        }

        private static func text(_ group: FanOutGroup) -> String? {
            switch group.mode {
            case .noData: return "changed"
            case .value:
                guard case .json(let json) = group.watch.data else { return nil }
                return String(decoding: json, as: UTF8.self)
            case .childEvent:
                guard let changes = group.changes else { return "too big" }
                return changes.isEmpty ? nil : changes.text
            }
        }
    }

    private mutating func fanOut() async throws -> String? {
        wakeUps += 1
        let names = WakeUpNames(fanOut: wakeUps)
        let told = Told(names)
        let subscriptionsMax = random.pick([1, 2, 100])
        let parcelMembersMax = random.pick([1, 3])
        pushHistory.append("fan out at \(now.microseconds), \(subscriptionsMax) each")
        let real = try await wakeUpStores.fanOuts.fanOut(
            FanOutOrder(
                subscriptionsMax: subscriptionsMax, fewSubscriptions: 2, parcelMembersMax: parcelMembersMax, format: 1),
            now: now, contents: told.contents)
        var own = names
        let expected = simulated.fanOut(
            SimulatedFanOutOrder(
                subscriptionsMax: subscriptionsMax, fewSubscriptions: 2, parcelMembersMax: parcelMembersMax,
                lifetime: Self.lifetime, gather: Self.gather), now: now
        ) { own.next(about: $0) }
        let texts = expected ?? []
        self.told += texts.count { $0.text != nil }
        slices += simulated.dueWatches.count { $0.after > 0 }
        let lines = texts.compactMap { wakeUp in
            wakeUp.text.map { "\(wakeUp.watch) \(wakeUp.mode.name) \(wakeUp.provider) \($0)" }
        }
        return differ("fan out", real != .nothing, expected != nil) ?? differ("fan out", told.all, lines)
    }

    /// Ends expired subscriptions, with their notices.
    private mutating func expire() async throws -> String? {
        wakeUps += 1
        let names = WakeUpNames(fanOut: wakeUps)
        let told = Told(names)
        let order = FanOutOrder(subscriptionsMax: 100, parcelMembersMax: 2, format: 1)
        pushHistory.append("end expired subscriptions at \(now.microseconds)")
        let real = try await wakeUpStores.fanOuts.revoke(order, now: now, contents: told.contents)
        var own = names
        let notices = simulated.endExpired(
            SimulatedFanOutOrder(
                subscriptionsMax: 100, fewSubscriptions: 64, parcelMembersMax: 2, lifetime: Self.lifetime,
                gather: Self.gather), now: now
        ) { own.next(about: 0) }
        let lines = (notices ?? []).map { "expired \($0.provider)" }
        return differ("expire", real != .nothing, notices != nil) ?? differ("expire", told.all, lines)
    }

    /// Leases a wake-up. Once its pushes end, its subscriptions may be told more.
    private mutating func leaseWakeUp() async throws -> String? {
        let open = simulated.parcels.filter { parcel in
            parcel.isReady && parcel.dueAt <= now && simulated.message(parcel.message)?.kind == .wakeUp
        }
        guard let parcel = open.first else { return nil }
        let owner = Self.owners[0]
        let scope: LeaseScope = parcel.urgency == .transactional ? .urgent : .ordinary
        pushHistory.append("lease a wake-up on route \(parcel.route.value)")
        return try await lease(
            LeaseOrder(
                route: parcel.route, service: parcel.service, owner: owner, leaseFor: Self.leaseFor,
                knownFormats: [1], scope: scope))
    }
}

/// The ids of the messages of one fan-out: in the order in which each watch's are made.
struct WakeUpNames: Sendable {
    let fanOut: UInt64
    private var last: [Int64: UInt64] = [:]  // lookup only

    init(fanOut: UInt64) { self.fanOut = fanOut }

    mutating func next(about watch: Int64) -> MessageID {
        let number = last[watch, default: 0] + 1
        last[watch] = number
        return MessageID(UniversalID(high: 0xfa00_0000 + fanOut, low: UInt64(watch) << 16 | number))
    }
}
