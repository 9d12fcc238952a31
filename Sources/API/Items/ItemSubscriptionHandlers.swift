import Basis
import CompiledMessages
import Content
import Encodings
import Expressions
import JSON
import Model
import Requests
import Store
import TriggerRules
import TriggerStore
import WakeUp

/// The subscriptions of a device to items: activated, inquired, modified, reactivated and deactivated.
struct ItemSubscriptionHandlers: Sendable {
    let apps: AppHandlers
    let store: ItemSubscriptionStore
    let own: OwnDevices
    let reads: ReadAdmission
    let clock: @Sendable () -> WallInstant
    let entropy: @Sendable (Int) -> [UInt8]

    /// The subscriptions that are read at once. So many of the largest size are three megabytes.
    private static let readAtOnce = 50
    /// The bytes of subscriptions with which a page ends before its limit. A thousand usual ones have fewer.
    private static let pageBytes = 2 << 20
    /// The subscription may be changed while it is modified.
    private static let modifyTriesMax = 4

    /// The device of a request, which the caller may use.
    struct Asked {
        let app: AppRecord
        let device: DeviceRecord
    }

    func asked(_ call: Call) async throws(Problem) -> Asked {
        let installation = try DeviceHandlers.installation(call.subject)
        let app = try await apps.app(of: call)
        guard let device = try await own.alertRegistration(of: installation, call, in: app) else {
            throw .unknownDevice
        }
        return Asked(app: app, device: device)
    }

    /// Lists subscriptions by rising age. A page may be short while more follow: each has a bounded number of bytes.
    func list(_ call: Call) async throws(Problem) -> Answer {
        let limit = try call.query.limit(.itemSubscriptions)
        let after = try call.query.cursor { Int64($0).flatMap { $0 < 0 ? nil : $0 } }
        let status = try Self.status(call.query)
        let asked = try await asked(call)
        let found = try await reads.read(
            of: asked.app.id, await page(of: asked.device.id, status, after: after ?? 0, limit: limit))
        return Answer(.ok, ItemSubscriptionAnswer.page(found.subscriptions, next: found.next.map { String($0) }))
    }

    private func page(
        of device: RegistrationID, _ status: SubscriptionStatus?, after: Int64, limit: Int
    ) async throws(StoreFault) -> (subscriptions: [ItemSubscription], next: Int64?) {
        var found: [ItemSubscription] = []
        var bytes = 0
        while found.count < limit, bytes < Self.pageBytes {
            let count = min(limit - found.count, Self.readAtOnce)
            let some = try await store.subscriptions(
                of: device, status: status, after: found.last?.id ?? after, limit: count)
            found += some
            bytes += some.reduce(0) { $0 + ItemSubscriptionAnswer.bytes(of: $1) }
            if some.count < count { return (found, nil) }
        }
        return (found, found.last?.id)
    }

    func read(_ call: Call) async throws(Problem) -> Answer {
        let asked = try await asked(call)
        return Answer(.ok, ItemSubscriptionAnswer.body(try await subscription(call, of: asked.device)))
    }

    private func subscription(_ call: Call, of device: DeviceRecord) async throws(Problem) -> ItemSubscription {
        let key = try Self.key(of: call)
        guard let found = try await translating(.reads, await store.subscription(key, of: device.id)) else {
            throw .unknownItemSubscription
        }
        return found
    }

    func modify(_ call: Call) async throws(Problem) -> Answer {
        let asked = try await asked(call)
        for _ in 0..<Self.modifyTriesMax {
            let stored = try await subscription(call, of: asked.device)
            let request = try ModificationRequest.read(call.body, of: stored.terms, now: clock())
            try await check(request.terms, call, HookRequest.Device(asked.device), in: asked.app)
            if let content = request.content {
                try Self.check(content, fields: request.terms.fields, for: asked.device.provider)
            }
            let reply = try await translating(
                .isIdempotent,
                await store.modify(
                    stored.key, of: asked.device.id, from: stored.revision, to: request.terms, rearms: request.rearms))
            switch reply {
            case .modified(let subscription): return Answer(.ok, ItemSubscriptionAnswer.body(subscription))
            case .changedMeanwhile: continue
            case .unknown: throw .unknownItemSubscription
            case .tooMany: throw .tooManySubscriptions
            case .tooManyExpressions: throw .tooManyExpressions
            }
        }
        throw Problem(StoreFault.contended, .isIdempotent)
    }

