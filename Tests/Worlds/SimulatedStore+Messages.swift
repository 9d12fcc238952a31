import Basis
import Model
import QueueRules

/// A message as it is handed to the store.
package struct SimulatedMessage: Equatable, Sendable {
    package var id: MessageID
    package let app: AppID
    package var format: Int16 = 1
    package var service = TopicService.app
    package let urgency: MessageUrgency
    package var kind = TokenKind.alert
    package let badge: BadgeChange
    package let lifetime: Duration
    package let audience: Audience
    /// nil: at once.
    package var dueAt: WallInstant?
    package var localSending: LocalSending?
    package var ignored: AppLimits = []
    package var ratePerSecond: Int32?

    package init(
        id: MessageID, app: AppID, format: Int16 = 1, service: TopicService = .app, urgency: MessageUrgency,
        kind: TokenKind = .alert, badge: BadgeChange, lifetime: Duration, audience: Audience, dueAt: WallInstant? = nil,
        localSending: LocalSending? = nil, ratePerSecond: Int32? = nil
    ) {
        self.id = id
        self.app = app
        self.format = format
        self.service = service
        self.urgency = urgency
        self.kind = kind
        self.badge = badge
        self.lifetime = lifetime
        self.audience = audience
        self.dueAt = dueAt
        self.localSending = localSending
        self.ratePerSecond = ratePerSecond
    }
}

/// The result of one planning transaction.
package struct SimulatedSlice: Equatable, Sendable {
    package let message: MessageID
    package let app: AppID
    package let routes: [RouteID]
    package let ready: [ReadyRoute]
    package let waitsForRate: Bool
    package let members: Int
    package let isPlanned: Bool
    package let isFinished: Bool

    package init(
        message: MessageID, app: AppID, routes: [RouteID], ready: [ReadyRoute], waitsForRate: Bool, members: Int,
        isPlanned: Bool, isFinished: Bool
    ) {
        self.message = message
        self.app = app
        self.routes = routes
        self.ready = ready
        self.waitsForRate = waitsForRate
        self.members = members
        self.isPlanned = isPlanned
        self.isFinished = isFinished
    }
}

extension SimulatedStore {
    package mutating func accept(_ message: SimulatedMessage, now: WallInstant) {
        precondition(placeOfMessage(message.id) == nil, "a message's id is new")
        for target in message.audience.targets {
            _ = routeOf(
                app: message.app, provider: target.provider, environment: target.environment, topic: target.topic)
        }
        let horizon = message.dueAt == nil ? registrations.last?.id ?? RegistrationID(0) : RegistrationID(0)
        messages.append(
            MessageRow(
                id: message.id, app: message.app, format: message.format, service: message.service,
                state: message.dueAt == nil ? .accepted : .scheduled, urgency: message.urgency,
                kind: message.kind, badge: message.badge, audienceWanted: message.audience.sorted,
                ignored: message.ignored, horizon: horizon, acceptedAt: now,
                expiresAt: (message.localSending?.hour.last ?? message.dueAt ?? now) + message.lifetime,
                dueAt: message.dueAt, localSending: message.localSending))
        let plan = PlanRow(
            message: message.id, app: message.app, format: message.format, urgency: message.urgency)
        if let dueAt = message.dueAt {
            schedules.append(ScheduleRow(message: message.id, dueAt: dueAt, plan: plan))
        } else {
            plans.append(plan)
        }
        if let rate = message.ratePerSecond { _ = control(.rate(rate), message.id, now: now) }
    }

    /// Cuts the next slice of one message after the other, in the planning order. The real store may take fewer at once.
    package mutating func plan(
        atMost limit: Int, idsMax: Int, parcelMembersMax: Int, knownFormats: [Int16], now: WallInstant
    ) -> [SimulatedSlice] {
        var slices: [SimulatedSlice] = []
        while slices.count < limit, let slice = planNext(idsMax, parcelMembersMax, knownFormats, now) {
            slices.append(slice)
        }
        return slices
    }

    /// The members of all routes are frozen here at once (decision 0001).
    private mutating func planNext(
        _ idsMax: Int, _ parcelMembersMax: Int, _ knownFormats: [Int16], _ now: WallInstant
    ) -> SimulatedSlice? {
        guard let place = nextPlan(knownFormats) else { return nil }
        lastPlanned[plans[place].urgency] = plans[place].app
        return planSlice(at: place, idsMax, parcelMembersMax, now)
    }

