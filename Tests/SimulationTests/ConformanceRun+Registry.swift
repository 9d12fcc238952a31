import Basis
import Model
import QueueRules
import Store
import Worlds

// Registrations, badges, messages and plans, and queries about them.
extension ConformanceRun {
    static let installations = (1...9).map { "phone-\($0)" }
    static let tags = ["bell", "noon", "tower"]
    static let zones = [
        "Asia/Kathmandu", "Pacific/Kiritimati", "Pacific/Pago_Pago", "GMT+00:02", "GMT-00:03", "Nowhere/Land", "IST",
    ]

    mutating func register() async throws -> String? {
        let app = random.pick(apps)
        let registration = DeviceRegistration(
            installation: random.pick(Self.installations), kind: random.pick([.alert, .alert, .alert, .voip]),
            provider: random.pick([.apns, .apns, .fcm]),
            environment: random.pick([.production, .production, .sandbox]),
            topic: random.pick(["", "com.example.app"]), token: Self.token(random.below(12)),
            profile: ProfileChange(
                [
                    .user: random.pick([.keep, .clear, .set("ann"), .set("bob"), .set("cid")]),
                    .timeZone: random.pick([.keep, .keep, .set(random.pick(Self.zones)), .clear]),
                ], tags: random.pick([.keep, .keep, .clear, .set(some(of: Self.tags)), .set(some(of: Self.tags))])),
            badge: random.pick([nil, 3]),
            asOf: random.pick([nil, nil, now, now + .seconds(-60), now + .seconds(-1_800)]))
        pushHistory.append(
            "register \(registration.installation) \(registration.kind) \(registration.environment) at \(now.microseconds)"
        )
        let real = try await stores.registry.register([registration], app: app, now: now)[0].get()
        let change = simulated.register(registration, app: app, now: now)
        let place =
            simulated.placeOfDevice(app: app, installation: registration.installation, kind: registration.kind)
            ?? simulated.placeOfHolder(app: app, of: registration)
        let row = place.map { simulated.registrations[$0] }
        return differ("register", real.change, change) ?? differ(
            "register", real.record.id, row?.id ?? RegistrationID(0))
            ?? differ("register", real.record.badge, row?.badge ?? -1)
            ?? differ("register", real.record.createdAt, row?.createdAt ?? now)
    }

    mutating func remove() async throws -> String? {
        let (app, installation) = (random.pick(apps), random.pick(Self.installations))
        let kind: TokenKind? = random.pick([nil, nil, .alert, .voip])
        pushHistory.append("remove \(installation), \(kind.debugDescription)")
        let real = try await stores.registry.removeDevice(app: app, installation: installation, kind: kind)
        return differ("remove", real, simulated.removeDevice(app: app, installation: installation, kind: kind))
    }

    /// Undoes a feedback entry: mostly a retirement, in its own app.
    mutating func undo() async throws -> String? {
        let retired = simulated.feedback.filter { $0.verdict == .retired }.map(\.id)
        let known = simulated.feedback.map(\.id) + [99_999]
        let id = random.pick(retired.isEmpty || random.happens(perMille: 200) ? known : retired)
        let own = simulated.feedback.first { $0.id == id }?.app ?? apps[0]
        let app = random.happens(perMille: 900) ? own : random.pick(apps)
        pushHistory.append("undo \(id)")
        let real = try await stores.registry.undo(feedback: id, app: app, now: now)
        let expected = simulated.undo(feedback: id, app: app, now: now)
        return differ("undo", Self.text(real), Self.text(expected))
    }

    private static func text(_ reply: UndoReply) -> String {
        switch reply {
        case .live(let device): "live \(device.state)"
        case .unknownFeedback, .unknownDevice, .notARetirement, .replaced, .moved: "\(reply)"
        }
    }

    private static func text(_ undo: SimulatedUndo) -> String {
        switch undo {
        case .unknownFeedback, .unknownDevice: "\(undo)"
        case .decided(.revived, let state), .decided(.inEffect, let state): "live \(state)"
        case .decided(let refusal, _): "\(refusal)"
        }
    }

