import Basis
import Encodings
import Expressions
import HTTPTypes
import JSON
import Model
import Requests
import Store
import TriggerRules
import TriggerStore
import WakeUp

extension ItemSubscriptionHandlers {
    /// Activates a subscription. With `device`, the installation is registered first, as PUT would.
    ///
    /// These are two transactions (decision 0079): all that may refuse the request is looked at before the first.
    func activate(_ call: Call) async throws(Problem) -> Answer {
        let installation = try DeviceHandlers.installation(call.subject)
        let app = try await apps.app(of: call)
        try app.checkItemsAreOn()
        let request = try ActivationRequest.read(
            call.body, installation: installation, user: call.user?.subject, now: clock())
        let known = try await own.alertRegistration(of: installation, call, in: app)
        let (device, provider) = try Self.device(known, request.device)
        try await check(request.terms, call, device, in: app)
        try Self.check(request.content, fields: request.terms.fields, for: provider)
        // An idempotency key belongs to the app and the endpoint: for another installation it is another request.
        // Neither an installation nor JSON has a NUL, so that these bytes can't be read in two ways.
        let claim = call.idempotencyClaim(of: Array(installation.utf8) + [0] + call.body)
        // A repeated request registers nothing: the installation may have got another token since.
        if request.device != nil, let claim,
            let earlier = try await translating(.isKeyed, await store.earlier(claim, app: app.id))
        {
            return try answer(earlier, call)
        }
        let registration = try await registration(known, request.device, call, in: app)
        return try await activate(request, registration, claim, call, in: app)
    }

    /// The device that gets the pushes, by what the request says of it, or else by what is known.
    private static func device(
        _ known: DeviceRecord?, _ asked: DeviceRegistration?
    ) throws(Problem) -> (HookRequest.Device, Provider) {
        if let asked {
            guard asked.kind == .alert else {
                throw Problem(
                    .invalidValue, "Pushes of subscriptions go to tokens of kind alert. Leave kind out.",
                    at: .root / "device" / "kind")
            }
            return (HookRequest.Device(asked), asked.provider)
        }
        guard let known else { throw .unknownDevice }
        return (HookRequest.Device(known), known.provider)
    }

    private func registration(
        _ known: DeviceRecord?, _ asked: DeviceRegistration?, _ call: Call, in app: AppRecord
    ) async throws(Problem) -> DeviceRecord {
        guard let asked else {
            guard let known else { throw .unknownDevice }
            return known
        }
        if let user = call.user { return try await own.register(asked, for: user, in: app).record }
        let device = try await translating(.isIdempotent, await own.registrations.commit(asked, app: app.id).get())
        // A stale one may show the device that has held the token since a later time.
        guard device.record.installation.hasSameBytes(as: asked.installation) else { throw .unknownDevice }
        return device.record
    }

    private func activate(
        _ request: ActivationRequest, _ device: DeviceRecord, _ claim: IdempotencyClaim?, _ call: Call,
        in app: AppRecord
    ) async throws(Problem) -> Answer {
        let repetition: Repetition = claim != nil ? .isKeyed : request.coalescing ? .isIdempotent : .mayDouble
        let reply = try await translating(
            repetition,
            await store.activate(
                request.terms, key: newKey(), coalescing: request.coalescing, registration: device.id,
                user: call.user?.subject, app: app.id, once: claim
            ) { subscription, isNew in KeptActivation(isNew: isNew, ItemSubscriptionAnswer.body(subscription)).bytes })
        return try answer(reply, call)
    }

    private func answer(_ reply: ActivationReply, _ call: Call) throws(Problem) -> Answer {
        switch reply {
        case .activated(let subscription, let isNew):
            return answer(KeptActivation(isNew: isNew, ItemSubscriptionAnswer.body(subscription)), call)
        case .replayed(let bytes):
            var again = answer(KeptActivation(bytes), call)
            again.headers.append(Answer.replayedHeader)
            return again
        case .mismatch: throw .idempotencyMismatch
        case .tooMany: throw .tooManySubscriptions
        case .tooManyExpressions: throw .tooManyExpressions
        case .unknownDevice: throw .unknownDevice
        }
    }

    private func answer(_ kept: KeptActivation, _ call: Call) -> Answer {
        guard kept.isNew else { return Answer(.ok, kept.body) }
        let key = (try? JSONReader.read(kept.body, limits: .trusted))?.object?["key"]?.string
        return Answer(.created, kept.body, headers: key.map { [(.location, "\(call.path)/\($0)")] } ?? [])
    }

    private func newKey() -> UniversalID {
        let bytes = entropy(16)
        func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        return UUIDv7.make(at: clock(), random: (number(bytes[..<8]), number(bytes[8...])))
    }
}

/// The answer to an activation as an idempotency key keeps it: a letter for its status, and the body.
private struct KeptActivation {
    let isNew: Bool
    let body: [UInt8]

    private static let ofNew = UInt8(ascii: "n")
    private static let ofOverwritten = UInt8(ascii: "o")

    init(isNew: Bool, _ body: [UInt8]) { (self.isNew, self.body) = (isNew, body) }

    init(_ bytes: [UInt8]) { self.init(isNew: bytes.first == Self.ofNew, Array(bytes.dropFirst())) }

    var bytes: [UInt8] { [isNew ? Self.ofNew : Self.ofOverwritten] + body }
}