    mutating func planSlice(
        at place: Int, _ idsMax: Int, _ parcelMembersMax: Int, _ now: WallInstant
    ) -> SimulatedSlice? {
        guard let messagePlace = placeOfMessage(plans[place].message) else { return nil }
        let message = messages[messagePlace]
        var slice = query(
            at: message, after: plans[place].plannedThrough,
            message.localSending == nil ? idsMax : idsMax * LocalHour.slicesAtOnce)
        if let sending = message.localSending { sort(&slice, by: sending, of: message, groupsOf: parcelMembersMax) }
        let before = parcels.count
        let routes = writeParcels(slice.members, message, parcelMembersMax, now)
        let written = Array(parcels[before...])
        let settle = message.localSending == nil ? plans[place].plannedThrough : plans[place].slices
        end(slice.early, messagePlace, settle: settle, now)
        messages[messagePlace].plannedMembers += Int64(slice.members.count + slice.ended)
        plans[place].plannedThrough = slice.through
        plans[place].plannedAt = now
        plans[place].slices += 1
        if slice.isLast {
            plans.remove(at: place)
            messages[messagePlace].audience = messages[messagePlace].plannedMembers
        }
        if !messages[messagePlace].isStopped { messages[messagePlace].state = slice.isLast ? .sending : .planning }
        finishIfComplete(messagePlace, now)
        return SimulatedSlice(
            message: message.id, app: message.app, routes: routes, ready: ready(among: written, of: message, now),
            waitsForRate: written.contains { !$0.isOnHold && $0.isRateLimited }, members: slice.members.count,
            isPlanned: slice.isLast, isFinished: messages[messagePlace].state == .finished)
    }

    /// Counts members that end early, also for their provider where they have one. The history shows a settle of parcel
    /// 0.
    private mutating func end(
        _ early: [SimulatedAudienceQuery.EarlyGroup], _ messagePlace: Int, settle: Int64, _ now: WallInstant
    ) {
        for (number, group) in early.enumerated() {
            addToMessage(messagePlace, TerminalCount(terminalStatus: group.terminalStatus, count: group.members.count))
            if let provider = group.route.flatMap({ route($0) })?.provider {
                var counts = ProviderCounts(provider: provider)
                counts.counts[Int(group.terminalStatus.state.rawValue) - 1] = Int64(group.members.count)
                add(counts, messagePlace)
            }
            history.append(
                HistoryRow(
                    message: messages[messagePlace].id, parcel: ParcelID(0), settle: Int32(settle), place: number + 1,
                    route: group.route ?? RouteID(0),
                    entry: HistoryEntry(
                        .ended(group.terminalStatus), attempts: 0,
                        members: group.members.sorted().map(RegistrationID.init)),
                    at: now))
        }
    }

    private func nextPlan(_ knownFormats: [Int16]) -> Int? {
        let known = plans.indices.filter { knownFormats.contains(plans[$0].format) }
        /// The apps rotate, starting behind the one planned last.
        func wasPlannedLast(_ plan: PlanRow) -> Bool { lastPlanned[plan.urgency].map { plan.app <= $0 } ?? false }
        return known.min { left, right in
            let (one, other) = (plans[left], plans[right])
            if one.urgency != other.urgency { return one.urgency.rawValue < other.urgency.rawValue }
            if wasPlannedLast(one) != wasPlannedLast(other) { return wasPlannedLast(other) }
            if one.app != other.app { return one.app < other.app }
            switch (one.plannedAt, other.plannedAt) {
            case (nil, .some): return true
            case (.some, nil): return false
            case (.some(let first), .some(let second)) where first != second: return first < second
            default: return one.message < other.message
            }
        }
    }

    /// Writes the parcels, one per route, instant and `parcelMembersMax` members. Their ids rise by route, then by
    /// instant.
    mutating func writeParcels(
        _ members: [SimulatedMember], _ message: MessageRow, _ parcelMembersMax: Int, _ now: WallInstant
    ) -> [RouteID] {
        let touched = routes.map(\.id).filter { route in members.contains { $0.route == route } }
        for route in touched {
            let here = members.filter { $0.route == route }
            for instant in Set(here.map(\.sentAt)).sorted(by: { ($0 ?? now) < ($1 ?? now) }) {
                let ids = here.filter { $0.sentAt == instant }.map(\.id)
                for start in stride(from: 0, to: ids.count, by: parcelMembersMax) {
                    let part = Array(ids[start..<min(start + parcelMembersMax, ids.count)])
                    writeParcel(part, of: message, on: route, sentAt: instant, now)
                }
            }
        }
        return touched
    }

