import Basis
import Model

/// Why a lane, or one route on it, can't send. The names stand in the log.
package enum LaneCause: String, Equatable, Sendable, CaseIterable {
    /// No connection could be made, or none lived long enough to prove itself.
    case unreachable
    /// We rejected the peer's certificate, or the peer rejected ours in the handshake.
    case tlsRefused = "tls_refused"
    /// The provider refused our credential, by GOAWAY or in an answer. Another attempt would get the same answer.
    case credentialRefused = "credential_refused"
    /// Most of the latest answers asked for fewer pushes.
    case throttled
    /// There is no provider or access token, and none is signed or fetched before a pause is over.
    case tokenMissing = "token_missing"
    /// The provider refused the route's topic to this credential. The lane's other routes go on.
    case topicRefused = "topic_refused"
    /// The route's registrations name no topic, and the credential has several.
    case topicMissing = "topic_missing"
    /// The credential is being opened, or its first access token fetched. Both have deadlines.
    case credentialPending = "credential_pending"
    case credentialUnusable = "credential_unusable"
    case credentialUnknown = "credential_unknown"
}

/// Whether a lane may send now, and how much; if not, why and until when. Nothing else answers that.
///
/// The transport, the provider's answers and the credentials in the database report to it. Each process judges its
/// lanes for itself, but announces a refused credential to all processes (decisions 0008, 0040).
///
/// sends → (blocked, refused, credential not usable) → waits → (recovered, usable) → sends
///
/// After a refused or suspected credential the lane sends one push at a time, until one is accepted (`LaneThrottle`).
package struct LaneHealth: Sendable {
    /// Something that was found out about the lane.
    package enum Event: Equatable, Sendable {
        /// The transport has no connection that works, and goes on dialling. `reason` is for people.
        case blocked(LaneCause, reason: String)
        /// A connection works again.
        case recovered
        /// The provider refused the credential. The transport reports each refusal once.
        case credentialRefused(reason: String)
        /// The provider refused the credential once, and it may be good. The transport tries other connections.
        case credentialSuspected(reason: String)
        /// The provider refused the route's topic to this credential.
        case topicRefused(ServiceRoute, for: Duration, reason: String = "")
        /// The route was resolved to this lane, and something is missing. `reason` is for people.
        case waits(ServiceRoute, LaneCause, reason: String = "")
        /// The route was resolved to this lane, and nothing is missing.
        case usable(ServiceRoute)
        /// The connections were closed, because the credential is not active any more.
        case closed
    }

    package enum Action: Equatable, Sendable {
        /// Tell the operator and all processes that the credential is refused.
        case announceRefusal(reason: String)
        /// Dial at once: the pause after a refused credential is over.
        case retry
        /// Tell the operator that the route's pushes wait, because its topic is refused.
        case announceRefusedTopic(ServiceRoute, reason: String = "")
        /// Tell the operator and users what changed: why the lane waits now (nil: for nothing), and why it did before.
        case report(Wait?, before: Wait?)
        /// Tell users that other routes wait, or the same for another reason (`routeWaits`).
        case reportRoutes
    }

    /// The reason why the lane waits, in the log and in messages' progress.
    package struct Wait: Equatable, Sendable {
        package let cause: LaneCause
        /// Empty for a cause that needs no other words.
        package let reason: String
        package let since: MonotonicInstant
        /// When it came back last, if it does so again and again.
        package let latest: MonotonicInstant
        /// nil: until another event ends it.
        package let until: MonotonicInstant?

        package init(
            _ cause: LaneCause, reason: String = "", since: MonotonicInstant, latest: MonotonicInstant? = nil,
            until: MonotonicInstant? = nil
        ) {
            (self.cause, self.reason, self.since) = (cause, reason, since)
            (self.latest, self.until) = (latest ?? since, until)
        }

        /// The same wait in the provider's words.
        package func quoting(_ words: String) -> Wait {
            Wait(cause, reason: words, since: since, latest: latest, until: until)
        }

        /// Whether it is worth another report. An end that is hardly later is not.
        fileprivate func isNews(after other: Wait) -> Bool {
            if let until, let known = other.until, until - known >= .seconds(1) { return true }
            return cause != other.cause || reason != other.reason || latest != other.latest
        }
    }

    package enum Permission: Equatable, Sendable {
        /// So many pushes may be handed to the lane now. 0: those that a half-open breaker allows are on their way.
        case may(Int)
        /// `until`: nil where only another event ends the cause.
        case mayNot(LaneCause, until: MonotonicInstant?)

        package var room: Int { if case .may(let room) = self { room } else { 0 } }
        package var isGiven: Bool { if case .may = self { true } else { false } }
    }

    /// One route that waits while the lane's others go on.
    package struct RouteWait: Equatable, Sendable {
        package let route: ServiceRoute
        /// `until`: nil until the route is resolved otherwise.
        package let wait: Wait
    }

    /// The transport's block; nil: it has or makes a connection.
    private var block: Wait?
    /// The provider refused the credential here, and no route was found usable since.
    private var refusal: Wait?
    /// The latest finding about the credential, when a route was resolved; nil: it is usable.
    private var missing: Wait?
    package private(set) var routeWaits: [RouteWait] = []
    private var throttle: LaneThrottle
    /// When the provider last accepted a push, which proves the credential.
    private var provenAt: MonotonicInstant?
    /// Answers since then that refused the credential.
    private var refusedSince = 0
    /// The reports made last: of the block, refusal or finding, of the open breaker, and of single routes.
    private var reported: (stop: Wait?, throttling: Wait?, routes: [RouteWait]) = (nil, nil, [])

    /// How long an accepted push proves the credential. Longer, and a deleted project would cost its pushes their
    /// retries. Shorter, and one push that is refused each time would stop an app that sends little.
    package static let proofLasts: Duration = .seconds(600)
    /// After this many refusals and nothing accepted in between, the credential itself is refused. With a higher value,
    /// an app that sends little loses more pushes once its key is revoked. With a lower one, a few bad pushes stop it.
    package static let refusedMax = 20

    package init(signalsMin: Int) { throttle = LaneThrottle(signalsMin: signalsMin) }

    package mutating func note(_ event: Event, _ now: MonotonicInstant) -> Action? {
        switch event {
        case .blocked(let cause, let reason): block = Wait(cause, reason: reason, since: block?.since ?? now)
        case .recovered: block = nil
        case .credentialRefused(let reason):
            guard refusal == nil else { return nil }
            refusal = Wait(.credentialRefused, reason: reason, since: now)
            throttle.suspect(now)
            return .announceRefusal(reason: reason)
        case .credentialSuspected(let reason):
            // Nothing was accepted since the last refusal, so the next try has to wait.
            if throttle.isSuspected { return note(.credentialRefused(reason: reason), now) }
            throttle.suspect(now)
        case .topicRefused(let route, let length, let reason):
            // Every push of the route in flight gets the same answer.
            guard !refusesTopic(of: route) else { return nil }
            let wait = Wait(.topicRefused, reason: reason, since: now, until: now + length)
            routeWaits.append(RouteWait(route: route, wait: wait))
            return .announceRefusedTopic(route, reason: reason)
        case .waits(let route, .topicMissing, let reason):
            guard wait(of: route) == nil else { return nil }
            routeWaits.append(RouteWait(route: route, wait: Wait(.topicMissing, reason: reason, since: now)))
        case .waits(_, let cause, let reason):
            // Another attempt after a failure is no end of the wait.
            if cause == .credentialPending, lasting != nil { return nil }
            missing = Wait(cause, reason: reason, since: missing?.since ?? now)
        case .usable(let route):
            missing = nil
            routeWaits.removeAll { $0.route == route && $0.wait.cause == .topicMissing }
            guard refusal != nil else { return nil }
            refusal = nil
            return .retry
        case .closed:
            (block, refusal, missing) = (nil, nil, Wait(.credentialUnknown, since: now))
            throttle.trust()
        }
        return nil
    }
}

