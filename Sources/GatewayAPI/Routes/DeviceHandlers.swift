import HTTPTypes
import PushModel
import Registry
import Signing
import Store

/// Registrations of one installation, and its badge.
struct DeviceHandlers: Sendable {
    let apps: AppHandlers
    let clock: @Sendable () -> WallInstant

    private var registry: RegistryKeeper { apps.registry }

    func register(_ call: Call) async throws(Problem) -> Answer {
        let installation = try installation(of: call)
        let registration = try RegistrationRequest.read(call.body, installation: installation, now: clock())
        let app = try await apps.app(of: call)
        let device: RegisteredDevice
        do { device = try await registry.register(registration, app: app.id) } catch {
            throw Problem(error, .isIdempotent)
        }
        let body = DeviceAnswer.body(device.record, change: device.change)
        guard device.change == .created else { return Answer(.ok, body) }
        return Answer(.created, body, headers: [(.location, call.path)])
    }

    func read(_ call: Call) async throws(Problem) -> Answer {
        let kind = try call.query["kind"].map { (name) throws(Problem) in
            guard let kind = TokenKind(name: name) else {
                let kinds = TokenKind.allCases.map(\.name).joined(separator: ", ")
                throw Problem(.invalidQuery, "kind must be one of \(kinds).")
            }
            return kind
        }
        let installation = try installation(of: call)
        let app = try await apps.app(of: call)
        let devices: [DeviceRecord]
        do { devices = try await registry.devices(app: app.id, installation: installation) } catch {
            throw Problem(error, .reads)
        }
        guard let device = kind.map({ kind in devices.first { $0.kind == kind } }) ?? devices.first else {
            throw .unknownDevice
        }
        return Answer(.ok, DeviceAnswer.body(device, all: devices))
    }

    func remove(_ call: Call) async throws(Problem) -> Answer {
        let installation = try installation(of: call)
        let app = try await apps.app(of: call)
        let isRemoved: Bool
        do { isRemoved = try await registry.unregister(app: app.id, installation: installation) } catch {
            throw Problem(error, .isIdempotent)
        }
        guard isRemoved else { throw .unknownDevice }
        return .done
    }

    func readBadge(_ call: Call) async throws(Problem) -> Answer {
        let installation = try installation(of: call)
        let app = try await apps.app(of: call)
        let badge: Int32?
        do { badge = try await registry.badge(app: app.id, installation: installation) } catch {
            throw Problem(error, .reads)
        }
        return try badgeAnswer(badge, installation)
    }

    func setBadge(_ call: Call) async throws(Problem) -> Answer {
        let installation = try installation(of: call)
        let wanted = try BadgeRequest.readBadge(call.body)
        let app = try await apps.app(of: call)
        let badge: Int32?
        do { badge = try await registry.setBadge(wanted, app: app.id, installation: installation) } catch {
            throw Problem(error, .isIdempotent)
        }
        return try badgeAnswer(badge, installation)
    }

    func consumeBadge(_ call: Call) async throws(Problem) -> Answer {
        let installation = try installation(of: call)
        let count = try BadgeRequest.readCount(call.body)
        let app = try await apps.app(of: call)
        guard let key = call.idempotencyKey else {
            let badge: Int32?
            do { badge = try await registry.consumeBadge(count, app: app.id, installation: installation) } catch {
                throw Problem(error, .mayDouble)
            }
            return try badgeAnswer(badge, installation)
        }
        // The key's space is the app and the route: the same key for another installation is another request. An
        // installation has no NUL, so that this can't be read in two ways.
        let request = Array(installation.utf8) + [0] + call.body
        let claim = IdempotencyClaim(
            operation: "devices.badge.consume", key: key, bodySHA256: Hashes.sha256(request))
        let reply: OnceReply
        do {
            reply = try await registry.consumeBadge(
                count, app: app.id, installation: installation, idempotency: claim
            ) { badge in
                badge.map { DeviceAnswer.badge($0, installation: installation) } ?? Problem.unknownDevice.body
            }
        } catch {
            throw Problem(error, .isKeyed)
        }
        switch reply {
        case .done(let bytes): return repeatable(bytes, isReplay: false)
        case .replayed(let bytes): return repeatable(bytes, isReplay: true)
        case .mismatch: throw .idempotencyMismatch
        }
    }

    private func badgeAnswer(_ badge: Int32?, _ installation: String) throws(Problem) -> Answer {
        guard let badge else { throw .unknownDevice }
        return Answer(.ok, DeviceAnswer.badge(badge, installation: installation))
    }

    /// Only two things were ever kept under a key: a badge, or that the device is unknown.
    private func repeatable(_ bytes: [UInt8], isReplay: Bool) -> Answer {
        var answer = bytes == Problem.unknownDevice.body ? Answer(.unknownDevice) : Answer(.ok, bytes)
        if isReplay { answer.headers.append(Answer.replayedHeader) }
        return answer
    }

    private func installation(of call: Call) throws(Problem) -> String {
        let bytes = call.subject.utf8.count
        guard bytes <= RegistrationLimits.installationBytesMax else {
            throw Problem(
                .valueTooLong,
                "The installation's name has \(bytes) bytes; at most \(RegistrationLimits.installationBytesMax) are kept."
            )
        }
        return call.subject
    }
}

extension Problem {
    static let unknownDevice = Problem(
        .unknownDevice, "No installation of this name is registered with this app. PUT registers one.")

    static let idempotencyMismatch = Problem(
        .idempotencyMismatch,
        "This Idempotency-Key came with another request before. A repetition must be the same, byte for byte; another "
            + "request takes a fresh key.")
}

extension Answer {
    /// Tells a repetition from the first answer.
    static let replayedHeader = (name: HTTPField.Name.idempotencyReplayed, value: "true")
}
