import Basis
import Model
import RegistryRules
import WakeUpRules

/// A device's request to be woken, with its token as each provider would read it.
package struct SimulatedSubscribing: Sendable {
    package let app: AppID
    package let path: NodePath
    /// The readings of the token, in the order in which providers are asked.
    package let tokens: [(provider: Provider, token: DeviceToken)]
    /// A name for the token's registration, if it has none.
    package let installation: String
    package let mode: WakeUpMode
    package let lifetime: Duration

    package init(
        app: AppID, path: NodePath, tokens: [(provider: Provider, token: DeviceToken)], installation: String,
        mode: WakeUpMode, lifetime: Duration
    ) {
        (self.app, self.path, self.tokens, self.installation) = (app, path, tokens, installation)
        (self.mode, self.lifetime) = (mode, lifetime)
    }
}

extension SimulatedStore {
    /// Adds or refreshes a subscription. Returns its registration; nil: no push can reach the token.
    @discardableResult
    package mutating func subscribe(_ request: SimulatedSubscribing, now: WallInstant) -> RegistrationID? {
        guard let registration = holder(of: request) ?? adopt(request, now) else { return nil }
        let place = watches.firstIndex { $0.app == request.app && $0.path == request.path } ?? addWatch(request)
        want(request.mode, at: place)
        let watch = watches[place]
        let expiresAt = now + request.lifetime
        if let known = subscriptions.firstIndex(where: { $0.watch == watch.id && $0.registration == registration }) {
            (subscriptions[known].mode, subscriptions[known].expiresAt) = (request.mode, expiresAt)
            return registration
        }
        lastSubscription += 1
        subscriptions.append(
            SubscriptionRow(
                id: lastSubscription, app: request.app, watch: watch.id, registration: registration, mode: request.mode,
                expiresAt: expiresAt, sentSeq: watch.seq))
        return registration
    }

    /// Removes a subscription, if there is one.
    package mutating func unsubscribe(_ request: SimulatedSubscribing) {
        let nameless = placeOfDevice(app: request.app, installation: request.installation, kind: .wakeUp)
        guard let registration = holder(of: request) ?? nameless.map({ registrations[$0].id }) else { return }
        let watch = watches.first { $0.app == request.app && $0.path == request.path }
        removeSubscriptions { $0.watch == watch?.id && $0.registration == registration }
    }

    /// The live registration that holds the token, if wake-ups reach it.
    private func holder(of request: SimulatedSubscribing) -> RegistrationID? {
        let held = holders(of: request)
        return held.first { $0.stored.kind == .alert || $0.stored.kind == .wakeUp }?.id
    }

    /// - Parameter message: the last one that the subscription got; nil: any.
    func subscribes(_ registration: RegistrationID, to watch: WatchID, message: MessageID? = nil) -> Bool {
        subscriptions.contains { subscription in
            subscription.watch == watch.value && subscription.registration == registration
                && (message == nil || subscription.message == message)
        }
    }

    private func holders(of request: SimulatedSubscribing) -> [RegistrationRow] {
        request.tokens.flatMap { reading in
            registrations.filter {
                $0.app == request.app && $0.isLive && $0.stored.provider == reading.provider
                    && $0.stored.token == reading.token
            }
        }
    }

    /// Makes a registration of a token that none holds, or revives the one that it had.
    private mutating func adopt(_ request: SimulatedSubscribing, _ now: WallInstant) -> RegistrationID? {
        guard holders(of: request).isEmpty, let reading = request.tokens.first(where: { $0.provider == .fcm }) else {
            return nil
        }
        let route = routeOf(app: request.app, provider: .fcm, environment: .production, topic: "")
        // An insert that finds a row there takes a number too.
        lastRegistration += 1
        let known = registrations.firstIndex {
            $0.app == request.app && $0.stored.installation == request.installation && $0.stored.kind == .wakeUp
        }
        if let known {
            registrations[known].stored.state = .active
            registrations[known].registeredAt = now
            (registrations[known].isUnproven, registrations[known].blamedAt) = (true, nil)
            registrations[known].stored.beginGeneration(
                TokenGeneration(registrations[known].stored.generation.value + 1))
            awaken(registrations[known].id, now: now)
            return registrations[known].id
        }
        registrations.append(
            RegistrationRow(
                id: RegistrationID(lastRegistration), app: request.app,
                stored: StoredRegistration(
                    id: RegistrationID(lastRegistration), installation: request.installation, kind: .wakeUp,
                    route: route, provider: .fcm, token: reading.token, state: .active,
                    generation: TokenGeneration(1), profile: RegistrationProfile(), asOf: nil),
                badge: 0, registeredAt: now, createdAt: now))
        registrations[registrations.count - 1].isUnproven = true
        return RegistrationID(lastRegistration)
    }

    private mutating func addWatch(_ request: SimulatedSubscribing) -> Int {
        lastWatch += 1
        let leaves = leaves(of: request.app, at: request.path)
        watches.append(
            WatchRow(
                id: lastWatch, app: request.app, path: request.path,
                weightBytes: Int64(leaves.reduce(0) { $0 + $1.weight }), weightLeaves: Int64(leaves.count)))
        return watches.count - 1
    }

    private mutating func want(_ mode: WakeUpMode, at place: Int) {
        if mode == .value { watches[place].wantsValue = true }
        guard mode == .childEvent, !watches[place].wantsChildren else { return }
        // Which children changed before is not known.
        watches[place].wantsChildren = true
        watches[place].overflowSeq = watches[place].seq
    }

    /// Gives the subscriptions of a token to the registration that holds it now. They are notified once more.
    mutating func moveSubscriptions(from former: RegistrationID, to holder: RegistrationID, now: WallInstant) {
        let own = subscriptions.filter { $0.registration == holder }
        for moved in subscriptions where moved.registration == former {
            guard let other = own.first(where: { $0.watch == moved.watch }) else { continue }
            // The two would become one: the younger stays.
            removeSubscriptions { $0.id == min(moved.id, other.id) }
        }
        var moved: [Int64] = []
        for place in subscriptions.indices where subscriptions[place].registration == former {
            subscriptions[place].registration = holder
            (subscriptions[place].sentSeq, subscriptions[place].message) = (-1, nil)
            moved.append(subscriptions[place].watch)
        }
        countMove(of: Set(moved), now)
        registrations.removeAll { $0.id == former && $0.stored.kind == .wakeUp && !$0.isLive }
    }

    /// Lets the subscriptions of a revived registration be notified once more, unless nothing has ever changed.
    mutating func awaken(_ registration: RegistrationID, now: WallInstant) {
        var woken: [Int64] = []
        for place in subscriptions.indices where subscriptions[place].registration == registration {
            let subscription = subscriptions[place]
            guard subscription.message != nil || subscription.sentSeq < watch(subscription.watch)?.seq ?? 0 else {
                continue
            }
            (subscriptions[place].sentSeq, subscriptions[place].message) = (-1, nil)
            woken.append(subscription.watch)
        }
        countMove(of: Set(woken), now)
    }

    private mutating func countMove(of ids: Set<Int64>, _ now: WallInstant) {
        for place in watches.indices where ids.contains(watches[place].id) {
            watches[place].moves += 1
            makeDue(watches[place], at: now)
            for row in dueWatches.indices where dueWatches[row].watch == watches[place].id {
                dueWatches[row].dueAt = min(dueWatches[row].dueAt, now)
            }
        }
    }
}
