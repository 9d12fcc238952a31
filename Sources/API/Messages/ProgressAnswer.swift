import Basis
import JSON
import Model

enum ProgressAnswer {
    /// The most routes that are listed. Those with the most waiting pushes come first.
    private static let waitsMax = 100

    static func write(_ progress: MessageProgress, to writer: inout JSONWriter) {
        writeCredentialWaits(progress.waits, to: &writer)
        writer.object("progress") { writer in
            writer.time("at", progress.at)
            writer.member("ended", progress.account.outcomes.reduce(0, +))
            writeProviders(progress, to: &writer)
            writeWaits(progress, to: &writer)
            writer.object("estimate") {
                $0.optionalInteger("audience", progress.estimatedAudience)
                $0.optionalTime("finished_at", progress.estimatedEnd)
                $0.rate("pushes_per_second", progress.pushesPerSecond)
            }
        }
    }

    private static func writeProviders(_ progress: MessageProgress, to writer: inout JSONWriter) {
        writer.object("providers") { writer in
            for (part, account) in zip(progress.providers, progress.account.providers) {
                writer.object(part.provider.name) { writer in
                    MessageAnswer.writeCounts(of: account, isKnown: progress.account.audience != nil, to: &writer)
                    writer.member("sending", part.sending)
                    writer.member("ready", part.ready)
                    writer.member("waiting", part.waiting)
                    MessageAnswer.writeReasons(part.reasons, to: &writer)
                    writer.member("other_reasons", part.otherReasons)
                    writer.rate("pushes_per_second", account.pending > 0 ? part.pace?.perSecond : nil)
                }
            }
        }
    }

    private static func writeWaits(_ progress: MessageProgress, to writer: inout JSONWriter) {
        let isCancelled = progress.account.state == .cancelled
        writer.name("waiting")
        writer.beginArray()
        let (acceptedAt, dueAt) = (progress.account.acceptedAt, progress.account.sendAt)
        if let hour = progress.hourAhead { writeWait(of: "hour", since: acceptedAt, until: hour, to: &writer) }
        if progress.isHeldWhole { writeWait(of: "resume", since: progress.stoppedAt, to: &writer) }
        let since = max(acceptedAt, dueAt ?? acceptedAt)
        switch progress.planWait {
        case .predecessor(let id): writeWait(of: "predecessor", since: since, reason: id.value.text, to: &writer)
        case .setAside(let until): writeWait(of: "planning", since: since, until: until, to: &writer)
        case .queued: writeWait(of: "planning", since: since, to: &writer)
        case nil: break
        }
        for wait in (progress.waits + progress.queued).prefix(waitsMax) {
            writer.object {
                $0.member("for", isCancelled && wait.cause == .onHold ? "cancellation" : wait.cause.name)
                write(wait, to: &$0)
                $0.optionalTime("since", wait.since)
                $0.optionalTime("until", wait.until)
                $0.optional("reason", wait.reason)
            }
        }
        writer.endArray()
    }

    /// Writes what keeps the whole message. The number of its pushes is not known yet.
    private static func writeWait(
        of cause: String, since: WallInstant?, until: WallInstant? = nil, reason: String? = nil,
        to writer: inout JSONWriter
    ) {
        writer.object { writer in
            writer.member("for", cause)
            for name in ["provider", "environment", "topic", "pushes"] { writer.optional(name, nil) }
            writer.optionalTime("since", since)
            writer.optionalTime("until", until)
            writer.optional("reason", reason)
        }
    }

    /// Writes the waits on which someone has to act, with the names that this member had first.
    private static func writeCredentialWaits(_ waits: [PushWait], to writer: inout JSONWriter) {
        let waits = waits.filter { $0.cause == .credential || $0.cause == .credentialRefused }
        guard !waits.isEmpty else { return }
        writer.objects("waiting", waits.prefix(waitsMax)) { writer, wait in
            write(wait, to: &writer)
            writer.member("for", wait.cause == .credential ? "credential" : "provider")
            writer.optional("reason", wait.reason)
        }
    }

    private static func write(_ wait: PushWait, to writer: inout JSONWriter) {
        writer.member("provider", wait.provider.name)
        writer.member("environment", wait.environment.name)
        writer.member("topic", wait.topic)
        writer.member("pushes", wait.pushes)
    }
}

extension MessageProgress {
    /// The time before which no push is made; nil if there is none ahead.
    fileprivate var hourAhead: WallInstant? {
        switch account.state {
        case .scheduled: account.sendAt.flatMap { $0 > at ? $0 : nil }
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

extension JSONWriter {
    /// Writes a rate to a tenth; null if it is unknown.
    fileprivate mutating func rate(_ member: String, _ perSecond: Double?) {
        name(member)
        guard let perSecond, perSecond.isFinite, perSecond < 1e12 else { return null() }
        let tenths = Int64((max(0, perSecond) * 10).rounded())
        raw(Array("\(tenths / 10).\(tenths % 10)".utf8))
    }
}
