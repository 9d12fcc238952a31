import Expressions
import Model
import Postgres
import Registry
import Requests
import Store
import WakeUp

/// Installations whose users act for themselves, with a token in the place of an API key.
///
/// An installation is a user's if its registrations name the token's `sub`. The app's hook `device` is asked at each
/// request of a user. API keys act for every installation, and no hook is asked.
struct OwnDevices: Sendable {
    let apps: AppHandlers
    let registrations: RegistrationCommitter
    let access: ReadAccess
    let hooks: HookAccess

    /// Returns the user of the caller's token; nil: the caller has an API key. Throws if the token is not valid.
    func user(of call: Call) async throws(Problem) -> ReadAccess.User? {
        guard let token = call.caller.userToken else { return nil }
        let app = try await apps.app(of: call)
        guard let user = try await translating(.reads, await access.user(token: token, app: app.id)) else {
            throw .invalidUserToken
        }
        return user
    }

    /// Throws unless the caller may change all registrations of the installation. A user may not if one of another kind
    /// has another user, or none.
    ///
    /// Another user may get the installation between this check and the change, which then meets that user's.
    func check(_ call: Call, _ installation: String, in app: AppRecord) async throws(Problem) {
        guard let user = call.user else { return }
        let known = try await stored(installation, in: app)
        guard known.allSatisfy({ $0.isOf(user) }), let device = known.first(where: { $0.kind == .alert }) else {
            throw .unknownDevice
        }
        try await ask(.device, user, HookRequest.Device(device), in: app)
    }

    /// Returns the installation's registration of kind alert, to which the pushes of subscriptions go; nil: it has none.
    /// To a user, other users' installations look like unknown ones.
    func alertRegistration(
        of installation: String, _ call: Call, in app: AppRecord
    ) async throws(Problem) -> DeviceRecord? {
        let known = try await stored(installation, in: app)
        guard let device = known.first(where: { $0.kind == .alert }) else { return nil }
        guard let user = call.user else { return device }
        guard device.isOf(user) else { throw .unknownDevice }
        try await ask(.device, user, HookRequest.Device(device), in: app)
        return device
    }

    /// Returns the installation's registrations; empty if it is unknown.
    private func stored(_ installation: String, in app: AppRecord) async throws(Problem) -> [DeviceRecord] {
        try await translating(.reads, await apps.registry.devices(app: app.id, installation: installation))
    }

    /// Registers a user's own installation.
    /// - Parameter registration: as `OwnDeviceRequest` has read it.
    func register(
        _ registration: DeviceRegistration, for user: ReadAccess.User, in app: AppRecord
    ) async throws(Problem) -> RegisteredDevice {
        try await check(registration, for: user, in: app)
        var claimed = registration
        // The rows may change before they are locked, so the transaction looks at their users again.
        claimed.claimant = user.subject
        let named = claimed
        // Registrations of keys may share the transaction, and must not wait with the strangers.
        let result = await PoolShare.$current.withValue(.app(app.slug)) {
            await registrations.commit(named, app: app.id)
        }
        let device = try await translating(.isIdempotent, try result.get())
        guard device.change != .stale else { throw .notOwn }
        return device
    }

    private func check(
        _ registration: DeviceRegistration, for user: ReadAccess.User, in app: AppRecord
    ) async throws(Problem) {
        let known = try await stored(registration.installation, in: app)
        guard known.allSatisfy({ $0.isOf(user) }) else { throw .notOwn }
        let device = HookRequest.Device(registration)
        try await ask(.device, user, device, in: app)
        guard let former = known.first(where: { $0.kind == registration.kind }),
            former.provider != registration.provider || former.token != registration.token
        else { return }
        try await ask(.token, user, device, in: app)
    }

    /// Throws unless the app's hook allows the request.
    /// - Parameter activation: the subscription that the request makes or changes; nil: none.
    func ask(
        _ kind: HookExpression.Kind, _ user: ReadAccess.User, _ device: HookRequest.Device,
        _ activation: HookRequest.Activation? = nil, in app: AppRecord
    ) async throws(Problem) {
        let request = HookRequest(auth: UserClaims(ofToken: user.claims), device: device, activation: activation)
        let isAllowed = try await translating(
            .reads, await hooks.allows(request, kind, of: app.settings.triggers.hooks, app: app.id))
        guard !isAllowed else { return }
        switch kind {
        case .device: throw .denied(by: "device")
        case .activation: throw .denied(by: "activation")
        case .token:
            throw Problem(
                .permissionDenied,
                "The app's hook token does not let you change the token. Nothing was changed: the former token keeps the "
                    + "subscriptions. To go on with the new one, DELETE the installation, PUT it again and activate its "
                    + "subscriptions anew.")
        }
    }
}

extension DeviceRecord {
    /// Whether the registration names the user.
    fileprivate func isOf(_ user: ReadAccess.User) -> Bool {
        guard !user.subject.isEmpty, let own = profile[.user] else { return false }
        return own.hasSameBytes(as: user.subject)
    }
}

extension HookRequest.Device {
    init(_ device: DeviceRecord) {
        self.init(device.installation, device.provider, topic: device.topic)
    }

    init(_ registration: DeviceRegistration) {
        self.init(registration.installation, registration.provider, topic: registration.topic)
    }

    private init(_ installation: String, _ provider: Provider, topic: String) {
        self.init(installation: installation, provider: provider, topic: topic)
    }
}

/// The effect of a user's own registration on the installation's token. The raw values are the words of the API.
enum TokenStatus: String {
    /// The installation had no token.
    case firstUse = "first_use"
    case unchanged
    case changed

    init(_ device: RegisteredDevice) {
        switch device.change {
        case _ where device.isNew: self = .firstUse
        case .created: self = .firstUse
        case .refreshed, .unchanged, .stale: self = .unchanged
        case .replaced, .moved: self = .changed
        }
    }
}

extension Problem {
    fileprivate static func denied(by name: String) -> Problem {
        Problem(
            .permissionDenied,
            "The app's hook \(name) does not let this user do this. Nothing was changed. Use the token of a user who may, "
                + "or an API key.")
    }

    /// Says nothing about whose the installation or the token is.
    fileprivate static let notOwn = Problem(
        .permissionDenied,
        "The installation or its token belongs to another user, or a backend registered it without a user. Nothing was "
            + "changed. Let the backend register it for this user, or use another installation.")
}
