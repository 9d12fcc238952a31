import Basis
import Calendar
import JSON
import Model

/// The progress of a message, beside its account.
enum ProgressAnswer {
    /// The most routes that are listed. Those with the most waiting pushes come first.
    private static let waitsMax = 100

    /// Writes `waiting`, if someone has to act on a credential, and `progress`.
    static func write(_ progress: MessageProgress, to writer: inout JSONWriter) {
        writeCredentialWaits(progress.waits, to: &writer)
        writer.name("progress")
        writer.beginObject()
        writer.time("at", progress.at)
        writer.member("ended", progress.account.outcomes.reduce(0, +))
        writeProviders(progress, to: &writer)
        writeWaits(progress, to: &writer)
        writer.name("estimate")
        writer.beginObject()
        writer.name("audience")
        if let audience = progress.estimatedAudience { writer.integer(audience) } else { writer.null() }
        writer.optionalTime("finished_at", progress.estimatedEnd)
        writer.name("pushes_per_second")
        writer.rate(progress.pushesPerSecond)
        writer.endObject()
        writer.endObject()
    }

    private static func writeProviders(_ progress: MessageProgress, to writer: inout JSONWriter) {
        writer.name("providers")
        writer.beginObject()
        for (part, account) in zip(progress.providers, progress.account.providers) {
            writer.name(part.provider.name)
            writer.beginObject()
            writer.name("audience")
            if progress.account.audience == nil { writer.null() } else { writer.integer(account.members) }
            MessageAnswer.writeOutcomes(to: &writer, account.count)
            writer.member("pending", account.pending)
            writer.member("sending", part.sending)
            writer.member("ready", part.ready)
            writer.member("waiting", part.waiting)
            MessageAnswer.writeReasons(part.reasons, to: &writer)
            writer.member("other_reasons", part.otherReasons)
            writer.name("pushes_per_second")
            writer.rate(account.pending > 0 ? part.pace?.perSecond : nil)
            writer.endObject()
        }
        writer.endObject()
    }

    private static func writeWaits(_ progress: MessageProgress, to writer: inout JSONWriter) {
        let isCancelled = progress.account.state == .cancelled
        writer.name("waiting")
        writer.beginArray()
        if let hour = progress.hourAhead { writeWait(of: "hour", until: hour, to: &writer) }
        if progress.isHeldWhole { writeWait(of: "resume", until: nil, to: &writer) }
        for wait in progress.waits.prefix(waitsMax) {
            writer.beginObject()
            writer.member("for", isCancelled && wait.cause == .onHold ? "cancellation" : wait.cause.name)
            writer.member("provider", wait.provider.name)
            writer.member("environment", wait.environment.name)
            writer.member("topic", wait.topic)
            writer.member("pushes", wait.pushes)
            writer.optionalTime("since", wait.since)
            writer.optionalTime("until", wait.until)
            writer.optional("reason", wait.reason)
            writer.endObject()
        }
        writer.endArray()
    }

    /// Writes a wait of the whole message.
    private static func writeWait(of cause: String, until: WallInstant?, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("for", cause)
        for name in ["provider", "environment", "topic", "pushes", "since"] {
            writer.name(name)
            writer.null()
        }
        writer.optionalTime("until", until)
        writer.optional("reason", nil)
        writer.endObject()
    }

    /// Writes the waits on which someone has to act, with the names that this member had first.
    private static func writeCredentialWaits(_ waits: [PushWait], to writer: inout JSONWriter) {
        let waits = waits.filter { $0.cause == .credential || $0.cause == .credentialRefused }
        guard !waits.isEmpty else { return }
        writer.name("waiting")
        writer.beginArray()
        for wait in waits.prefix(waitsMax) {
            writer.beginObject()
            writer.member("provider", wait.provider.name)
            writer.member("environment", wait.environment.name)
            writer.member("topic", wait.topic)
            writer.member("pushes", wait.pushes)
            writer.member("for", wait.cause == .credential ? "credential" : "provider")
            writer.optional("reason", wait.reason)
            writer.endObject()
        }
        writer.endArray()
    }
}

extension MessageProgress {
    /// The time before which no push is made; nil if there is none ahead.
    fileprivate var hourAhead: WallInstant? {
        switch account.state {
        case .scheduled: account.sendAt
        case .paused where isUnplanned: account.sendAt.flatMap { $0 > at ? $0 : nil }
        default: nil
        }
    }

    /// Whether the message is paused and has no push yet that would show it.
    fileprivate var isHeldWhole: Bool { account.state == .paused && isUnplanned }

    private var isUnplanned: Bool {
        account.audience == nil && account.pending == 0 && account.outcomes.allSatisfy { $0 == 0 }
    }
}

extension PushWait.Cause {
    /// The name of the cause in the API.
    fileprivate var name: String {
        switch self {
        case .onHold: "resume"
        case .later: "later"
        case .credential: "credential"
        case .credentialRefused: "credential_refused"
        case .unreachable: "unreachable"
        case .throttled: "throttled"
        }
    }
}

extension JSONWriter {
    /// Writes a rate to a tenth; null if it is unknown.
    fileprivate mutating func rate(_ perSecond: Double?) {
        guard let perSecond, perSecond.isFinite, perSecond < 1e12 else { return null() }
        let tenths = Int64((max(0, perSecond) * 10).rounded())
        raw(Array("\(tenths / 10).\(tenths % 10)".utf8))
    }
}