extension LaneHealth {
    package func permission(for urgency: MessageUrgency, on route: ServiceRoute) -> Permission {
        if let wait = block ?? refusal ?? missing { return .mayNot(wait.cause, until: nil) }
        if let wait = wait(of: route) { return .mayNot(wait.cause, until: wait.until) }
        let isUrgent = urgency == .transactional
        let room = throttle.room(isUrgent: isUrgent)
        guard room == 0, case .open(let until, let triesFrom) = throttle.phase else { return .may(room) }
        return .mayNot(.throttled, until: isUrgent ? triesFrom : until)
    }

    /// Whether the topic of the route is refused now. The transport doesn't know of topics.
    package func refusesTopic(of route: ServiceRoute) -> Bool { wait(of: route)?.cause == .topicRefused }

    private func wait(of route: ServiceRoute) -> Wait? { routeWaits.first { $0.route == route }?.wait }

    /// Whether the provider accepted the credential a while ago, so that a push that is refused is at fault itself.
    package func isProven(_ now: MonotonicInstant) -> Bool {
        guard let provenAt else { return false }
        return now - provenAt < Self.proofLasts && refusedSince < Self.refusedMax
    }

    /// The reason why every route of the lane waits, for people; nil: there is none that lasts.
    package var wait: Wait? { stop ?? throttling }

