import Basis
import HTTPTypes
import Model
import Registry
import Requests
import Store
import WakeUp

struct DeviceHandlers: Sendable {
    let apps: AppHandlers
    let registrations: RegistrationCommitter
    let clock: @Sendable () -> WallInstant
    let reads: ReadAdmission
    let own: OwnDevices

    var registry: RegistryStore { apps.registry }

    func register(_ call: Call) async throws(Problem) -> Answer {
        let installation = try installation(of: call)
        if let user = call.user { return try await register(installation, of: user, call) }
        let registration = try RegistrationRequest.read(call.body, installation: installation, now: clock())
        let app = try await apps.app(of: call)
        let device = try await translating(.isIdempotent, await registrations.commit(registration, app: app.id).get())
        return Self.answer(device, at: call.path, call.caller.tokenView)
    }

    private func register(
        _ installation: String, of user: ReadAccess.User, _ call: Call
    ) async throws(Problem) -> Answer {
        let app = try await apps.app(of: call)
        try app.checkItemsAreOn()
        let registration = try OwnDeviceRequest.read(
            call.body, installation: installation, user: user.subject, now: clock())
        let device = try await own.register(registration, for: user, in: app)
        return Self.answer(device, at: call.path, call.caller.tokenView, TokenStatus(device))
    }

    static func answer(
        _ device: RegisteredDevice, at path: String, _ view: TokenView, _ tokenStatus: TokenStatus? = nil
    ) -> Answer {
        let body = DeviceAnswer.body(device.record, change: device.change, tokenStatus: tokenStatus, view)
        return device.isNew ? Answer(.created, body, headers: [(.location, path)]) : Answer(.ok, body)
    }

    func read(_ call: Call) async throws(Problem) -> Answer {
        let kind: TokenKind? = try call.query.choice("kind")
        let installation = try installation(of: call)
        let app = try await apps.app(of: call)
        let devices = try await translating(.reads, await registry.devices(app: app.id, installation: installation))
        guard let device = kind.map({ kind in devices.first { $0.kind == kind } }) ?? devices.first else {
            throw .unknownDevice
        }
        return Answer(.ok, DeviceAnswer.body(device, all: devices, call.caller.tokenView))
    }

    func remove(_ call: Call) async throws(Problem) -> Answer {
        let kind: TokenKind? = try call.query.givenChoice("kind")
        let installation = try installation(of: call)
        let app = try await apps.app(of: call)
        try await own.check(call, installation, in: app)
        let removed = try await translating(
            .isIdempotent, await registry.removeDevice(app: app.id, installation: installation, kind: kind))
        guard removed > 0 else { throw .unknownDevice }
        return .done
    }

    func installation(of call: Call) throws(Problem) -> String { try Self.installation(call.subject) }

    /// Returns an installation's name from the path; throws if it is too long to be one.
    static func installation(_ name: String) throws(Problem) -> String {
        let bytes = name.utf8.count
        guard bytes <= RegistrationLimits.installationBytesMax else {
            throw Problem(
                .valueTooLong,
                "The installation's name has \(bytes) bytes; the limit is \(RegistrationLimits.installationBytesMax)."
            )
        }
        return name
    }
}

extension DeviceHandlers {
    /// Returns a user's name from the path; throws if it is too long to be one.
    static func user(of call: Call) throws(Problem) -> String {
        let bytes = call.subject.utf8.count
        guard bytes <= ProfileField.user.bytesMax else {
            throw Problem(
                .valueTooLong, "The user's name has \(bytes) bytes; the limit is \(ProfileField.user.bytesMax).")
        }
        return call.subject
    }
}

extension Problem {
    static let unknownDevice = Problem(
        .unknownDevice, "No installation with this name is registered in this app. PUT registers one.")

    static let idempotencyMismatch = Problem(
        .idempotencyMismatch,
        "This Idempotency-Key was used for another request. A repetition must be the same, byte for byte; use a new "
            + "key for a new request.")
}

extension Answer {
    static let replayedHeader = (name: HTTPField.Name.idempotencyReplayed, value: "true")
}
