import Basis
import Calendar
import Encodings
import JSON
import Model

package enum MessageAnswer {
    /// The answer for messages that were just accepted: one, or one for each record of a list. The client gets it, and
    /// so does every repetition of its request. Its members other than `messages` are about the first message.
    package static func accepted(
        _ ids: [MessageID], _ state: MessageState, startsAt: WallInstant? = nil, _ label: MessageLabel,
        to audience: String?
    ) -> [UInt8] {
        JSONWriter.body { writer in
            writer.member("id", ids[0].value.text)
            if ids.count > 1 { writer.strings("messages", ids.map(\.value.text)) }
            writer.member("state", state.name)
            writer.optionalTime("editable_until", startsAt)
            write(label, to: audience, &writer)
            writer.optional("audience", nil)
            writeOutcomes(to: &writer) { _ in 0 }
            writer.member("pending", 0)
        }
    }

    /// The id of the message in an `accepted` answer; nil for other bytes.
    package static func id(inAccepted body: [UInt8]) -> String? { (try? JSONReader.read(body))?.object?["id"]?.string }

    /// - Parameter request: shown with all its texts; nil: only the common text is shown, shortened.
    package static func body(_ account: MessageAccount, _ request: RequestAnswer? = nil) -> [UInt8] {
        JSONWriter.body(capacity: 512) { write(account, isWhole: true, nil, request, to: &$0) }
    }

    package static func body(_ progress: MessageProgress, _ request: RequestAnswer? = nil) -> [UInt8] {
        JSONWriter.body(capacity: 2_048) { write(progress.account, isWhole: true, progress, request, to: &$0) }
    }

    /// A page of accounts. `next` leads to older messages.
    package static func page(_ accounts: [MessageAccount], next: String?) -> [UInt8] {
        JSONWriter.page(accounts, next: next) { write($1, isWhole: false, to: &$0) }
    }

    private static func write(
        _ account: MessageAccount, isWhole: Bool, _ progress: MessageProgress? = nil, _ request: RequestAnswer? = nil,
        to writer: inout JSONWriter
    ) {
        writer.member("id", account.id.value.text)
        writer.member("state", account.state.name)
        var label = account.label
        label.texts = request?.request?.content.texts ?? label.texts
        write(label, to: account.audienceLine(request?.request?.audience), &writer)
        writer.optionalInteger("audience", account.audience)
        writeOutcomes(to: &writer, account.count)
        writer.member("pending", account.pending)
        writer.time("accepted_at", account.acceptedAt)
        if let hour = account.localHour {
            writer.member("send_at", RFC3339.formatLocal(hour.inUTC))
            writer.member("device_local_time", true)
        } else if let sendAt = account.sendAt {
            writer.time("send_at", sendAt)
        }
        writer.optionalTime("editable_until", account.editableUntil)
        writer.time("expires_at", account.expiresAt)
        writer.optionalTime("finished_at", account.finishedAt)
        if let rate = account.ratePerSecond { writer.member("rate_per_second", Int64(rate)) }
        if let form = account.form {
            writer.member("push_type", form.pushType.name)
            writer.member("dry_run", form.isDryRun)
            writer.member("asked", raw: form.asked.bytes)
        }
        if isWhole {
            writeReasons(account.reasons, to: &writer)
            writeProviders(account, to: &writer)
            if let progress { ProgressAnswer.write(progress, to: &writer) }
            request?.write(name: account.label.name, to: &writer)
        }
    }

    /// Writes the members by which people recognize a message.
    private static func write(_ label: MessageLabel, to audience: String?, _ writer: inout JSONWriter) {
        writer.optional("name", label.name)
        if let texts = label.texts {
            writer.objects("texts", texts) { writer, text in
                writer.optional("language", text.language)
                writer.optional("title", text.title)
                writer.optional("body", text.body)
            }
        } else {
            writer.optional("texts", nil)
        }
        writer.optional("audience_text", audience)
        writer.optional("author", label.author)
    }

    static func writeOutcomes(to writer: inout JSONWriter, _ count: (TerminalState) -> Int64) {
        writer.object("outcomes") {
            for state in TerminalState.allCases { $0.member(state.name, count(state)) }
        }
    }

    /// - Parameter isKnown: whether the message's audience is known, and so each provider's.
    static func writeCounts(of part: ProviderAccount, isKnown: Bool, to writer: inout JSONWriter) {
        writer.optionalInteger("audience", isKnown ? part.members : nil)
        writeOutcomes(to: &writer, part.count)
        writer.member("pending", part.pending)
    }

    private static func writeProviders(_ account: MessageAccount, to writer: inout JSONWriter) {
        writer.object("providers") { writer in
            for part in account.providers {
                writer.object(part.provider.name) { writeCounts(of: part, isKnown: account.audience != nil, to: &$0) }
            }
        }
    }

    static func writeReasons(_ reasons: [TerminalTotal], to writer: inout JSONWriter) {
        writer.objects("reasons", reasons) { writer, total in
            writer.member("outcome", total.terminalStatus.state.name)
            writer.member("reason", total.terminalStatus.reason)
            writer.member("count", total.count)
            if let detail = total.detail { writer.member("detail", detail) }
        }
    }
}

extension MessageAccount {
    /// The audience in words, with names as long as they are stored.
    fileprivate func audienceLine(_ audience: Audience?) -> String? {
        if let audience = audience ?? label.audience { return AudienceLine.text(of: audience, acceptedAt: acceptedAt) }
        return form.flatMap { AudienceLine.text(ofSummary: $0.asked) }
    }
}
