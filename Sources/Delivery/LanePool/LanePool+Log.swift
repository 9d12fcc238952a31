import Basis
import LaneRules
import Lanes
import Logging
import Model
import ProviderInterface
import QueueRules

extension LanePool {
    /// Returns what a report says about the lane's health, and logs it if it says nothing. nil, too, for a lane that was
    /// closed meanwhile.
    package nonisolated func read(_ report: LaneReport) -> LaneHealth.Event? {
        if case .closed = report.kind { return .closed }
        guard opened(report.key)?.number == report.lane else { return nil }
        switch report.kind {
        case .closed: return .closed
        case .changed(canSend: true, because: _): return .recovered
        case .changed(canSend: false, because: let event): return .blocked(event.cause, reason: event.outageReason)
        case .noted(.credentialRefused(let reason)): return .credentialRefused(reason: reason)
        case .noted(let event):
            let (text, name) = (event.text, event.isProvidersReason ? "reason" : "event")
            log.notice(
                "\(event.sentence)", metadata: metadata(of: report.key, text.isEmpty ? [:] : [name: "\(text)"]))
            if case .credentialSuspected(let reason) = event { return .credentialSuspected(reason: reason) }
            return nil
        }
    }

    package nonisolated func log(_ key: LaneKey, _ wait: LaneHealth.Wait?, before: LaneHealth.Wait?) {
        if wait == nil, before?.cause != .throttled, opened(key) != nil {
            log.notice("\(LaneEvent.recovered.sentence)", metadata: metadata(of: key))
        }
        // Another reason is no other outage.
        guard let wait, wait.latest != before?.latest else { return }
        switch wait.cause {
        case .unreachable, .tlsRefused:
            log.warning(
                "A lane can't send: its provider can't be reached",
                metadata: metadata(of: key, wait.reason.isEmpty ? [:] : ["event": "\(wait.reason)"]))
        case .throttled:
            let pause = RetryPolicy.wholeSeconds((wait.until ?? wait.latest) - wait.latest).components.seconds
            var fields: Logger.Metadata = ["retry_in": "\(pause)s"]
            if let quote = opened(key)?.quotes.throttling {
                fields["status"] = .stringConvertible(quote.status)
                if !quote.reason.isEmpty { fields["reason"] = "\(quote.reason)" }
            }
            log.warning("Circuit breaker opened: provider is throttling", metadata: metadata(of: key, fields))
        // A refused credential or topic has been announced. The others are logged for each route that they keep.
        case .credentialRefused, .tokenMissing, .topicRefused, .topicMissing, .credentialPending, .credentialUnusable,
            .credentialUnknown:
            break
        }
    }

    /// Has no process try the credential before the pause is over.
    package func announceRefusal(_ key: LaneKey, _ reason: String) async {
        log.error(
            "The provider refuses a credential: its pushes wait", metadata: metadata(of: key, quoting: reason))
        await credentials.block(key.credential, reason: reason, for: credentialBlock)
    }

    static let topicMissing = "the registrations name no topic, and the credential has several"

    package nonisolated func logRefusedTopic(_ serviceRoute: ServiceRoute, _ key: LaneKey, reason: String) {
        logPaused(serviceRoute, key, because: "the provider rejects this topic for this credential", reason)
    }

    nonisolated func logPaused(
        _ serviceRoute: ServiceRoute, _ key: LaneKey, because cause: String, _ reason: String = "",
        of app: String? = nil
    ) {
        log.error(
            "Route paused: its pushes wait",
            metadata: metadata(
                of: key, app: app, quoting: reason,
                ["route": "\(serviceRoute.route.value)", "service": "\(serviceRoute.service)", "cause": "\(cause)"]))
    }

    package nonisolated func log(_ alarm: ParcelAlarm, of message: MessageID, on key: LaneKey?) {
        let fields: Logger.Metadata = ["message_id": "\(message.value.text)"]
        switch alarm {
        case .poison(let registration):
            let more = fields.merging(["registration": "\(registration.value)"]) { own, _ in own }
            log.error("Push given up: it crashed ten processes", metadata: key.map { metadata(of: $0, more) } ?? more)
        case .ourFault(let reason):
            log.error(
                "Provider rejected a request as malformed",
                metadata: key.map { metadata(of: $0, quoting: reason, fields) } ?? fields)
        }
    }

    /// Whether the route was not known to wait for this. It is from now on.
    func isNews(_ cause: LaneCause, of route: ReadyRoute) -> Bool {
        if waitingRoutes.count >= Self.waitingRoutesMax { waitingRoutes = [:] }
        return waitingRoutes.updateValue(cause, forKey: route.serviceRoute) != cause
    }

    func noteWaiting(
        _ route: ReadyRoute, _ cause: LaneCause, _ credential: CredentialID? = nil, _ reason: String = ""
    ) async {
        guard isNews(cause, of: route) else { return }
        let app = await credentials.slug(of: route.app)
        var metadata: Logger.Metadata = [
            "app": "\(app)", "cause": "\(cause.rawValue)", "provider": "\(route.provider)",
            "environment": "\(route.environment)", "topic": "\(route.topic)", "service": "\(route.service)",
        ]
        if let credential {
            metadata.merge(self.metadata(of: LaneKey(credential), app: app, quoting: reason)) { own, _ in own }
        }
        log.warning("\(cause.waitSentence)", metadata: metadata)
    }

    /// Adds the lane's credential and app, and the provider's reason with the status that it came with, if the status
    /// is known. A closed lane's app and answers aren't known any more.
    nonisolated func metadata(
        of key: LaneKey, app: String? = nil, quoting reason: String = "", _ more: Logger.Metadata = [:]
    ) -> Logger.Metadata {
        var all = more
        if !reason.isEmpty {
            all["reason"] = "\(reason)"
            if let status = opened(key)?.quotes.status(of: reason) { all["status"] = .stringConvertible(status) }
        }
        all["credential"] = "\(key.credential.value)"
        if let app = app ?? opened(key)?.app { all["app"] = "\(app)" }
        return all
    }
}

/// The latest answers of a lane's provider that its log lines quote.
struct ProviderQuotes: Sendable {
    /// The last answer that asks the lane to slow down.
    var throttling: AnswerQuote?
    /// Each reason once, with its status.
    private var quotes: [AnswerQuote] = []
    /// Far more reasons than a provider documents for a refusal.
    private static let quotesMax = 32

    mutating func note(_ quote: AnswerQuote) {
        guard !quote.reason.isEmpty, !quotes.contains(quote) else { return }
        quotes.removeAll { $0.reason == quote.reason }
        if quotes.count >= Self.quotesMax { quotes.removeFirst() }
        quotes.append(quote)
    }

    /// nil: the reason came without an answer, by GOAWAY.
    func status(of reason: String) -> UInt16? { quotes.first { $0.reason == reason }?.status }
}
