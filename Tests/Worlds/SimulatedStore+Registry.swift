import Basis
import Model
import RegistryRules

extension SimulatedStore {
    /// Returns the route of these facts, and makes it where it is new.
    package mutating func routeOf(
        app: AppID, provider: Provider, environment: PushEnvironment, topic: String
    ) -> RouteID {
        let known = routes.first {
            $0.app == app && $0.provider == provider && $0.environment == environment && $0.topic == topic
        }
        if let known { return known.id }
        // Every route of APNs has a sibling in the other environment.
        let environments = provider == .apns ? [environment, environment.other] : [environment]
        let id = RouteID(lastRoute + 1)
        for each in environments {
            lastRoute += 1
            routes.append(
                RouteRow(id: RouteID(lastRoute), app: app, provider: provider, environment: each, topic: topic))
        }
        return id
    }

    @discardableResult
    package mutating func register(_ input: DeviceRegistration, app: AppID, now: WallInstant) -> RegistrationChange {
        let route = routeOf(
            app: app, provider: input.provider, environment: input.environment, topic: input.topic)
        let place = placeOfDevice(app: app, installation: input.installation, kind: input.kind)
        let holderPlace = placeOfHolder(app: app, of: input)
        let before = [place, holderPlace].compactMap(\.self).map { registrations[$0] }
        let decision = TokenLifecycle.register(
            existing: place.map { registrations[$0].storedRow },
            holder: holderPlace.map { registrations[$0].storedRow },
            incoming: IncomingRegistration(registration: input, route: route))
        guard decision.change != .stale else { return .stale }
        if let holderPlace, let lostToken = decision.formerHolder {
            publish(.moved, "moved", of: registrations[holderPlace], now)
            forgetSuspicion(registrations[holderPlace].id)
            registrations[holderPlace].stored = lostToken
        }
        let holder = decision.formerHolder == nil ? nil : holderPlace.map { registrations[$0].id }
        let wasRetired = place.map { !registrations[$0].isLive } ?? false
        if let holder, input.kind == .alert {
            makeWindows(movingFrom: holder, to: place.map { registrations[$0].id })
        }
        write(decision, input, at: place, app, now)
        endItemSubscriptions(since: before)
        guard
            let row = placeOfDevice(app: app, installation: input.installation, kind: input.kind)
                .map({ registrations[$0] })
        else { return decision.change }
        if wasRetired, row.isLive { awaken(row.id, now: now) }
        if let holder {
            moveSubscriptions(from: holder, to: row.id, now: now)
            moveItemSubscriptions(from: holder, to: row.id)
        }
        return decision.change
    }

    private mutating func write(
        _ decision: RegistrationDecision, _ input: DeviceRegistration, at place: Int?, _ app: AppID, _ now: WallInstant
    ) {
        guard let place else {
            lastRegistration += 1
            var row = decision.row
            row.id = RegistrationID(lastRegistration)
            registrations.append(
                RegistrationRow(
                    id: RegistrationID(lastRegistration), app: app, stored: row, badge: max(input.badge ?? 0, 0),
                    registeredAt: input.learned(at: now), createdAt: now, asOf: input.asOf))
            return
        }
        if decision.replacedGeneration != nil { publish(.replaced, "replaced", of: registrations[place], now) }
        if decision.liftsSuspicion { forgetSuspicion(registrations[place].id) }
        registrations[place].stored = decision.row
        registrations[place].asOf = input.asOf ?? registrations[place].asOf
        if let badge = input.badge { set(max(badge, 0), at: place) }
        registrations[place].registeredAt = max(registrations[place].registeredAt, input.learned(at: now))
    }

    /// The index of another live registration that holds the token.
    package func placeOfHolder(app: AppID, of input: DeviceRegistration) -> Int? {
        registrations.indices.first {
            registrations[$0].stored.token == input.token && registrations[$0].app == app && registrations[$0].isLive
                && registrations[$0].stored.provider == input.provider
                && !(registrations[$0].stored.installation == input.installation
                    && registrations[$0].stored.kind == input.kind)
        }
    }

    package func placeOfDevice(app: AppID, installation: String, kind: TokenKind) -> Int? {
        registrations.indices.first {
            registrations[$0].app == app && registrations[$0].stored.kind == kind
                && registrations[$0].stored.installation == installation
        }
    }

