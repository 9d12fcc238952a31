import Basis
import Encodings
import Expressions
import HTTPTypes
import JSON
import Model
import Requests
import Signing
import Store

extension DeviceHandlers {
    /// Lists devices. A page may be short, or empty, while more follow: each passes a bounded number of devices.
    func list(_ call: Call) async throws(Problem) -> Answer {
        let limit = try call.query.limit()
        let after = try call.query.cursor { DeviceCursor(text: $0) }
        var filter = try Self.filter(call.query, now: clock())
        let isStale = try call.query.choice("stale", ["true", "false"], Bool.init) ?? false
        let app = try await apps.app(of: call)
        if isStale { filter.staleCutoffs = app.settings.stale.staleCutoffs(now: clock()) }
        let asked = filter
        let page = try await reads.read(
            of: app.id, await registry.devices(app: app.id, asked, after: after, limit: limit))
        guard let page else { throw .invalidCursor }
        return Answer(.ok, DeviceAnswer.page(page.devices, next: page.next?.text, call.caller.tokenView))
    }

    private static func filter(_ query: QueryReader, now: WallInstant) throws(Problem) -> DeviceFilter {
        var filter = DeviceFilter()
        filter.user = query["user"]
        filter.tag = query["tag"]
        filter.provider = try query.choice("provider")
        filter.state = try query.choice("state")
        filter.kind = try query.choice("kind")
        if let text = query.parameter("filter") {
            do throws(FilterFault) {
                filter.condition = DeviceCondition(try FilterExpression(parsing: text), now: now)
            } catch { throw Problem(error, at: nil) }
        }
        return filter
    }

    /// Registers a token for the installation that holds it, or else for one whose name is made of the token.
    func registerToken(_ call: Call) async throws(Problem) -> Answer {
        var registration = try RegistrationRequest.read(call.body, installation: "", now: clock())
        let app = try await apps.app(of: call)
        let reading = TokenReading(place: 0, provider: registration.provider, token: registration.token)
        let holder = try await translating(.isIdempotent, await registry.holders(app: app.id, of: [reading])).first
        registration.installation = holder?.device.installation ?? Self.name(of: reading)
        let named = registration
        let device = try await translating(.isIdempotent, await registrations.commit(named, app: app.id).get())
        let body = DeviceAnswer.body(device.record, change: device.change, call.caller.tokenView)
        guard device.isNew else { return Answer(.ok, body) }
        let location = "/v1/apps/\(app.slug)/devices/\(registration.installation)"
        return Answer(.created, body, headers: [(.location, location)])
    }

    /// Returns the same name for the same token, at any time and place. The name reveals nothing about the token.
    private static func name(of reading: TokenReading) -> String {
        let digest = Hashes.sha256(Array(reading.provider.name.utf8) + [0] + reading.token.bytes)
        return "token-" + Hexadecimal.text(Array(digest.prefix(namedByBytes)))
    }

    /// The bytes of the digest in a name: enough that no two tokens ever get the same name.
    private static let namedByBytes = 16

    func lookUp(_ call: Call) async throws(Problem) -> Answer {
        let request = try LookupRequest.read(call.body)
        let app = try await apps.app(of: call)
        let found = try await reads.read(of: app.id, await registry.holders(app: app.id, of: request.readings))
        return Answer(.ok, DeviceAnswer.holders(found, of: request.count, call.caller.tokenView))
    }

    func patch(_ call: Call) async throws(Problem) -> Answer {
        let kind: TokenKind? = try call.query.choice("kind")
        let installation = try installation(of: call)
        let patch = try DevicePatchRequest.read(call.body)
        let app = try await apps.app(of: call)
        let limits = DevicePatchLimits(
            tagsMax: RegistrationLimits.tagsMax, attributesBytesMax: RegistrationLimits.attributesBytesMax,
            attributesMembersMax: RegistrationLimits.attributesMembersMax)
        let reply = try await translating(
            .isIdempotent,
            await registry.patch(patch, app: app.id, installation: installation, kind: kind, limits: limits))
        switch reply {
        case .patched(let devices):
            guard let device = devices.first(where: { kind == nil || $0.kind == kind }) else { throw .unknownDevice }
            return Answer(.ok, DeviceAnswer.body(device, all: devices, call.caller.tokenView))
        case .unknownDevice: throw .unknownDevice
        case .tooManyTags(let count):
            throw Problem(
                .valueTooLong, "The device would have \(count) tags; at most \(limits.tagsMax) are kept.",
                at: .root / "tags_add")
        case .attributesTooLong(let bytes):
            throw Problem(
                .valueTooLong,
                "The attributes would have \(bytes) bytes; at most \(limits.attributesBytesMax) are kept.",
                at: .root / "attributes")
        case .tooManyAttributes(let members):
            throw Problem(
                .valueTooLong,
                "The attributes would have \(members) members; at most \(limits.attributesMembersMax) are kept.",
                at: .root / "attributes")
        }
    }

    func eraseUser(_ call: Call) async throws(Problem) -> Answer {
        let user = try Self.user(of: call)
        let app = try await apps.app(of: call)
        let report = try await translating(.isIdempotent, await registry.erase(user: user, app: app.id))
        apps.log.note(.userErased, app: app.slug, by: call.caller, ["registrations": "\(report.registrations)"])
        return Answer(.ok, DeviceAnswer.erasure(registrations: report.registrations, feedback: report.feedback))
    }
}
