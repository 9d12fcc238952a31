extension DeviceClient {
    /// The subscriptions that the calls so far have found, the oldest first. Asks nothing of the gateway.
    ///
    /// An inquiry of all brings the cache up to date. After one by status, those that the cache had with this status are
    /// left out if the answer lacks them.
    public var cachedSubscriptions: [ItemSubscription] { cache.withLock { $0.shown } }

    /// The cached subscription with the key; nil if there is none.
    public func cachedSubscription(key: String) -> ItemSubscription? { cache.withLock { $0[key] } }

    /// Activates a subscription: from now on, updates of its items become pushes to the device.
    ///
    /// With `coalescing`, a subscription of the device with the same items, fields and trigger is overwritten, and active
    /// again. The instance that the client has for it is returned. So an app may activate the same subscription at each
    /// start. Without `coalescing`, each call makes a new one.
    ///
    /// - Parameters:
    ///   - registration: registers the device in the same call; nil: it is registered already.
    ///   - idempotencyKey: a name of the app's choice for this activation. A call that failed as `unreachable` may be
    ///     repeated with the same key and terms, and makes no second subscription.
    @discardableResult
    public func activate(
        _ terms: ItemSubscription.Terms, coalescing: Bool = false, registering registration: DeviceRegistration? = nil,
        idempotencyKey: String? = nil
    ) async throws(DeviceClientError) -> ItemSubscription {
        var members = Array(terms.members)
        if coalescing { members.append((name: "coalescing", value: true)) }
        if let registration { members.append((name: "device", value: .object(registration.members))) }
        let response = try await call(
            "POST", Self.place(), body: JSON.Object(members), idempotencyKey: idempotencyKey)
        let report = try report(response)
        return cache.withLock { $0.activate(report) }
    }

    /// Asks the gateway for the device's subscriptions, the oldest first.
    ///
    /// It is usual that a device without subscriptions is unknown (`unknownDevice`): the gateway forgets it with the last
    /// one.
    ///
    /// - Parameter status: the status that they have; nil: all.
    @discardableResult
    public func inquire(
        _ status: ItemSubscription.Status? = nil
    ) async throws(DeviceClientError) -> [ItemSubscription] {
        try await newest { () async throws(DeviceClientError) -> [SubscriptionReport] in
            try await reports(status)
        } take: { (cache: inout SubscriptionCache, reports: [SubscriptionReport]) -> [ItemSubscription] in
            cache.take(reports, of: status)
        }
    }

    /// Asks the gateway for the subscription with the key; nil if the device has none.
    public func inquire(key: String) async throws(DeviceClientError) -> ItemSubscription? {
        try await newest { () async throws(DeviceClientError) -> SubscriptionReport? in
            try await storedReport(of: key)
        } take: { (cache: inout SubscriptionCache, report: SubscriptionReport?) -> ItemSubscription? in
            cache.take(report, of: key)
        }
    }

    /// Changes a subscription: the members of its terms that are others now. The key stays.
    ///
    /// A triggered subscription is active again if its trigger, items or fields are others. To arm the same trigger again,
    /// call `reactivate`. Overlapping changes of one subscription may leave the terms of either in the cache.
    public func modify(
        _ subscription: ItemSubscription, to terms: ItemSubscription.Terms
    ) async throws(DeviceClientError) {
        let changes = terms.changes(since: subscription.terms)
        let response = try await call("PATCH", Self.place(subscription.key), body: changes)
        try change(subscription, response)
    }

    /// Makes a triggered subscription active again. An active one stays as it is.
    public func reactivate(_ subscription: ItemSubscription) async throws(DeviceClientError) {
        let response = try await call("POST", Self.place(subscription.key) + "/reactivate")
        try change(subscription, response)
    }

    /// Deletes a subscription, and the push that waits for it. Succeeds if the gateway has it no more.
    public func deactivate(_ subscription: ItemSubscription) async throws(DeviceClientError) {
        do throws(DeviceClientError) { try await call("DELETE", Self.place(subscription.key)) } catch {
            guard error.problem?.code == .unknownSubscription else { throw error }
        }
        cache.withLock { $0.end(subscription) }
    }

    /// Deletes the device's subscriptions, and the pushes that wait for them.
    ///
    /// The gateway forgets a device that only users have registered, with its last subscription.
    ///
    /// - Parameter status: the status that they have; nil: all.
    public func deactivateAll(_ status: ItemSubscription.Status? = nil) async throws(DeviceClientError) {
        try await call("DELETE", Self.place() + (status.map { "?status=\(Self.escaped($0.rawValue))" } ?? ""))
        cache.withLock { $0.endAll(status) }
    }
}

extension DeviceClient {
    /// The most subscriptions of one page, as the gateway has it.
    private static let pageMax = 1_000
    /// More than any device has: the gateway ends a page early if its subscriptions are large.
    private static let pagesMax = 1_000
    /// An inquiry is repeated if a change was answered meanwhile. An app that changes things all the time gets the last.
    private static let inquiriesMax = 3

    private static func place(_ key: String? = nil) -> String {
        "/subscriptions" + (key.map { "/" + escaped($0) } ?? "")
    }

    private func report(_ response: GatewayResponse) throws(DeviceClientError) -> SubscriptionReport {
        guard let report = Self.json(response).flatMap({ SubscriptionReport($0) }) else { throw .unexpected(response) }
        return report
    }

    private func change(_ subscription: ItemSubscription, _ response: GatewayResponse) throws(DeviceClientError) {
        let report = try report(response)
        cache.withLock { $0.change(subscription, report) }
    }

    /// Reads, and takes the answer into the cache: one that is not older than a change that was answered.
    private func newest<Answer: Sendable, Found: Sendable>(
        _ read: () async throws(DeviceClientError) -> Answer, take: (inout SubscriptionCache, Answer) -> Found
    ) async throws(DeviceClientError) -> Found {
        var inquiries = 0
        while true {
            inquiries += 1
            let began = cache.withLock { $0.changes }
            let answer = try await read()
            let found: Found? = cache.withLock { cache in
                cache.changes == began || inquiries == Self.inquiriesMax ? take(&cache, answer) : nil
            }
            if let found { return found }
        }
    }

    private func storedReport(of key: String) async throws(DeviceClientError) -> SubscriptionReport? {
        do throws(DeviceClientError) { return try report(try await call("GET", Self.place(key))) } catch {
            guard error.problem?.code == .unknownSubscription else { throw error }
            return nil
        }
    }

    /// Reads all pages.
    private func reports(_ status: ItemSubscription.Status?) async throws(DeviceClientError) -> [SubscriptionReport] {
        let first = "?limit=\(Self.pageMax)" + (status.map { "&status=\(Self.escaped($0.rawValue))" } ?? "")
        var query = first
        var found: [SubscriptionReport] = []
        for _ in 0..<Self.pagesMax {
            let response = try await call("GET", Self.place() + query)
            guard let page = Self.json(response)?.object, let items = page["items"]?.array else {
                throw .unexpected(response)
            }
            let reports = items.compactMap { SubscriptionReport($0) }
            guard reports.count == items.count else { throw .unexpected(response) }
            found += reports
            guard let next = page["next"]?.string else { return found }
            query = "\(first)&cursor=\(Self.escaped(next))"
        }
        throw .unexpectedAnswer(status: 200)
    }
}
