import JSON
import Model
import Requests
import WakeUp
import WakeUpRules
import WakeUpStore

/// The subscriptions of an app, for its operator: counted, listed, shown and revoked.
struct SubscriptionHandlers: Sendable {
    let apps: AppHandlers
    let store: SubscriptionStore
    let revoker: SubscriptionRevoker
    let reads: ReadAdmission

    func count(_ call: Call) async throws(Problem) -> Answer {
        let app = try await apps.app(of: call)
        return Answer(.ok, SubscriptionAnswer.body(try await reads.read(of: app.id, await store.counts(of: app.id))))
    }

    /// Lists subscriptions. A page may be short, or empty, while more follow: each passes a bounded number.
    func list(_ call: Call) async throws(Problem) -> Answer {
        let limit = try call.query.limit()
        let after = try call.query.cursor { SubscriptionCursor(text: $0) }
        let filter = try Self.filter(call.query)
        let app = try await apps.app(of: call)
        let page = try await reads.read(of: app.id, await store.list(app: app.id, filter, after: after, limit: limit))
        guard let page else { throw .invalidCursor }
        return Answer(.ok, SubscriptionAnswer.page(page))
    }

    func read(_ call: Call) async throws(Problem) -> Answer {
        let app = try await apps.app(of: call)
        let id = try Self.id(of: call)
        guard let subscription = try await translating(.reads, await store.subscription(id, app: app.id)) else {
            throw .unknownSubscription
        }
        return Answer(.ok, SubscriptionAnswer.body(subscription))
    }

    func revoke(_ call: Call) async throws(Problem) -> Answer {
        let app = try await apps.app(of: call)
        let id = try Self.id(of: call)
        guard try await translating(.isIdempotent, await revoker.revoke(id, app: app.id)) else {
            throw .unknownSubscription
        }
        apps.log.note(.subscriptionsRevoked, app: app.slug, by: call.caller, ["subscription": "\(id.value)"])
        return .done
    }

    /// Ends the subscriptions of a path, of a state, or of both. At least one of them, so that a forgotten parameter does
    /// not end all.
    func revokeAll(_ call: Call) async throws(Problem) -> Answer {
        let path = try call.query["path"].map(Self.path)
        let state = try Self.state(call.query)
        guard path != nil || state != nil else {
            throw Problem(
                .missingMember,
                "Name a path, a state or both: path=/contacts/ann, state=dormant. To end all, switch wake-up off.")
        }
        let app = try await apps.app(of: call)
        try await translating(.isIdempotent, await revoker.revokeAll(path, state, app: app.id))
        // A path may name a user.
        apps.log.note(
            .subscriptionsRevoked, app: app.slug, by: call.caller,
            ["by_path": "\(path != nil)", "state": "\(state?.rawValue ?? "any")"])
        return Answer(.accepted, JSONWriter.body { $0.member("revoking", true) })
    }

    private static func state(_ query: QueryReader) throws(Problem) -> SubscriptionState? {
        try query.choice("state", SubscriptionState.allCases.map(\.rawValue), SubscriptionState.init(rawValue:))
    }

    private static func id(of call: Call) throws(Problem) -> SubscriptionID {
        guard let id = Int64(call.subject), id > 0 else { throw .unknownSubscription }
        return SubscriptionID(id)
    }

    private static func filter(_ query: QueryReader) throws(Problem) -> SubscriptionFilter {
        var filter = SubscriptionFilter()
        filter.path = try query["path"].map(path)
        filter.installation = try query["installation"].map(DeviceHandlers.installation)
        filter.user = query["user"]
        filter.state = try state(query)
        return filter
    }

    /// Reads a path as answers show it: `/contacts/ann`, or `/` for the root.
    private static func path(_ text: String) throws(Problem) -> NodePath {
        // A slash and the mark behind it may be one character, so bytes are compared.
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        guard parts.count > 1, parts[0].isEmpty else {
            throw Problem(.invalidQuery, "path must begin with a slash, such as /contacts/ann; / is the root.")
        }
        do { return try NodePath(parts == ["", ""] ? [] : Array(parts.dropFirst())) } catch {
            throw Problem(error, in: .path)
        }
    }
}

extension Problem {
    static let unknownSubscription = Problem(
        .unknownSubscription, "The app has no subscription with this id. GET .../wakeup/subscriptions lists them.")
}