    mutating func changeBadge() async throws -> String? {
        let (app, installation) = (random.pick(apps), random.pick(Self.installations))
        let badge = Int32(random.below(9))
        if random.happens(perMille: 300) {
            let (user, kind) = (random.pick(["ann", "bob", "cid", "nobody"]), random.pick([TokenKind.alert, .voip]))
            pushHistory.append("badges of \(user), \(kind)")
            let real = try await stores.registry.setBadge(badge, app: app, user: user, kind: kind)
            return differ("set badges", real, simulated.setBadge(badge, app: app, user: user, kind: kind))
        }
        pushHistory.append("badge of \(installation)")
        if random.happens(perMille: 500) {
            let real = try await stores.registry.setBadge(badge, app: app, installation: installation)
            return differ("set badge", real, simulated.setBadge(badge, app: app, installation: installation))
        }
        let real = try await stores.registry.consumeBadge(badge, app: app, installation: installation)
        return differ("consume badge", real, simulated.consumeBadge(badge, app: app, installation: installation))
    }

    /// A few of the names, some perhaps twice.
    private mutating func some(of names: [String]) -> [String] {
        var chosen: [String] = []
        for _ in 0..<random.within(0...names.count * 2 / 3) { chosen.append(random.pick(names)) }
        return chosen
    }

    private mutating func drawTargets() -> [InlineTarget] {
        (0..<random.within(0...4)).map { _ in
            InlineTarget(
                provider: random.pick([.apns, .fcm]), environment: random.pick([.production, .sandbox]),
                topic: random.pick(["", "com.example.app"]),
                token: Self.token(random.below(14)))
        }
    }

    /// A token that both providers read, from its own text.
    static func token(_ number: Int) -> DeviceToken { DeviceToken(bytes: [UInt8(65 + number), 55, 55, 55]) }

    private mutating func drawAudience() -> Audience {
        let tags = TagExpression(
            any: random.happens(perMille: 500) ? some(of: Self.tags) : [],
            all: random.happens(perMille: 500) ? some(of: Self.tags) : [],
            none: random.happens(perMille: 300) ? some(of: Self.tags) : [])
        let selection = random.pick([
            Audience.Selection.all, .all, .installations(some(of: Self.installations + ["nobody"])),
            .users(some(of: ["ann", "bob", "cid", "nobody"])), .tags(tags), .tokens(drawTargets()),
            .stale([StaleCutoffs(provider: random.pick([.apns, .fcm]), instant: now + .seconds(-900))]),
        ])
        return Audience(selection, providers: random.pick([nil, nil, nil, [.apns], [.fcm], [.apns, .fcm]]))
    }

    mutating func accept() async throws -> String? {
        let local = drawLocalSending()
        let asked = random.happens(perMille: 200) ? now + .seconds(30) : nil
        let dueAt = local.map { $0.hour.first > now ? $0.hour.first : nil } ?? asked
        var message = SimulatedMessage(
            id: newMessage, app: random.pick(apps), format: random.pick([1, 1, 1, 2]),
            service: random.pick([.app, .app, .app, .voip, .complication]),
            urgency: random.pick([.bulk, .transactional]), kind: random.pick([.alert, .alert, .voip]),
            badge: random.pick([.none, .increment, .value(4)]), lifetime: .seconds(random.pick([1, 90, 86_400])),
            audience: drawAudience(), dueAt: dueAt, localSending: local)
        if random.happens(perMille: 300) { message.ratePerSecond = random.pick(Self.rates) }
        return try await accept(message)
    }