    private func ready(among written: [ParcelRow], of message: MessageRow, _ now: WallInstant) -> [ReadyRoute] {
        routes.compactMap { route in
            guard written.contains(where: { $0.route == route.id && $0.isReady && $0.dueAt <= now }) else { return nil }
            return route.ready(
                message.service, ordinary: true, urgent: message.urgency == .transactional, lapsed: false)
        }
    }

    private mutating func writeParcel(
        _ ids: [RegistrationID], of message: MessageRow, on route: RouteID, sentAt instant: WallInstant?,
        _ now: WallInstant
    ) {
        lastParcel += 1
        let expiresAt = instant.flatMap { message.expires(sentAt: $0) } ?? message.expiresAt
        parcels.append(
            ParcelRow(
                id: ParcelID(lastParcel), message: message.id, app: message.app, route: route, format: message.format,
                service: message.service, urgency: message.urgency, attempt: 0, lapses: 0, retrySpent: .zero,
                isBadgeMarked: false,
                answerLost: false, dueAt: max(instant ?? now, now), expiresAt: expiresAt,
                isOnHold: isStopped(message.id),
                isRateLimited: isRateLimited(message.id), members: ids,
                settled: [Bool](repeating: false, count: ids.count)))
    }

    /// Adds a count and its reason to the message. Either no parcel holds the count, or its parcel is being removed.
    package mutating func addToMessage(_ place: Int, _ terminalStatus: TerminalCount) {
        messages[place].counts[Int(terminalStatus.terminalStatus.state.rawValue) - 1] += Int64(terminalStatus.count)
        addReason(place, terminalStatus)
    }

    package mutating func addReason(_ place: Int, _ terminalStatus: TerminalCount, detail: String? = nil) {
        guard terminalStatus.terminalStatus != TerminalStatus(.accepted) else { return }
        if let known = messages[place].reasons.firstIndex(where: { $0.terminalStatus == terminalStatus.terminalStatus })
        {
            let before = messages[place].reasons[known]
            messages[place].reasons[known] = TerminalTotal(
                terminalStatus: terminalStatus.terminalStatus, count: before.count + Int64(terminalStatus.count),
                detail: before.detail ?? detail)
            return
        }
        messages[place].reasons.append(
            TerminalTotal(
                terminalStatus: terminalStatus.terminalStatus, count: Int64(terminalStatus.count), detail: detail))
        messages[place].reasons.sort { left, right in
            left.terminalStatus.state == right.terminalStatus.state
                ? left.terminalStatus.reason < right.terminalStatus.reason
                : left.terminalStatus.state.rawValue < right.terminalStatus.state.rawValue
        }
    }

    package mutating func finishIfComplete(_ place: Int, _ now: WallInstant) {
        guard messages[place].state == .sending || messages[place].state == .paused,
            messages[place].audience == messages[place].members
        else { return }
        messages[place].state = .finished
        messages[place].finishedAt = now
    }

    /// The message's own counts plus those of its remaining parcels.
    package func account(_ id: MessageID) -> MessageAccount? {
        guard let message = message(id) else { return nil }
        let open = parcels.filter { $0.message == id }
        var outcomes = message.counts
        for parcel in open {
            for state in outcomes.indices { outcomes[state] += parcel.counts[state] }
        }
        return MessageAccount(
            id: id, state: message.state, acceptedAt: message.acceptedAt, expiresAt: message.expiresAt,
            finishedAt: message.finishedAt, audience: message.audience, outcomes: outcomes,
            pending: Int64(open.reduce(0) { $0 + $1.pending }), reasons: message.reasons,
            providers: providers(of: message, open), sendAt: message.dueAt, localHour: message.localSending?.hour,
            ratePerSecond: message.ratePerSecond)
    }

    private func providers(of message: MessageRow, _ open: [ParcelRow]) -> [ProviderAccount] {
        Provider.allCases.compactMap { provider in
            let ours = open.filter { route($0.route)?.provider == provider }
            let folded = message.providers.first { $0.provider == provider }
            if folded == nil, ours.isEmpty { return nil }
            var outcomes = folded?.counts ?? ProviderCounts(provider: provider).counts
            for parcel in ours {
                for state in outcomes.indices { outcomes[state] += parcel.counts[state] }
            }
            return ProviderAccount(
                provider: provider, outcomes: outcomes, pending: Int64(ours.reduce(0) { $0 + $1.pending }))
        }
    }
}
