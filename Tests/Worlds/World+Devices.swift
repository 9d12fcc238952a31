import Basis
import Model

/// One token of a phone with the app on it, in its true state. The registry may be behind.
package struct SimulatedDevice: Sendable {
    package let app: AppID
    /// The number of the installation, within its app.
    package let number: Int
    package let kind: TokenKind
    package var provider: Provider
    package var token: DeviceToken
    /// The environment in which Apple knows the token.
    package var environment: PushEnvironment
    /// Whether the app names the other environment.
    package var isMistaken = false
    /// nil: nobody is signed in.
    package var user: String?
    package var tags: [String]

    package var installation: String { "phone-\(app.value)-\(number)" }
}

// The fleet, and what happens to devices while a broadcast is under way.
extension SimulatedWorld {
    mutating func populate() {
        for app in 1...plan.apps {
            limit(AppID(Int64(app)))
            for number in 0..<plan.devicesPerApp { unpack(AppID(Int64(app)), number) }
        }
    }

    /// Adds a new phone, with a token for each kind of push that its app wants.
    private mutating func unpack(_ app: AppID, _ number: Int) {
        let provider: Provider = random.happens(perMille: plan.fcmDevices) ? .fcm : .apns
        let isSandbox = provider == .apns && random.happens(perMille: 150)
        let isMistaken = provider == .apns && random.happens(perMille: plan.mistaken)
        var kinds = [TokenKind.alert]
        if provider == .apns, random.happens(perMille: plan.manyKinds) {
            for content in SimulatedContent.allCases where random.happens(perMille: 400) {
                if !kinds.contains(content.kind) { kinds.append(content.kind) }
            }
        }
        for kind in kinds {
            let environment: PushEnvironment = isSandbox ? .sandbox : .production
            let token = providers.issueToken(provider, kind, environment)
            // Each user has three phones.
            devices.append(
                SimulatedDevice(
                    app: app, number: number, kind: kind, provider: provider, token: token, environment: environment,
                    isMistaken: isMistaken, user: "user-\(number / 3)", tags: Self.tags(ofNumber: number)))
            register(devices.count - 1)
            spoil(devices.count - 1)
        }
    }

    /// Makes some tokens dead, wrong or dangerous from the start.
    private mutating func spoil(_ device: Int) {
        let (provider, token) = (devices[device].provider, devices[device].token)
        if random.happens(perMille: plan.deadDevices) {
            providers[provider, token].deadSince = Self.wall(at: now + .seconds(1))
        }
        if random.happens(perMille: plan.badTokens) {
            providers[provider, token].flaw = provider == .fcm ? random.pick([.garbage, .foreign]) : .garbage
        }
        if random.happens(perMille: plan.poisonous), let row = row(of: device) { poisonous.insert(row.id) }
    }

    func row(of device: Int) -> RegistrationRow? {
        let phone = devices[device]
        return store.placeOfDevice(app: phone.app, installation: phone.installation, kind: phone.kind)
            .map { store.registrations[$0] }
    }

    package mutating func register(_ device: Int) {
        let phone = devices[device]
        let input = DeviceRegistration(
            installation: phone.installation, kind: phone.kind, provider: phone.provider,
            environment: environmentReported(by: phone), token: phone.token,
            profile: ProfileChange(
                [.user: phone.user.map { .set($0) } ?? .clear, .timeZone: timeZone(of: phone)],
                tags: .set(phone.tags)))
        let holder = store.placeOfHolder(app: phone.app, of: input).map { store.registrations[$0] }
        let former = [row(of: device), holder].compactMap(\.self)
        store.register(input, app: phone.app, now: wall)
        if let row = row(of: device) {
            ledger.noteRegistered(row, at: now)
            let user = former.first { $0.id == row.id }?.stored.profile[.user]
            // The next user begins with an open window.
            if user != nil, user != row.stored.profile[.user] { items.opensAt[row.id] = nil }
        }
        if let holder, holder.stored.installation != phone.installation {
            ledger.changeHands(holder.id, to: .otherInstallation, at: now)
        }
    }

    /// The environment that the app registers.
    func environmentReported(by phone: SimulatedDevice) -> PushEnvironment {
        guard plan.hasSandbox else { return .production }
        return phone.isMistaken ? phone.environment.other : phone.environment
    }

    private static func tags(ofNumber number: Int) -> [String] {
        [(2, "half"), (3, "third")].filter { number.isMultiple(of: $0.0) }.map(\.1)
    }

