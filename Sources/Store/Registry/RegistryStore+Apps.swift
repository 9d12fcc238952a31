import Basis
import JSON
import Model
import Postgres
import Providers

/// A tenant, as stored.
package struct AppRecord: Equatable, Sendable {
    package let id: AppID
    /// The app's name in paths.
    package let slug: String
    package let name: String
    package let createdAt: WallInstant
    package let settings: AppSettings
}

extension RegistryStore {
    /// Creates an app. Throws `.conflict(.slugTaken)` if another app has the slug.
    package func createApp(slug: String, name: String) async throws(StoreFault) -> AppRecord {
        let query = Query(AppSQL.create) {
            $0.text("slug", slug)
            $0.text("name", name)
        }
        // Also if it fails: another process may have made the app.
        defer { slugs.forget(unused: slug) }
        return try await translated(await pool.run(query).one(AppRecord.init))
    }

    /// Returns apps by rising id; pass the last one to go on.
    package func apps(after: AppID? = nil, limit: Int) async throws(StoreFault) -> [AppRecord] {
        let query = Query(AppSQL.list) {
            $0.int64("after", after?.value ?? 0)
            $0.int64("limit", Int64(limit))
        }
        return try await translated(await pool.read(query).map(AppRecord.init))
    }

    /// Returns the app as it was at most a second ago; nil: no app had the slug then. Every request asks.
    package func app(slug: String) async throws(StoreFault) -> AppRecord? {
        let (known, changes) = slugs.find(slug)
        switch known {
        case .app(let app): return app
        case .unused: return nil
        case nil: break
        }
        let query = Query(AppSQL.bySlug) { $0.text("slug", slug) }
        let found = try await translated(await pool.read(query).first(AppRecord.init))
        if let found { slugs.cache(found) } else { slugs.cache(unused: slug, asOf: changes) }
        return found
    }

    /// Returns the app if it is cached; nil: the database has to be asked.
    package func cachedApp(slug: String) -> AppRecord? {
        if case .app(let app) = slugs.find(slug).known { app } else { nil }
    }

    /// Whether the slug is probably an app's. The database is not asked.
    package func hasSeen(slug: String) -> Bool { slugs.hasSeen(slug) }

    /// Changes an app; nil: it is gone.
    ///
    /// If quiet hours move, the pushes that wait for their end are judged again. If subscriptions to items are switched on,
    /// their held pushes are. `wokenMax` parcels are woken with the change itself, and as many held pushes of subscriptions. The others follow, as many at a time, with those deferred
    /// by the old hours before all saw the change. After a fault the caller repeats the change: woken ones stay woken.
    package func changeApp(
        _ app: AppID, _ change: AppChange, wakingAtOnce wokenMax: Int64 = 5_000, now: WallInstant? = nil
    ) async throws(StoreFault) -> AppRecord? {
        let query = Query(AppSQL.change) {
            $0.int64("app", app.value)
            $0.text("name", change.name)
            $0.json("stale_after_days", change.staleMembers)
            $0.json("wake_up", change.wakeUpMembers)
            $0.json("triggers", change.triggerMembers)
            $0.json("trigger_hooks", change.hookMembers)
            $0.json("settings", change.otherMembers)
        }
        let revoking = change.wakeUp.isEnabled == false ? [Query(revoking: app, .disabled)] : []
        let waking =
            change.movesQuietHours
            ? LimitSQL.waking(app, at: now, atOnce: wokenMax)
            : change.wakesHeldPushes ? [Query(PlannerSQL.throughKeys)] : []
        let wakingHeld = change.wakesHeldPushes ? [LimitSQL.wakingHeld(app, at: now, atOnce: wokenMax)] : []
        let queries = [query] + revoking + waking + wakingHeld
        let changed = try await translated(await pool.retryingRun(queries)[0].first(AppRecord.init))
        guard let changed else { return nil }
        slugs.cache(changed)
        if change.movesQuietHours { try await translated(await wake(app, atOnce: wokenMax, now: now)) }
        if change.wakesHeldPushes { try await translated(await wakeHeld(app, atOnce: wokenMax, now: now)) }
        return changed
    }

    private func wake(_ app: AppID, atOnce wokenMax: Int64, now: WallInstant?) async throws(PostgresError) {
        // Parcels behind this one were judged by the new hours.
        let end = try await pool.read(Query(LimitSQL.lastParcel)).one(Int64.init)
        var last: Int64 = 0
        var count = wokenMax
        while count == wokenMax {
            let queries = LimitSQL.waking(app, at: now, behind: last, through: end, atOnce: wokenMax)
            (count, last) = try await pool.retryingRun(queries)[1].one { row throws(PostgresError) in
                (try row.int64(), try row.int64())
            }
        }
    }

