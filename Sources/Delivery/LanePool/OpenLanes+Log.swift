import Basis
import LaneRules
import Lanes
import Logging
import Model
import ProviderInterface
import QueueRules

extension OpenLanes {
    /// Returns what a report says about the lane's health, and logs it if it says nothing. nil, too, for a lane that was
    /// closed meanwhile.
    package func read(_ report: LaneReport) -> LaneHealth.Event? {
        if case .closed = report.kind { return .closed }
        guard opened(report.key)?.number == report.lane else { return nil }
        switch report.kind {
        case .closed: return .closed
        case .changed(canSend: true, because: _): return .recovered
        case .changed(canSend: false, because: let event): return .blocked(event.cause, reason: event.outageReason)
        case .noted(.credentialRefused(let reason)): return .credentialRefused(reason: reason)
        case .noted(let event):
            let (text, name) = (event.text, event.isProvidersReason ? "reason" : "event")
            log.notice("\(event.sentence)", metadata: metadata(of: report.key, text.isEmpty ? [:] : [name: "\(text)"]))
            if case .credentialSuspected(let reason) = event { return .credentialSuspected(reason: reason) }
            return nil
        }
    }

    package func log(_ key: LaneKey, _ wait: LaneHealth.Wait?, before: LaneHealth.Wait?) {
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

    package func logRefusedCredential(_ key: LaneKey, reason: String) {
        log.error("The provider refuses a credential: its pushes wait", metadata: metadata(of: key, quoting: reason))
    }

    package func logRefusedTopic(_ serviceRoute: ServiceRoute, _ key: LaneKey, reason: String) {
        logPaused(serviceRoute, key, because: "the provider rejects this topic for this credential", reason)
    }

    func logMissingTopic(_ serviceRoute: ServiceRoute, _ credential: LaneCredential) {
        let cause = "the registrations name no topic, and the credential has several"
        logPaused(serviceRoute, LaneKey(credential.id), because: cause, of: credential.app)
    }

    private func logPaused(
        _ serviceRoute: ServiceRoute, _ key: LaneKey, because cause: String, _ reason: String = "",
        of app: String? = nil
    ) {
        log.error(
            "Route paused: its pushes wait",
            metadata: metadata(
                of: key, app: app, quoting: reason,
                ["route": "\(serviceRoute.route.value)", "service": "\(serviceRoute.service)", "cause": "\(cause)"]))
    }

    package func log(_ alarm: ParcelAlarm, of message: MessageID, on key: LaneKey?) {
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

    /// Adds the lane's credential and app, and the provider's reason with the status that it came with, if the status
    /// is known. A closed lane's app and answers aren't known any more.
    func metadata(
        of key: LaneKey, app: String? = nil, quoting reason: String = "", _ more: Logger.Metadata = [:]
    ) -> Logger.Metadata {
        var all = more
        if !reason.isEmpty {
            all["reason"] = "\(reason)"
            if let status = opened(key)?.quotes.status(of: reason) { all["status"] = .stringConvertible(status) }
        }
        all["credential"] = "\(key.credential.value)"
        if let app = app ?? opened(key)?.credential.app { all["app"] = "\(app)" }
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