    mutating func scheduleDeviceEvent() {
        guard let every = plan.deviceEventEvery else { return }
        let next = after(.zero...every + every)
        if next < plan.faultsEnd { queue.put(.deviceEvent, at: next) }
    }

    mutating func happenToADevice() {
        scheduleDeviceEvent()
        let device = random.below(devices.count)
        let phone = devices[device]
        let kind = DeviceEvent(drawn: random.below(11))
        trail.add("\(phone.installation) of app \(phone.app.value), \(phone.kind), \(kind.rawValue)")
        switch kind {
        case .registers: register(device)
        case .newToken: replaceToken(device, phone.provider, phone.environment)
        case .otherEnvironment:
            replaceToken(device, phone.provider, phone.provider == .apns ? phone.environment.other : .production)
        case .inherits: inheritToken(device)
        case .removed: remove(device)
        case .uninstalled: uninstallOrReturn(device)
        case .otherProvider: changeSides(device)
        case .repaired: repair(device)
        case .badgeSet: setBadge(device, to: Int32(random.below(50)))
        case .badgeLowered: setBadge(device, to: max(0, (row(of: device)?.badge ?? 0) - 2))
        }
    }

    private mutating func replaceToken(_ device: Int, _ provider: Provider, _ environment: PushEnvironment) {
        let phone = devices[device]
        if providers[phone.provider, phone.token].deadSince == nil {
            providers[phone.provider, phone.token].deadSince = Self.wall(at: now)
        }
        devices[device].token = providers.issueToken(provider, phone.kind, environment)
        devices[device].provider = provider
        devices[device].environment = environment
        register(device)
    }

    /// Lets the app's next version use the other provider. FCM has one token per installation.
    private mutating func changeSides(_ device: Int) {
        guard devices[device].kind == .alert, plan.fcmDevices > 0 else { return }
        incidents.sidesChanged += 1
        devices[device].isMistaken = false
        replaceToken(device, devices[device].provider == .fcm ? .apns : .fcm, .production)
    }

    /// Lets the app learn its true environment.
    private mutating func repair(_ device: Int) {
        guard devices[device].isMistaken else { return }
        devices[device].isMistaken = false
        register(device)
    }

    /// Restores the phone from another phone's backup: the token comes along, and belongs to this phone now.
    private mutating func inheritToken(_ device: Int) {
        let other = devices[random.below(devices.count)]
        guard other.app == devices[device].app, other.kind == devices[device].kind,
            other.number != devices[device].number
        else { return }
        devices[device].provider = other.provider
        devices[device].token = other.token
        devices[device].environment = other.environment
        devices[device].isMistaken = other.isMistaken
        register(device)
    }

    /// Removes the installation with all its kinds.
    private mutating func remove(_ device: Int) {
        let phone = devices[device]
        for row in store.registrations where row.app == phone.app && row.stored.installation == phone.installation {
            ledger.changeHands(row.id, to: .removed, at: now)
        }
        store.removeDevice(app: phone.app, installation: phone.installation)
    }

    /// Uninstalls the app: the provider knows at once, the gateway doesn't. Or the app returns with the same token and
    /// registers.
    private mutating func uninstallOrReturn(_ device: Int) {
        let (provider, token) = (devices[device].provider, devices[device].token)
        if providers[provider, token].deadSince == nil {
            providers[provider, token].deadSince = Self.wall(at: now)
        } else {
            providers[provider, token].deadSince = nil
            register(device)
        }
    }

    private mutating func setBadge(_ device: Int, to badge: Int32) {
        guard let row = row(of: device) else { return }
        let phone = devices[device]
        store.setBadge(badge, app: phone.app, installation: phone.installation, kind: phone.kind)
        ledger.setBadge(badge, of: row.id)
    }
}

/// The fates of a device, as traces show them.
private enum DeviceEvent: String {
    case registers = "registers"
    case newToken = "gets a new token"
    case otherEnvironment = "gets a token of the other environment"
    case inherits = "takes over the token of another device of its kind"
    case removed = "is removed"
    case uninstalled = "is uninstalled, or comes back"
    case otherProvider = "changes to the other provider, if it can"
    case repaired = "corrects a wrong environment"
    case badgeSet = "sets its badge"
    case badgeLowered = "lowers its badge by two"

    /// - Parameter drawn: below eleven.
    init(drawn: Int) {
        let events: [DeviceEvent] = [
            .registers, .registers, .newToken, .otherEnvironment, .inherits, .removed, .uninstalled, .otherProvider,
            .repaired, .badgeSet, .badgeLowered,
        ]
        self = events[drawn]
    }
}