    private func wakeHeld(_ app: AppID, atOnce wokenMax: Int64, now: WallInstant?) async throws(PostgresError) {
        var place: LimitSQL.HeldPlace?
        var count = wokenMax
        while count == wokenMax {
            let query = LimitSQL.wakingHeld(app, at: now, behind: place, atOnce: wokenMax)
            let woken = try await pool.retryingRun([Query(PlannerSQL.throughKeys), query])[1].first {
                row throws(PostgresError) in
                (LimitSQL.HeldPlace(dueAt: try row.instant(), subscription: try row.int64()), count: try row.int64())
            }
            (place, count) = (woken?.0, woken?.count ?? 0)
        }
    }

    /// Deletes an app; false: it was gone already. Callers see it gone from the commit on, in other processes within
    /// `SlugCache.usuallyFreshFor`. Devices that subscribed to its data tree are told, and then `AppRemover` removes its
    /// rows little by little.
    package func deleteApp(_ app: AppID) async throws(StoreFault) -> Bool {
        let changes = [AppSQL.delete, AppSQL.retireCredentials, AppSQL.stopMessages]
        let lock = Query(AppSQL.lock) { $0.int64("app", app.value) }
        let queries =
            [lock, Query(revoking: app, .namespaceDoesNotExist)]
            + changes.map { Query($0) { $0.int64("app", app.value) } }
        let answers = try await translated(await pool.retryingRun(queries))
        slugs.forget(app)
        routes.forget(app: app)
        notifier.notify(.credentials)
        return answers[2].affectedRows == 1
    }
}

extension AppRecord {
    fileprivate init(_ row: inout Row) throws(PostgresError) {
        id = AppID(try row.int64())
        (slug, name, createdAt) = (try row.text(), try row.text(), try row.instant())
        guard let settings = AppSettings(stored: try row.json()) else {
            throw .unexpectedShape(statement: "app_by_slug", column: 4)
        }
        self.settings = settings
    }
}

extension AppSettings {
    /// The settings of an app whose owner chose none.
    package static var initial: AppSettings {
        var settings = AppSettings()
        for provider in PushProviders.offered { settings.stale[provider.id] = provider.staleDays }
        return settings
    }

    /// Reads the settings of an app as the column `apps.settings` holds them, which is JSON.
    ///
    /// Returns nil if the bytes were not written by us. Settings that the row lacks keep their default.
    package init?(stored bytes: [UInt8]) {
        self = .initial
        guard let members = (try? JSONReader.read(bytes, limits: .trusted))?.object else { return nil }
        if let zone = members["time_zone"] {
            guard let name = zone.string else { return nil }
            timeZone = name
        }
        guard readLimits(members) else { return nil }
        if let stored = members["wakeup"] {
            guard let wakeUp = stored.object.flatMap(WakeUpSettings.init(stored:)) else { return nil }
            self.wakeUp = wakeUp
        }
        if let stored = members["triggers"] {
            guard let triggers = stored.object.flatMap(TriggerSettings.init(stored:)) else { return nil }
            self.triggers = triggers
        }
        guard let days = members["stale_after_days"] else { return }
        guard let days = days.object else { return nil }
        for provider in Provider.allCases {
            guard let value = days[provider.name] else { continue }
            let number = value.integer.flatMap(Int32.init(exactly:))
            guard value.isNull || number != nil else { return nil }
            stale[provider] = number
        }
    }
}

/// A change of an app. nil leaves a member as it is, and so does a provider that is not named.
package struct AppChange: Equatable, Sendable {
    package var name: String?
    /// Days by provider, in the order of `Provider.allCases`; null: never stale.
    package var staleAfterDays: [(provider: Provider, days: Int32?)] = []
    package var timeZone: String?
    package var limits = AppLimitChange()
    package var wakeUp = WakeUpChange()
    package var triggers = TriggerChange()

    package init() {}

    package static func == (left: AppChange, right: AppChange) -> Bool {
        left.name == right.name && left.staleAfterDays.elementsEqual(right.staleAfterDays) { $0 == $1 }
            && left.timeZone == right.timeZone && left.limits == right.limits && left.wakeUp == right.wakeUp
            && left.triggers == right.triggers
    }

    /// Whether quiet hours may end at another instant: a new time zone moves them for users on the app's clock.
    var movesQuietHours: Bool { timeZone != nil || limits.quietHours != .keep }

    /// Whether held pushes of subscriptions to items may go earlier.
    var wakesHeldPushes: Bool { movesQuietHours || triggers.isEnabled == true }

    /// Settings that are replaced as a whole.
    var otherMembers: [UInt8] {
        JSONWriter.body { writer in
            if let timeZone { writer.member("time_zone", timeZone) }
            limits.write(to: &writer)
        }
    }

    /// The members of wake-up settings that are replaced; the others stay.
    var wakeUpMembers: [UInt8] { JSONWriter.body { wakeUp.write(to: &$0) } }

    /// The members of the settings for subscriptions to items that are replaced, and those of their hooks.
    var triggerMembers: [UInt8] { JSONWriter.body { triggers.write(to: &$0) } }
    var hookMembers: [UInt8] { JSONWriter.body { triggers.writeHooks(to: &$0) } }

    var staleMembers: [UInt8] {
        JSONWriter.body { writer in
            for (provider, days) in staleAfterDays { writer.optionalInteger(provider.name, days) }
        }
    }
}