    func reactivate(_ call: Call) async throws(Problem) -> Answer {
        let asked = try await asked(call)
        let stored = try await subscription(call, of: asked.device)
        try await check(stored.terms, call, HookRequest.Device(asked.device), in: asked.app)
        switch try await translating(.isIdempotent, await store.reactivate(stored.key, of: asked.device.id)) {
        case .modified(let subscription): return Answer(.ok, ItemSubscriptionAnswer.body(subscription))
        case .unknown: throw .unknownItemSubscription
        case .changedMeanwhile: throw Problem(StoreFault.contended, .isIdempotent)
        case .tooMany: throw .tooManySubscriptions
        case .tooManyExpressions: throw .tooManyExpressions
        }
    }

    func deactivate(_ call: Call) async throws(Problem) -> Answer {
        let asked = try await asked(call)
        let key = try Self.key(of: call)
        guard try await translating(.isIdempotent, await store.remove(key, of: asked.device.id)) else {
            throw .unknownItemSubscription
        }
        return .done
    }

    func deactivateAll(_ call: Call) async throws(Problem) -> Answer {
        let status = try Self.status(call.query)
        guard status != nil || call.query.parameter("status") == nil else {
            throw Problem(.invalidQuery, "status is empty. Name one, or leave the parameter out to deactivate all.")
        }
        let asked = try await asked(call)
        _ = try await translating(.isIdempotent, await store.removeAll(of: asked.device.id, status: status))
        return .done
    }

    private static func status(_ query: QueryReader) throws(Problem) -> SubscriptionStatus? {
        try query.choice("status", SubscriptionStatus.allCases.map(\.name)) { name in
            SubscriptionStatus.allCases.first { $0.name == name }
        }
    }

    private static func key(of call: Call) throws(Problem) -> UniversalID {
        guard let key = UniversalID(text: call.detail) else { throw .unknownItemSubscription }
        return key
    }
}

// The checks of a subscription that need no row of it.
extension ItemSubscriptionHandlers {
    /// Throws unless the app's hook and allow-list take the terms.
    func check(
        _ terms: SubscriptionTerms, _ call: Call, _ device: HookRequest.Device, in app: AppRecord
    ) async throws(Problem) {
        try await askHook(terms, call, device, in: app)
        if let trigger = terms.trigger { try await apps.allowList.check(trigger.text, in: app) }
    }

    private func askHook(
        _ terms: SubscriptionTerms, _ call: Call, _ device: HookRequest.Device, in app: AppRecord
    ) async throws(Problem) {
        guard let user = call.user else { return }
        let activation = HookRequest.Activation(
            items: terms.items, fields: terms.fields, mode: terms.mode.rawValue, trigger: terms.trigger?.text)
        try await own.ask(.activation, user, device, activation, in: app)
    }

    /// Throws what the device's provider would refuse of any push: each field has one character.
    ///
    /// Without one, a text that is a field alone would be blank.
    static func check(_ content: MessageContent, fields: [String], for provider: Provider) throws(Problem) {
        let filled = content.filled(with: fields.map { _ in "1" }, of: fields)
        let id = MessageID(UniversalID(high: 0, low: 0))
        do throws(ContentFault) {
            try CompiledMessage(filled, message: id, for: [provider]).check(asked: [provider])
        } catch { throw Problem(error) }
    }
}

extension Problem {
    static let unknownItemSubscription = Problem(
        .unknownSubscription, "The installation has no subscription with this key. GET .../subscriptions lists them.")

    static let tooManySubscriptions = Problem(
        .tooMany,
        "The installation has \(ItemSubscriptionStore.perDeviceMax) subscriptions already, or the app "
            + "\(ItemSubscriptionStore.itemsPerAppMax) items. Deactivate some: DELETE "
            + ".../subscriptions?status=triggered.")

    static let tooManyExpressions = Problem(
        .tooMany,
        "One of the items has \(ItemSubscriptionStore.expressionsPerItemMax) different triggers already that no threshold "
            + "orders. Write a trigger that compares one field with a number.", at: .root / "trigger")
}
