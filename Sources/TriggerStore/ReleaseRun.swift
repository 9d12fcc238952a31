import Basis
import Model
import Postgres
import Store
import TriggerRules

/// One transaction that decides on held pushes, step by step: it claims devices, reads the first due push of each, and
/// decides which go.
struct ReleaseRun: Sendable {
    /// The most devices of one transaction: each of their pushes may have a message of its own.
    private static let devicesMax = 1_000
    /// The most pushes of a device that one transaction puts off or drops. The others are due still.
    private static let othersMax: Int64 = 100

    private(set) var cut: ItemPushCut
    /// The time by the database's clock at which the transaction began.
    private var start = WallInstant(microseconds: 0)
    private var devices: [ClaimedDevice] = []
    private var apps: [Int64: PushApp] = [:]  // lookup only
    private var quietHours = DeviceQuietHours()
    private var decision = Decision()

    init(_ order: ItemPushOrder, now: WallInstant?, _ contents: ItemPushContents) {
        cut = ItemPushCut(order, now: now, contents)
    }

    private struct ClaimedDevice: Sendable {
        let registration: Int64
        let app: Int64

        init(_ row: inout Row) throws(PostgresError) { (registration, app) = (try row.int64(), try row.int64()) }
    }

    /// A device's first due push.
    private struct DuePush: Sendable {
        let app: Int64
        let opensAt: WallInstant
        let subscription: Int64
        let item: Int64
        let readyAt: WallInstant
        let isTriggered: Bool
        /// Those of a trigger's push.
        let texts: [String?]
        let device: PushDevice
        /// nil: the subscription is being removed.
        let terms: PushTerms?

        init(_ device: ClaimedDevice, _ row: inout Row) throws(PostgresError) {
            app = device.app
            (opensAt, subscription, item) = (try row.instant(), try row.int64(), try row.int64())
            (readyAt, isTriggered) = (try row.instant(), try row.bool())
            texts = try row.optionalTextArray()
            self.device = try PushDevice(device.registration, &row)
            if row.isNull {
                row.skip(7)
                terms = nil
            } else {
                terms = try PushTerms(&row)
            }
        }
    }

    /// The fate of the pushes.
    private struct Decision: Sendable {
        var groups = PushGroups()
        /// Subscriptions whose push went or is dropped.
        var removed: [Int64] = []
        /// Devices to which nothing may go now: their app is switched off, or their token is retired. Of their due pushes
        /// those of triggers are kept for some time, and the others are dropped.
        var silent: [Int64] = []
        /// Until when the other pushes of each device are put off. isQuiet: only those that a person sees are.
        var putOff: [Int64: (until: WallInstant, isQuiet: Bool)] = [:]
        var shut: [Int64: WallInstant] = [:]
        var reported: [(item: StoredItem, subscription: Int64)] = []
        /// The app of the last push that was decided on.
        var lastApp: Int64?
    }

    /// The app after which the next claim begins: the first one, as long as nothing was read.
    var lastApp: Int64 { decision.lastApp ?? devices.first?.app ?? 0 }

    /// Claims devices that hold due pushes. Returns false if there are none.
    /// - Parameter limit: the most pushes.
    mutating func claim(
        after app: Int64, limit: Int, in transaction: PostgresTransaction
    ) async throws(PostgresError) -> Bool {
        let limit = Int64(min(limit, cut.order.subscriptionsMax, Self.devicesMax))
        let queries = [ReleaseSQL.makeWindows, ReleaseSQL.claim].map {
            Query($0) {
                $0.int64("last_app", app)
                $0.int64("limit", limit)
                $0.instant("now", cut.now)
            }
        }
        let rows = try await transaction.run([Query(PlannerSQL.inKeyOrder)] + queries)[2]
        let claimed = try rows.map { row throws(PostgresError) in
            (device: try ClaimedDevice(&row), start: try row.instant())
        }
        guard let first = claimed.first else { return false }
        start = first.start
        var seen: Set<Int64> = []  // lookup only
        devices = claimed.map(\.device).filter { seen.insert($0.registration).inserted }
        return true
    }

    /// Reads the first due push of each device, and decides on it.
    mutating func read(in transaction: PostgresTransaction) async throws(PostgresError) {
        try await readApps(in: transaction)
        let registrations = devices.map(\.registration)
        let queries = [ReleaseSQL.keepSubscriptions, ReleaseSQL.read].map {
            Query($0) {
                $0.int64Array("registrations", registrations)
                $0.instant("now", start)
            }
        }
        let ownApps = devices.map(\.app).rising.compactMap { apps[$0] }
        let quiet = DeviceQuietHours.query(of: registrations.rising, in: ownApps, now: start)
        let answers = try await transaction.run(queries + (quiet.map { [$0] } ?? []))
        if quiet != nil { quietHours = try DeviceQuietHours(answers[2]) }
        let kept = Set(try answers[0].map(Int64.init))
        let claimed = devices
        let pushes = try answers[1].map { row throws(PostgresError) in
            let place = try row.place(upTo: claimed.count)
            return try DuePush(claimed[place], &row)
        }
        let items = try await items(of: pushes, in: transaction)
        var failed: Set<[UInt8]> = []  // lookup only
        var messagesMax = Self.devicesMax
        while true {
            decision = Decision()
            for push in pushes where decision.groups.messageCount < messagesMax {
                decide(push, kept: kept, items, failed: failed)
            }
            let made = try await cut.make(decision.groups, in: transaction)
            if made.failed.isEmpty, !made.isFull { return }
            failed.formUnion(made.failed)
            // The pushes behind stay due.
            if made.isFull { messagesMax = made.drafts.count }
        }
    }