    /// Accepts and plans several transactional messages to a few devices each, and leases them together.
    mutating func crowd() async throws -> String? {
        let app = random.pick(apps)
        if random.happens(perMille: 500), let difference = try await changeLimits(of: app) { return difference }
        for _ in 0..<random.within(2...6) {
            let message = SimulatedMessage(
                id: newMessage, app: app, format: 1, urgency: .transactional, kind: .alert,
                badge: random.pick([.none, .increment, .value(4)]), lifetime: .seconds(random.pick([90, 86_400])),
                audience: Audience(.installations(some(of: Self.installations))), dueAt: nil, localSending: nil)
            if let difference = try await accept(message) { return difference }
        }
        // Eight slices are mostly enough for all of them.
        for _ in 1...8 {
            if let difference = try await plan(6, 4, [1, 2]) { return difference }
        }
        let due = simulated.parcels.filter { $0.app == app && $0.isReady && $0.dueAt <= now && $0.service == .app }
        guard !due.isEmpty else { return nil }
        let order = LeaseOrder(
            route: random.pick(due).route, service: .app, owner: random.pick(Self.owners), leaseFor: Self.leaseFor,
            knownFormats: [1, 2], scope: random.pick([.ordinary, .urgent]))
        return try await lease(order)
    }

    private var newMessage: MessageID {
        MessageID(UniversalID(high: 0x0192_0000_0000_7000 + UInt64(messages.count), low: seed | 1 << 63))
    }

    private mutating func accept(_ drawn: SimulatedMessage) async throws -> String? {
        let (new, message) = draw(from: drawn, "accept")
        let real = try await stores.messages.accept([new], now: now)
        simulated.accept(message, now: now)
        return differ("accept", real, .accepted)
    }

    /// Draws the limits that a message ignores, and returns it for both stores.
    private mutating func draw(
        from drawn: SimulatedMessage, _ operation: String
    ) -> (real: NewMessage, simulated: SimulatedMessage) {
        var message = drawn
        message.ignored = random.pick([[], [], [], [.quietHours], [.dailyCap], [.quietHours, .dailyCap]])
        let local = message.localSending
        pushHistory.append(
            "\(operation) \(message.audience) \(message.badge) format \(message.format) \(message.service), \(local.debugDescription)"
        )
        messages.append(message.id)
        var new = NewMessage(
            id: message.id, app: message.app, format: message.format, urgency: message.urgency, kind: message.kind,
            badge: message.badge, lifetime: message.lifetime, content: Array("{}".utf8),
            audience: message.audience, pushType: message.service.pushType, dueAt: message.dueAt, localSending: local)
        new.ratePerSecond = message.ratePerSecond
        new.ignoredLimits = message.ignored
        // Limits apply to alerts only.
        if message.service != .app { message.ignored = [.quietHours, .dailyCap] }
        return (new, message)
    }

    /// Cuts messages to a few receivers as they are accepted, and leases some of their parcels at once.
    mutating func cut() async throws -> String? {
        let (app, owner) = (random.pick(apps), random.pick(Self.owners))
        var cuts: [CutMessage] = []
        var drawn: [SimulatedMessage] = []
        for _ in 0..<random.within(1...4) {
            let selection = random.pick([
                Audience.Selection.installations(some(of: Self.installations + ["nobody"])),
                .users(some(of: ["ann", "bob", "cid", "nobody"])), .tokens(drawTargets()),
            ])
            let service = random.pick([TopicService.app, .app, .app, .voip])
            let (real, simulated) = draw(
                from: SimulatedMessage(
                    id: newMessage, app: app, format: 1, service: service, urgency: .transactional,
                    kind: random.pick([.alert, .alert, .voip]), badge: random.pick([.none, .increment, .value(4)]),
                    lifetime: .seconds(random.pick([90, 86_400])),
                    audience: Audience(selection, providers: random.pick([nil, nil, nil, [.apns], [.apns, .fcm]]))),
                "cut")
            guard let cut = CutMessage(real) else { return "a message with named receivers can't be cut" }
            cuts.append(cut)
            drawn.append(simulated)
        }
        let size = random.within(1...4)
        // A route that these messages add is leased too, or not, like those of the same parity.
        let parity: Int64? = random.pick([nil, nil, 0, 1])
        let order = CutOrder(owner: owner, leaseFor: Self.leaseFor, parcelMembersMax: size)
        let real = await stores.messages.cut(cuts, order, now: now) { demand in
            Set(demand.keys.filter { each in parity.map { each.route.value % 2 == $0 } ?? true })
        }
        let leased = simulated.cut(
            drawn, owner: owner, for: Self.leaseFor, parcelMembersMax: size,
            leasing: { serviceRoute in parity.map { serviceRoute.route.value % 2 == $0 } ?? true }, now: now)
        let parcels: [LeasedParcel] = real.written.leases.flatMap { $0.parcels }
        for parcel in parcels { take(parcel, owner) }
        let replies = [Result<CutReply, StoreFault>](repeating: .success(.cut), count: cuts.count)
        return differ("cut", real.replies, replies) ?? differ("leases of a cut", parcels.withoutBadgeSets, leased)
    }