    private var stop: Wait? { block ?? refusal ?? lasting }

    /// The finding about the credential, if it may last. A refused credential has been announced, and a missing one is
    /// seen in the database.
    private var lasting: Wait? {
        switch missing?.cause {
        case .tokenMissing, .credentialUnusable: missing
        case .unreachable, .tlsRefused, .credentialRefused, .throttled, .topicRefused, .topicMissing,
            .credentialPending, .credentialUnknown, nil:
            nil
        }
    }

    private var throttling: Wait? {
        throttle.opening.map {
            Wait(.throttled, reason: Self.throttled, since: $0.began, latest: $0.latest, until: $0.until)
        }
    }

    private static let throttled = "most of its answers ask for fewer pushes"

    /// Nothing is worth remembering while the lane is not used.
    package func isCalm(_ now: MonotonicInstant) -> Bool {
        block == nil && refusal == nil && throttle.isCalm && !isProven(now)
            && routeWaits.allSatisfy { $0.wait.until == nil } && reported.stop == nil && reported.routes.isEmpty
    }

    /// Drops what was found when routes were resolved: no route uses the lane. Its end is reported like any other.
    package mutating func leaveUnused() {
        missing = nil
        routeWaits.removeAll { $0.wait.cause == .topicMissing }
    }

    /// Time changes nothing, and nothing is to be reported: the case of most lanes, asked at every event.
    package var isQuiet: Bool {
        stop == nil && throttle.isCalm && routeWaits.isEmpty && reported.stop == nil && reported.throttling == nil
            && reported.routes.isEmpty
    }

    package var wakeAt: MonotonicInstant? {
        guard let topicEnds = routeWaits.lazy.compactMap(\.wait.until).min() else { return throttle.wakeAt }
        return throttle.wakeAt.map { min($0, topicEnds) } ?? topicEnds
    }
}

extension LaneHealth {
    package mutating func pass(_ now: MonotonicInstant) {
        if !routeWaits.isEmpty { routeWaits.removeAll { $0.wait.until.map { $0 <= now } ?? false } }
        throttle.pass(now)
    }

    /// Returns how many of these pushes are handed to the lane now. Their lease was asked for a while ago: none is if
    /// the breaker opened since. What another cause stops is handed back by the transport.
    package mutating func admit(
        _ wanted: Int, _ urgency: MessageUrgency, leasedAt: MonotonicInstant, _ now: MonotonicInstant
    ) -> Int {
        guard throttle.phase != .closed else { return wanted }
        let room = throttle.room(isUrgent: urgency == .transactional)
        let count = leasedAt < throttle.since ? 0 : min(wanted, room)
        throttle.admitted(count, now)
        return count
    }

    package mutating func returned(_ count: Int, leasedAt: MonotonicInstant) {
        throttle.returned(count, leasedAt: leasedAt)
    }

    /// Records answers that were read together. Returns true if this opens the breaker: pushes without a stream are
    /// taken back.
    package mutating func record(
        _ answers: LaneAnswers, of message: MessageID, leasedAt: MonotonicInstant, _ now: MonotonicInstant,
        entropy: UInt64
    ) -> Bool { throttle.record(answers, of: message, leasedAt: leasedAt, now, entropy: entropy) != nil }

    /// Records one delivery of answers, for what they say about the credential.
    package mutating func noteProof(accepted: Int, refused: Int, _ now: MonotonicInstant) {
        if accepted > 0 { (provenAt, refusedSince) = (now, 0) } else { refusedSince += refused }
    }

    /// The changes that people are to be told, each once. A half-open breaker is not closed yet.
    package mutating func takeReports() -> [Action] {
        let now = (stop: stop, throttling: throttling)
        var reports: [Action] = []
        if routeWaits != reported.routes {
            reported.routes = routeWaits
            reports.append(.reportRoutes)
        }
        guard now.stop != reported.stop || now.throttling != reported.throttling else { return reports }
        let before = reported
        if Self.isNews(now.stop, after: before.stop) {
            reported.stop = now.stop
            reports.append(.report(now.stop, before: before.stop))
        }
        if Self.isNews(now.throttling, after: before.throttling) {
            reported.throttling = now.throttling
            reports.append(.report(now.throttling, before: before.throttling))
        }
        return reports
    }

    private static func isNews(_ wait: Wait?, after before: Wait?) -> Bool {
        guard let wait, let before else { return (wait == nil) != (before == nil) }
        return wait.isNews(after: before)
    }
}
