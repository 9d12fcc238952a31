import Model
import Store

/// The registry's interface for the API: apps, devices, badges, feedback.
///
/// Registrations of many requests share a commit; each is answered only after it.
package struct RegistryService: Sendable {
    private let store: RegistryStore
    private let feedbackStore: FeedbackStore
    private let committer: RegistrationCommitter

    package init(stores: Stores, committer: RegistrationCommitter) {
        store = stores.registry
        feedbackStore = stores.feedback
        self.committer = committer
    }

    // Apps.

    package func createApp(slug: String, name: String) async throws(StoreFault) -> AppRecord {
        try await store.createApp(slug: slug, name: name)
    }

    package func apps(after: AppID?, limit: Int) async throws(StoreFault) -> [AppRecord] {
        try await store.apps(after: after, limit: limit)
    }

    package func app(slug: String) async throws(StoreFault) -> AppRecord? {
        try await store.app(slug: slug)
    }

    /// The app without a query to the database; nil: not cached.
    package func cachedApp(slug: String) -> AppRecord? { store.cachedApp(slug: slug) }

    package func changeApp(_ app: AppID, _ change: AppChange) async throws(StoreFault) -> AppRecord? {
        try await store.changeApp(app, change)
    }

    package func knows(timeZone name: String) async throws(StoreFault) -> Bool {
        try await store.knows(timeZone: name)
    }

    /// Returns false if the app was deleted already.
    package func deleteApp(_ app: AppID) async throws(StoreFault) -> Bool { try await store.deleteApp(app) }

    // Devices.

    package func register(
        _ registration: DeviceRegistration, app: AppID
    ) async throws(StoreFault) -> RegisteredDevice {
        try await committer.commit(registration, app: app).get()
    }

    /// Registers a device without a waiting task.
    ///
    /// - Parameter answered: called once, from any thread; other callers of its batch wait until it returns.
    package func register(
        _ registration: DeviceRegistration, app: AppID,
        answered: @escaping @Sendable (Result<RegisteredDevice, StoreFault>) -> Void
    ) {
        committer.commit([registration], app: app) { answered($0[0]) }
    }

    /// Keeps the given order; a failure affects no other registration.
    package func register(
        _ registrations: [DeviceRegistration], app: AppID
    ) async -> [Result<RegisteredDevice, StoreFault>] {
        await committer.commit(registrations, app: app)
    }

    /// Every kind of the installation, ordered by kind; empty if it is unknown.
    package func devices(app: AppID, installation: String) async throws(StoreFault) -> [DeviceRecord] {
        try await store.devices(app: app, installation: installation)
    }

    /// Returns false if there was none.
    package func unregister(app: AppID, installation: String) async throws(StoreFault) -> Bool {
        try await store.removeDevice(app: app, installation: installation) > 0
    }

    /// nil: the cursor belongs to another list.
    package func devices(
        app: AppID, _ filter: DeviceFilter, after cursor: DeviceCursor?, limit: Int
    ) async throws(StoreFault) -> DevicePage? {
        try await store.devices(app: app, filter, after: cursor, limit: limit)
    }

    package func holders(
        app: AppID, of readings: [TokenReading]
    ) async throws(StoreFault) -> [(place: Int, device: DeviceRecord)] {
        try await store.holders(app: app, of: readings)
    }

    package func patch(
        _ patch: DevicePatch, app: AppID, installation: String, kind: TokenKind?, limits: DevicePatchLimits
    ) async throws(StoreFault) -> DevicePatchReply {
        try await store.patch(patch, app: app, installation: installation, kind: kind, limits: limits)
    }

    package func erase(user: String, app: AppID) async throws(StoreFault) -> ErasureReport {
        try await store.erase(user: user, app: app)
    }

    // Badges. nil: unknown device.

    package func badge(app: AppID, installation: String, kind: TokenKind) async throws(StoreFault) -> Int32? {
        try await store.badge(app: app, installation: installation, kind: kind)
    }

    package func setBadge(
        _ badge: Int32, app: AppID, installation: String, kind: TokenKind
    ) async throws(StoreFault) -> Int32? {
        try await store.setBadge(badge, app: app, installation: installation, kind: kind)
    }

    /// Never falls below zero.
    package func consumeBadge(
        _ count: Int32, app: AppID, installation: String, kind: TokenKind
    ) async throws(StoreFault) -> Int32? {
        try await store.consumeBadge(count, app: app, installation: installation, kind: kind)
    }

    /// Does the same once per idempotency key. `answer` turns the outcome into the bytes that a repetition gets.
    package func consumeBadge(
        _ count: Int32, app: AppID, installation: String, kind: TokenKind, idempotency: IdempotencyClaim,
        answer: @escaping @Sendable (Int32?) -> [UInt8]
    ) async throws(StoreFault) -> IdempotentReply {
        try await store.consumeBadge(
            count, app: app, installation: installation, kind: kind, idempotency: idempotency, answer: answer)
    }

    // Badges by token: a live registration must have one of `readings`.

    package func setBadge(
        _ badge: Int32, app: AppID, ofToken readings: [(Provider, DeviceToken)]
    ) async throws(StoreFault) -> NamedBadge? {
        try await store.setBadge(badge, app: app, ofToken: readings)
    }

    package func consumeBadge(
        _ count: Int32, app: AppID, ofToken readings: [(Provider, DeviceToken)], idempotency: IdempotencyClaim?,
        answer: @escaping @Sendable (NamedBadge?) -> [UInt8]
    ) async throws(StoreFault) -> IdempotentReply {
        try await store.consumeBadge(count, app: app, ofToken: readings, idempotency: idempotency, answer: answer)
    }

    // Feedback, oldest first.

    package func feedback(
        app: AppID, after cursor: FeedbackCursor?, limit: Int
    ) async throws(StoreFault) -> FeedbackPage {
        try await feedbackStore.page(app: app, after: cursor, limit: limit)
    }

    /// Reactivates the token that an entry retired.
    package func undo(feedback id: Int64, app: AppID) async throws(StoreFault) -> UndoReply {
        try await store.undo(feedback: id, app: app)
    }
}