    private mutating func readApps(in transaction: PostgresTransaction) async throws(PostgresError) {
        let ids = devices.map(\.app).rising
        let query = Query(ItemPushSQL.apps) { $0.int64Array("apps", ids) }
        apps = try PushApp.all(in: try await transaction.run(query))
        let off = ids.filter { apps[$0]?.isEnabled != true }
        if off.isEmpty { return }
        // An app that is being switched on either counts as on here, or wakes what is put off here.
        let keep = Query(ItemPushSQL.keepApps) { $0.int64Array("apps", off) }
        for (id, app) in try PushApp.all(in: try await transaction.run(keep)) { apps[id] = app }
    }

    /// The items whose texts are shown. They are read now, so that the newest go.
    private func items(
        of pushes: [DuePush], in transaction: PostgresTransaction
    ) async throws(PostgresError) -> [Int64: StoredItem] {
        let ids = pushes.filter { !$0.isTriggered && $0.opensAt <= start }.map(\.item).rising
        if ids.isEmpty { return [:] }
        let found = try await transaction.run(Query(ItemPushSQL.items) { $0.int64Array("items", ids) })
        return Dictionary(try found.map(StoredItem.init).map { ($0.id, $0) }) { first, _ in first }
    }

    private mutating func decide(
        _ push: DuePush, kept: Set<Int64>, _ items: [Int64: StoredItem], failed: Set<[UInt8]>
    ) {
        decision.lastApp = push.app
        guard let app = apps[push.app], app.isEnabled, !push.device.isRetired else {
            decision.silent.append(push.device.registration)
            return
        }
        guard let terms = push.terms, !terms.isExpired else {
            decision.removed.append(push.subscription)
            return
        }
        // Another push has become the device's first one since the subscriptions were kept. It comes again.
        guard kept.contains(push.subscription) else { return }
        let held = HeldPush(terms.push(isTriggered: push.isTriggered, in: app), readyAt: push.readyAt)
        let quietUntil = quietHours.end(for: terms, of: push.device.registration)
        switch ThrottleWindow(opensAt: push.opensAt, quietUntil: quietUntil).release(held, now: start) {
        case .send(let opensAt): send(push, terms, items, failed: failed, opensAt: opensAt)
        case .hold(_, let until), .replace(_, let until):
            decision.putOff[push.device.registration] = (until: until, isQuiet: quietUntil != nil)
        case .drop: decision.removed.append(push.subscription)
        }
    }

    /// Sends a push, and shuts the window. The device's other pushes are put off until it opens.
    private mutating func send(
        _ push: DuePush, _ terms: PushTerms, _ items: [Int64: StoredItem], failed: Set<[UInt8]>, opensAt: WallInstant
    ) {
        decision.removed.append(push.subscription)
        let item = items[push.item]
        let texts = push.isTriggered ? push.texts : item?.state.texts(of: terms.fields, terms.mode)
        guard let texts else { return }
        let leaving = LeavingPush(
            app: AppID(push.app), member: push.device.member, provider: push.device.provider,
            template: terms.template, fields: terms.fields,
            texts: terms.fields.indices.map { $0 < texts.count ? texts[$0] : nil })
        let key = leaving.groupKey
        if failed.contains(key) { return }
        decision.groups.add(leaving, key: key)
        if let item, !push.isTriggered { decision.reported.append((item, push.subscription)) }
        let registration = push.device.registration
        decision.shut[registration] = opensAt
        if opensAt > start { decision.putOff[registration] = (until: opensAt, isQuiet: false) }
    }
}

// The notes.
extension ReleaseRun {
    /// The queries beside those that write messages.
    var notes: [Query] {
        var queries: [Query] = []
        if !decision.reported.isEmpty {
            queries.append(
                Query(ItemPushSQL.note) {
                    $0.int64Array("items", decision.reported.map(\.item.id))
                    $0.int64Array("subscriptions", decision.reported.map(\.subscription))
                    $0.int64Array("seqs", decision.reported.map(\.item.state.seq))
                })
        }
        if !decision.removed.isEmpty {
            queries.append(
                Query(ReleaseSQL.remove) { $0.int64Array("subscriptions", decision.removed.sorted()) })
        }
        if !decision.silent.isEmpty { queries += silence }
        if !decision.shut.isEmpty { queries.append(Query(shutting: decision.shut)) }
        let late = decision.putOff.sorted { $0.key < $1.key }
        if !late.isEmpty {
            queries.append(
                Query(ReleaseSQL.putOff) {
                    $0.int64Array("registrations", late.map(\.key))
                    $0.instantArray("until", late.map(\.value.until))
                    $0.boolArray("are_quiet", late.map(\.value.isQuiet))
                    $0.int64("limit", Self.othersMax)
                })
        }
        return queries
    }

    /// The queries for devices to which nothing may go now.
    private var silence: [Query] {
        var parameters = Parameters()
        parameters.int64Array("registrations", decision.silent)
        parameters.int64("limit", Self.othersMax)
        parameters.int64("kept_us", HeldPush.keptMax.wholeMicroseconds)
        parameters.instant("now", start)
        let drop = Query(ReleaseSQL.drop, parameters)
        parameters.int64("again_us", HeldPush.keptAtOnce.wholeMicroseconds)
        return [drop, Query(ReleaseSQL.keepHeld, parameters)]
    }
}