    @discardableResult
    package mutating func removeDevice(app: AppID, installation: String, kind: TokenKind? = nil) -> Int {
        let before = registrations.filter {
            $0.app == app && $0.stored.installation == installation && (kind == nil || $0.stored.kind == kind)
        }
        let gone = before.map(\.id)
        suspicions.removeAll { gone.contains($0.registration) }
        registrations.removeAll { gone.contains($0.id) }
        removeSubscriptions { gone.contains($0.registration) }
        endItemSubscriptions(since: before)
        return gone.count
    }

    @discardableResult
    package mutating func setBadge(_ badge: Int32, app: AppID, installation: String, kind: TokenKind = .alert) -> Int32?
    {
        guard let place = placeOfDevice(app: app, installation: installation, kind: kind) else { return nil }
        set(badge, at: place)
        return badge
    }

    package mutating func setBadge(_ badge: Int32, app: AppID, user: String, kind: TokenKind = .alert) -> Int {
        let places = registrations.indices.filter {
            registrations[$0].app == app && registrations[$0].stored.kind == kind
                && registrations[$0].stored.profile[.user] == user
        }
        for place in places { set(badge, at: place) }
        return places.count
    }

    @discardableResult
    package mutating func consumeBadge(_ count: Int32, app: AppID, installation: String, kind: TokenKind = .alert)
        -> Int32?
    {
        guard let place = placeOfDevice(app: app, installation: installation, kind: kind) else { return nil }
        guard registrations[place].badge > count else {
            set(0, at: place)
            return 0
        }
        registrations[place].badge -= count
        registrations[place].raised = min(registrations[place].raised, registrations[place].badge)
        return registrations[place].badge
    }

    @discardableResult
    package mutating func undo(feedback id: Int64, app: AppID, now: WallInstant) -> SimulatedUndo {
        guard let entry = feedback.firstIndex(where: { $0.app == app && $0.id == id }) else { return .unknownFeedback }
        guard let place = placeOfRegistration(feedback[entry].registration) else { return .unknownDevice }
        let row = registrations[place]
        let isTokenTaken = registrations.contains {
            $0.app == app && $0.id != row.id && $0.isLive && $0.stored.hasSameToken(as: row.stored)
        }
        let decision = TokenLifecycle.undo(
            Retirement(
                verdict: feedback[entry].verdict, generation: feedback[entry].generation,
                isUndone: feedback[entry].isUndone),
            state: row.stored.state, generation: row.stored.generation, isTokenTaken: isTokenTaken)
        if case .revived(let generation) = decision {
            registrations[place].stored.state = .active
            registrations[place].stored.beginGeneration(generation)
            feedback[entry].isUndone = true
            awaken(row.id, now: now)
            publish(.undone, "undone", of: registrations[place], now)
        }
        return .decided(decision, registrations[place].stored.state)
    }

    package mutating func forgetSuspicion(_ registration: RegistrationID) {
        suspicions.removeAll { $0.registration == registration }
    }

    package mutating func publish(
        _ verdict: FeedbackVerdict, _ reason: String, of row: RegistrationRow, _ now: WallInstant,
        _ environments: EnvironmentChange? = nil
    ) {
        // The backend knows nothing of registrations that only subscriptions made.
        guard row.stored.kind != .wakeUp else { return }
        lastFeedback += 1
        feedback.append(
            FeedbackRow(
                id: lastFeedback, app: row.app, registration: row.id, generation: row.stored.generation,
                installation: row.stored.installation, kind: row.stored.kind, provider: row.stored.provider,
                verdict: verdict, reason: reason, at: now, environments: environments))
    }

    /// Returns the rows after the cursor, oldest first, and the cursor behind them.
    package func feedbackPage(app: AppID, after cursor: Int64, limit: Int) -> (items: [FeedbackRow], next: Int64) {
        let items = Array(feedback.filter { $0.app == app && $0.id > cursor }.prefix(limit))
        return (items, items.last?.id ?? cursor)
    }
}

extension PushEnvironment {
    package var other: PushEnvironment { self == .production ? .sandbox : .production }
}

extension DeviceRegistration {
    /// The time from which a registration counts: one handed in late counts from when it was learned.
    fileprivate func learned(at now: WallInstant) -> WallInstant { min(asOf ?? now, now) }
}

package enum SimulatedUndo: Equatable, Sendable {
    case unknownFeedback
    case unknownDevice
    case decided(UndoDecision, RegistrationState)
}