    /// An hour that a clock of some time zone shows about now.
    private mutating func drawLocalSending() -> LocalSending? {
        guard random.happens(perMille: 300) else { return nil }
        let ahead = random.pick([.zero] + Self.zones.compactMap(SimulatedZones.ahead(of:)))
        let inUTC = now + ahead + .seconds(Int64(random.within(0...180)) - 60)
        return LocalSending(hour: LocalHour(inUTC: inUTC), sendsPassed: random.happens(perMille: 500))
    }

    mutating func plan() async throws -> String? {
        let (ids, members) = (random.within(1...6), random.within(1...4))
        let formats: [Int16] = random.happens(perMille: 300) ? [1] : [1, 2]
        return try await plan(ids, members, formats)
    }

    private mutating func plan(_ ids: Int, _ members: Int, _ formats: [Int16]) async throws -> String? {
        let limit = random.pick([1, 2, 64])
        pushHistory.append("plan \(ids) ids, \(members) a parcel, at most \(limit) messages")
        let real = try await stores.messages.plan(
            atMost: limit, idsMax: ids, parcelMembersMax: members, knownFormats: formats, now: now)
        var planned: [PlannedSlice] = []
        if case .planned(let slices) = real { planned = slices }
        // The real store decides how many go together. If it finds nothing to plan, the simulated one must not either.
        let slices = simulated.plan(
            atMost: max(1, planned.count), idsMax: ids, parcelMembersMax: members, knownFormats: formats, now: now)
        return differ("plan, with \(real),", planned.map { SimulatedSlice($0) }, slices)
    }

    mutating func compare() async throws -> String? {
        let place = random.below(apps.count)
        for formats: [Int16] in [[1], [1, 2]] {
            let ready = try await stores.parcels.readyRoutes(knownFormats: formats, now: now).routes
            let expected = simulated.readyRoutes(knownFormats: formats, now: now)
            if let difference = differ("ready routes for \(formats)", ready, expected) { return difference }
            let rateLimited = try await stores.parcels.rateLimitedRoutes(knownFormats: formats, limit: 100, now: now)
            let waiting = simulated.rateLimitedRoutes(knownFormats: formats, now: now)
            if let difference = differ("paced routes for \(formats)", rateLimited, waiting) { return difference }
        }
        if let id = messages.last {
            let app = simulated.message(id)?.app ?? apps[0]
            var real = try await stores.messages.account(app: app, id: id)
            // Other tests read the request back; the simulated store keeps no texts.
            real?.form = nil
            real?.label = MessageLabel()
            if let difference = differ("account", real, simulated.account(id)) { return difference }
        }
        let page = try await stores.feedback.page(app: apps[place], after: cursors[place].real, limit: 3)
        let expected = simulated.feedbackPage(app: apps[place], after: cursors[place].simulated, limit: 3)
        cursors[place] = (page.next, expected.next)
        return differ("feedback", page.items.map(\.line), expected.items.map(\.line))
    }
}

extension FeedbackItem {
    fileprivate var line: String { "\(installation) \(kind) \(verdict) \(reason) \(at.microseconds)" }
}

extension FeedbackRow {
    fileprivate var line: String { "\(installation) \(kind) \(verdict) \(reason) \(at.microseconds)" }
}
