import DeliveryRules
import PushModel

/// A phone with the app on it, as it is; what the registry believes may be older.
struct SimulatedDevice: Sendable {
    let app: AppID
    let installation: String
    var token: DeviceToken
    var environment: PushEnvironment
    var isRegistered = true
}

// The fleet, its messages, and what happens to devices while a broadcast is under way.
extension SimulatedWorld {
    mutating func populate() {
        for app in 1...plan.apps {
            for number in 0..<plan.devicesPerApp {
                let environment: PushEnvironment = random.happens(perMille: 150) ? .sandbox : .production
                let token = apple.issueToken(environment: environment)
                devices.append(
                    SimulatedDevice(
                        app: AppID(Int64(app)), installation: "phone-\(app)-\(number)", token: token,
                        environment: environment))
                register(devices.count - 1)
                spoil(devices.count - 1)
            }
        }
    }

    /// Some were dead, wrong or dangerous from the start.
    private mutating func spoil(_ device: Int) {
        let token = SimulatedApple.number(of: devices[device].token)
        if random.happens(perMille: plan.deadDevices) { apple.tokens[token].deadSince = wall + .seconds(1) }
        if random.happens(perMille: plan.badTokens) { apple.tokens[token].isBad = true }
        if random.happens(perMille: plan.poisonous), let row = row(of: device) { poisonous.insert(row.id) }
    }

    func row(of device: Int) -> RegistrationRow? {
        store.placeOfDevice(app: devices[device].app, installation: devices[device].installation, kind: .alert)
            .map { store.registrations[$0] }
    }

    mutating func register(_ device: Int) {
        let phone = devices[device]
        let holder = store.registrations.first {
            $0.app == phone.app && $0.isLive && $0.stored.token == phone.token
                && $0.stored.installation != phone.installation
        }
        store.register(
            DeviceRegistration(
                installation: phone.installation, provider: .apns, environment: phone.environment, token: phone.token,
                user: .set(user(of: device)), tags: .set(tags(of: device))), app: phone.app, now: wall)
        devices[device].isRegistered = true
        if let holder { ledger.disturb(holder.id) }
    }

    /// Three phones a person.
    private func user(of device: Int) -> String { "user-\(device / 3)" }

    private func tags(of device: Int) -> [String] {
        [(2, "half"), (3, "third")].filter { device.isMultiple(of: $0.0) }.map(\.1)
    }

    mutating func scheduleDeviceEvent() {
        guard let every = plan.deviceEventEvery else { return }
        let next = after(.zero...every + every)
        if next < plan.faultsEnd { queue.put(.deviceEvent, at: next) }
    }

    mutating func happenToADevice() {
        scheduleDeviceEvent()
        let device = random.below(devices.count)
        switch random.below(9) {
        case 0, 1: register(device)
        case 2: replaceToken(device, environment: devices[device].environment)
        case 3: replaceToken(device, environment: devices[device].environment == .sandbox ? .production : .sandbox)
        case 4: inheritToken(device)
        case 5: remove(device)
        case 6: uninstallOrReturn(device)
        case 7: setBadge(device, to: Int32(random.below(50)))
        default: setBadge(device, to: max(0, (row(of: device)?.badge ?? 0) - 2))
        }
    }

    private mutating func replaceToken(_ device: Int, environment: PushEnvironment) {
        let old = SimulatedApple.number(of: devices[device].token)
        if apple.tokens[old].deadSince == nil { apple.tokens[old].deadSince = wall }
        devices[device].token = apple.issueToken(environment: environment)
        devices[device].environment = environment
        register(device)
    }

    /// Restored from another phone's backup: its token comes along, and belongs here now.
    private mutating func inheritToken(_ device: Int) {
        let other = random.below(devices.count)
        guard devices[other].app == devices[device].app, other != device else { return }
        devices[device].token = devices[other].token
        devices[device].environment = devices[other].environment
        register(device)
    }

    private mutating func remove(_ device: Int) {
        if let row = row(of: device) { ledger.disturb(row.id) }
        store.removeDevice(app: devices[device].app, installation: devices[device].installation)
        devices[device].isRegistered = false
    }

    /// Apple knows at once, we don't. Back again with the same token, the app registers.
    private mutating func uninstallOrReturn(_ device: Int) {
        let token = SimulatedApple.number(of: devices[device].token)
        if apple.tokens[token].deadSince == nil {
            apple.tokens[token].deadSince = wall
        } else {
            apple.tokens[token].deadSince = nil
            register(device)
        }
    }

    private mutating func setBadge(_ device: Int, to badge: Int32) {
        guard let row = row(of: device) else { return }
        store.setBadge(badge, app: devices[device].app, installation: devices[device].installation)
        ledger.setBadge(badge, of: row.id)
    }

    mutating func scheduleMessages() {
        for number in 0..<plan.messages {
            let app = AppID(Int64(random.within(1...plan.apps)))
            let isNamed = random.happens(perMille: plan.named)
            let isShort = random.happens(perMille: plan.shortLived)
            let message = SimulatedMessage(
                id: MessageID(UniversalID(high: UInt64(number + 1), low: plan.seed)), app: app,
                urgency: isNamed ? .transactional : .bulk,
                badge: random.pick([.none, .increment, .increment, .value(7)]),
                lifetime: .seconds(isShort ? random.pick([30, 90]) : 86_400),
                audience: isNamed ? drawNamed(number, app) : drawBroadcast())
            if random.happens(perMille: plan.notRepeatable) { unrepeatable.insert(message.id) }
            messages.append(message)
            let latest = SimulatedTime(nanoseconds: plan.faultsEnd.nanoseconds * 3 / 4)
            queue.put(.send(number), at: number == 0 ? .milliseconds(10) : random.within(.zero...latest))
        }
    }

    private mutating func drawBroadcast() -> Audience {
        random.pick([
            .all, .all, .tags(TagExpression(any: ["half", "third"])), .tags(TagExpression(all: ["half", "third"])),
            .tags(TagExpression(any: ["half"], none: ["third"])),
        ])
    }

    /// Some phones, or some people, or some tokens; one of them is nobody's.
    private mutating func drawNamed(_ number: Int, _ app: AppID) -> Audience {
        let chosen = devices.indices.filter { devices[$0].app == app && random.happens(perMille: 500) }
        switch random.below(3) {
        case 0: return .installations(chosen.map { devices[$0].installation } + ["nobody-\(number)"])
        case 1: return .users(chosen.map(user(of:)) + ["nobody-\(number)"])
        default:
            var targets = chosen.map { target(devices[$0].token, devices[$0].environment) }
            targets.append(target(apple.issueToken(environment: .production), .production))
            return .tokens(targets)
        }
    }

    private func target(_ token: DeviceToken, _ environment: PushEnvironment) -> InlineTarget {
        InlineTarget(provider: .apns, environment: environment, topic: "", token: token)
    }

    mutating func send(_ number: Int) {
        store.accept(messages[number], now: wall)
        sent += 1
        for process in processes where process.isAlive {
            queue.put(.notified(process.addressee), at: after(.zero ... .milliseconds(30)))
        }
    }
}
