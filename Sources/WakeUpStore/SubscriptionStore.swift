import Basis
import Model
import Postgres
import ProviderInterface
import Providers
import Store
import WakeUpRules

/// The subscriptions of devices to watched paths.
package struct SubscriptionStore: Sendable {
    let pool: PostgresPool
    private let counts = RowCounts()

    package init(pool: PostgresPool) { self.pool = pool }

    /// The most subscriptions of one device.
    package static let perDeviceMax: Int64 = 1_000

    /// Adds a subscription, or refreshes it. Committed when this returns `.subscribed`.
    ///
    /// A refresh is possible also if the app has as many subscriptions as it may have.
    ///
    /// A token that a registration holds stays with it. Any other gets a registration of its own, which no message but a
    /// wake-up reaches.
    package func subscribe(_ request: Request, now: WallInstant? = nil) async throws(StoreFault) -> Reply {
        try await translating { () throws(PostgresError) in
            if try await refresh(request, now) { return .subscribed }
            for _ in 0..<RegistryStore.singleTriesMax {
                let holder = try await holder(of: request.token, app: request.app)
                if case .unusable = holder { return .unusableToken }
                if case .none = holder, try await isFull(request) { return .tooMany }  // It leaves nothing behind.
                if let refusal = try await makeWatch(request) { return refusal }
                let registration: Int64
                switch holder {
                case .found(let id): registration = id
                case .unusable: return .unusableToken
                case .none(let provider, let token):
                    guard let id = try await adopt(provider, token, request, now) else { return .unusableToken }
                    registration = id
                }
                if let reply = try await add(request, registration, now) { return reply }
            }
            return .unusableToken
        }
    }

    /// Removes a device's subscription, if there is one.
    ///
    /// - Returns: false if another user made it.
    package func unsubscribe(
        app: AppID, path: NodePath, token: String, installation: String, user: String
    ) async throws(StoreFault) -> Bool {
        try await translating { () throws(PostgresError) in
            var holding: Int64?
            if case .found(let id) = try await holder(of: token, app: app) {
                holding = id
            } else {
                // A retired token may have subscriptions that would wake with it.
                let nameless = Query(SubscriptionSQL.nameless) {
                    $0.int64("app", app.value)
                    $0.text("installation", installation)
                }
                holding = try await pool.read(nameless).first(Int64.init)
            }
            guard let registration = holding else { return true }
            let find = Query(SubscriptionSQL.find) {
                $0.int64("app", app.value)
                $0.text("path", path.text)
                $0.int64("registration", registration)
            }
            let known = try await pool.runThroughKeys(find).first { row throws(PostgresError) in
                (id: try row.int64(), user: try row.text())
            }
            guard let known else { return true }
            guard known.user.hasSameBytes(as: user) else { return false }
            let remove = Query(SubscriptionSQL.remove) {
                $0.int64("subscription", known.id)
                $0.text("user", user)
            }
            _ = try await pool.runThroughKeys(remove)
            return true
        }
    }

    private enum Holder {
        case found(Int64)
        case none(any PushProvider, DeviceToken)
        case unusable
    }

    /// The text as each provider reads it that can.
    static func readings(of text: String) -> [(provider: any PushProvider, token: DeviceToken)] {
        var readings: [(provider: any PushProvider, token: DeviceToken)] = []
        for provider in PushProviders.offered {
            if let token = try? provider.readToken(text) { readings.append((provider, token)) }
        }
        return readings
    }

    /// Finds the live registration that holds a token.
    ///
    /// A text may be a token of several providers. A registration decides; without one it is a token of the provider
    /// that takes unknown subscribers.
    private func holder(of text: String, app: AppID) async throws(PostgresError) -> Holder {
        let readings = Self.readings(of: text)
        guard !readings.isEmpty else { return .unusable }
        let query = Query(SubscriptionSQL.holders) {
            $0.int64("app", app.value)
            $0.int16Array("providers", readings.map(\.provider.id.rawValue))
            $0.bytesArray("tokens", readings.map(\.token.bytes))
        }
        let held = try await pool.runThroughKeys(query, isReadOnly: true).map { row throws(PostgresError) in
            (id: try row.int64(), provider: try row.stored() as Provider, kind: try row.stored() as TokenKind)
        }
        let reachable = held.first { holder in
            let kinds = PushProviders.offered(holder.provider)?.tokenKinds(of: .background) ?? []
            return holder.kind == .wakeUp || kinds.contains(holder.kind)
        }
        if let reachable { return .found(reachable.id) }
        guard held.isEmpty, let unknown = readings.first(where: \.provider.takesUnknownSubscribers) else {
            return .unusable
        }
        return .none(unknown.provider, unknown.token)
    }

    /// Makes a registration of a token that none holds. Returns nil if another session always comes before.
    private func adopt(
        _ provider: any PushProvider, _ token: DeviceToken, _ request: Request, _ now: WallInstant?
    ) async throws(PostgresError) -> Int64? {
        var route = Parameters()
        route.int64("app", request.app.value)
        route.int16("provider", provider.id.rawValue)
        route.int16("environment", provider.environments[0].rawValue)
        var naming = Parameters()
        naming.int64("app", request.app.value)
        naming.text("installation", request.installation)
        var adding = route
        adding.text("installation", request.installation)
        adding.bytes("token", token.bytes)
        adding.instant("now", now)
        var topic = route
        topic.text("topic", "")
        for _ in 0..<RegistryStore.singleTriesMax {
            let made = try await pool.run(
                [Query(AppSQL.addRoute, topic), Query(SubscriptionSQL.addRegistration, adding)])[1].first(Int64.init)
            if let made { return made }
            if case .found(let id) = try await holder(of: request.token, app: request.app) { return id }
            do throws(PostgresError) {
                var reviving = naming
                reviving.instant("now", now)
                if let id = try await revive(Query(SubscriptionSQL.reviveRegistration, reviving), now) { return id }
            } catch { guard error.sqlState == .uniqueViolation else { throw error } }
        }
        return nil
    }

    /// Revives the registration that a retired token has. Its other subscriptions wake with it.
    private func revive(_ query: Query, _ now: WallInstant?) async throws(PostgresError) -> Int64? {
        try await pool.transaction { transaction throws(PostgresError) -> Int64? in
            guard let id = try await transaction.runThroughKeys(query).first(Int64.init) else {
                return await transaction.abandon(returning: nil)
            }
            _ = try await transaction.runAndCommit([Query(awakening: [RegistrationID(id)], now: now)])
            return id
        }
    }

    private struct Watch {
        let id: Int64
        let weightBytes: Int64
        let weightLeaves: Int64
        let wantsValue: Bool
        let wantsChildren: Bool

        init(_ row: inout Row) throws(PostgresError) {
            id = try row.int64()
            (weightBytes, weightLeaves) = (try row.int64(), try row.int64())
            (wantsValue, wantsChildren) = (try row.bool(), try row.bool())
        }

        /// Reads a watch that may not exist: all its columns are null then.
        init?(found row: inout Row) throws(PostgresError) {
            guard let id = try row.int64OrNil() else {
                row.skip(4)
                return nil
            }
            self.id = id
            (weightBytes, weightLeaves) = (try row.int64(), try row.int64())
            (wantsValue, wantsChildren) = (try row.bool(), try row.bool())
        }

        func fits(_ request: Request) -> Bool {
            weightBytes <= request.weightBytesMax && weightLeaves <= request.weightLeavesMax
        }

        /// Whether it notes what a subscription of the mode asks for.
        func wants(_ mode: WakeUpMode) -> Bool {
            switch mode {
            case .noData: true
            case .value: wantsValue
            case .childEvent: wantsChildren
            }
        }
    }

    /// Whether the app has as many subscriptions as it may have.
    private func isFull(_ request: Request) async throws(PostgresError) -> Bool {
        if counts.mustCount(request.app.value, max: request.perAppMax) {
            let count = Query(SubscriptionSQL.countOfApp) {
                $0.int64("app", request.app.value)
                $0.int64("limit", request.perAppMax)
            }
            let counted = try await pool.runThroughKeys(count, isReadOnly: true).one(Int64.init)
            counts.set(counted, of: request.app.value)
        }
        let count = counts[request.app.value]
        if counts.mustMakeRoom(in: request.app.value, max: request.perAppMax) {
            let end = Query(endingUnprovenOf: request.app, atMost: count - request.perAppMax / 2)
            _ = try await pool.runThroughKeys(end)
        }
        return count >= request.perAppMax
    }

    /// Makes the watch of the path, unless there is one, and lets it note what the subscription asks for. Nothing else
    /// is locked meanwhile.
    ///
    /// - Returns: why there can be none.
    private func makeWatch(_ request: Request) async throws(PostgresError) -> Reply? {
        for attempt in 0... {
            let status = Query(SubscriptionSQL.status) {
                $0.int64("app", request.app.value)
                $0.text("path", request.path.text)
            }
            let known = try await pool.runThroughKeys(status, isReadOnly: true).first { row throws(PostgresError) in
                (isEnabled: try row.bool(), watch: try Watch(found: &row))
            }
            guard let known, known.isEnabled else { return .disabled }
            if let watch = known.watch {
                if !watch.fits(request) { return .tooBig }
                if watch.wants(request.mode) { return nil }
                _ = try await pool.runThroughKeys(want(request.mode, watch))
                return nil
            }
            // A write may hold the tree for long, and no connection shall wait for it.
            let isPatient = attempt >= Self.treeTriesMax
            switch try await addWatch(request, waits: isPatient) {
            case .added: continue
            case .tooBig: return .tooBig
            case .treeIsBusy: try? await Task.sleep(for: Self.treeTryEvery)
            }
        }
        return nil
    }

    private static let treeTriesMax = 100
    private static let treeTryEvery: Duration = .milliseconds(20)

    private enum Addition { case added, tooBig, treeIsBusy }

    private func addWatch(_ request: Request, waits: Bool) async throws(PostgresError) -> Addition {
        try await pool.transaction { transaction throws(PostgresError) -> Addition in
            let statement = waits ? NodeSQL.lock : NodeSQL.tryLock
            let lock = Query(statement) { $0.int64("app", request.app.value) }
            let isLocked = try await transaction.runThroughKeys(lock)
            if !waits, try isLocked.first(Bool.init) != true {
                return await transaction.abandon(returning: .treeIsBusy)
            }
            let make = Query(SubscriptionSQL.addWatch) {
                $0.subtree(request.path, of: request.app)
                $0.int64("leaves_max", request.weightLeavesMax)
                $0.int64("bytes_max", request.weightBytesMax)
            }
            // Nobody else has made it since the tree was locked.
            return try await transaction.runAndCommit([make])[0].rowCount > 0 ? .added : .tooBig
        }
    }

    private func want(_ mode: WakeUpMode, _ watch: Watch) -> Query {
        Query(SubscriptionSQL.want) {
            $0.bool("value", mode == .value)
            $0.bool("children", mode == .childEvent)
            $0.int64("watch", watch.id)
        }
    }

    /// Returns nil if the registration or the watch was removed meanwhile, or the token is another's.
    private func add(
        _ request: Request, _ registration: Int64, _ now: WallInstant?
    ) async throws(PostgresError) -> Reply? {
        let isFull = try await isFull(request)
        return try await pool.retryingTransaction { transaction throws(PostgresError) -> Reply? in
            let find = Query(SubscriptionSQL.watch) {
                $0.int64("app", request.app.value)
                $0.text("path", request.path.text)
            }
            let isEnabled = Query(SubscriptionSQL.isEnabled) { $0.int64("app", request.app.value) }
            let keep = Query(SubscriptionSQL.keepRegistration) {
                $0.int64("registration", registration)
                $0.bytesArray("tokens", Self.readings(of: request.token).map(\.token.bytes))
            }
            let known = Query(SubscriptionSQL.find) {
                $0.int64("app", request.app.value)
                $0.text("path", request.path.text)
                $0.int64("registration", registration)
            }
            let isFormer = Query(SubscriptionSQL.isFormerUser) {
                $0.int64("registration", registration)
                $0.text("user", request.user)
            }
            let keepRules = Query(keepingRulesOf: request)
            let answers = try await transaction.run(
                [Query(PlannerSQL.throughKeys), isEnabled, find, keep, known, keepRules, isFormer])
            let isOn = try answers[1].first(Bool.init) == true
            guard isOn, answers[3].rowCount > 0, let watch = try answers[2].first(Watch.init),
                watch.wants(request.mode), watch.fits(request)
            else { return await transaction.abandon(returning: isOn ? nil : .disabled) }
            guard request.rulesRevision == nil || answers[5].rowCount > 0 else {
                return await transaction.abandon(returning: .rulesChanged)
            }
            guard answers[6].rowCount == 0 else { return await transaction.abandon(returning: .formerUser) }
            let count = Query(SubscriptionSQL.count) {
                $0.int64("registration", registration)
                $0.int64("watch", watch.id)
                $0.int64("limit", Self.perDeviceMax)
            }
            let isNew = answers[4].rowCount == 0
            guard try await transaction.run(count).one(Int64.init) < Self.perDeviceMax, !isFull || !isNew else {
                return await transaction.abandon(returning: .tooMany)
            }
            let written = try await transaction.runAndCommit([add(request, watch, registration, now)])
            if written[0].rowCount > 0 { counts.add(to: request.app.value) }
            return .subscribed
        }
    }

    private func add(_ request: Request, _ watch: Watch, _ registration: Int64, _ now: WallInstant?) -> Query {
        Query(SubscriptionSQL.add) {
            $0.int64("app", request.app.value)
            $0.int64("watch", watch.id)
            $0.int64("registration", registration)
            $0.subscriber(request, now)
        }
    }
}
