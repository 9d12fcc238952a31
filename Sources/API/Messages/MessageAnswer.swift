import Calendar
import Encodings
import JSON
import Model

/// Messages as the API shows them.
package enum MessageAnswer {
    /// The answer for messages that were just accepted: one, or one for each record of a list. The client gets it, and
    /// so does every repetition of its request. Its members other than `messages` are about the first message.
    package static func accepted(_ ids: [MessageID], _ state: MessageState = .accepted) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("id", ids[0].value.text)
        if ids.count > 1 {
            writer.name("messages")
            writer.beginArray()
            for id in ids { writer.string(id.value.text) }
            writer.endArray()
        }
        writer.member("state", state.name)
        writer.name("audience")
        writer.null()
        writeOutcomes(to: &writer) { _ in 0 }
        writer.member("pending", 0)
        writer.endObject()
        return writer.bytes
    }

    /// The id of the message in an `accepted` answer; nil for other bytes.
    package static func id(inAccepted body: [UInt8]) -> String? {
        (try? JSONReader.read(body))?.object?["id"]?.string
    }

    package static func body(_ account: MessageAccount) -> [UInt8] {
        var writer = JSONWriter(capacity: 512)
        write(account, isWhole: true, to: &writer)
        return writer.bytes
    }

    /// The account of a message, and its progress.
    package static func body(_ progress: MessageProgress) -> [UInt8] {
        var writer = JSONWriter(capacity: 2_048)
        write(progress.account, isWhole: true, progress, to: &writer)
        return writer.bytes
    }

    /// A page of accounts. `next` leads to older messages.
    package static func page(_ accounts: [MessageAccount], next: String?) -> [UInt8] {
        var writer = JSONWriter(capacity: 4_096)
        writer.page(accounts, next: next) { writer, account in write(account, isWhole: false, to: &writer) }
        return writer.bytes
    }

    private static func write(
        _ account: MessageAccount, isWhole: Bool, _ progress: MessageProgress? = nil, to writer: inout JSONWriter
    ) {
        writer.beginObject()
        writer.member("id", account.id.value.text)
        writer.member("state", account.state.name)
        writer.name("audience")
        if let audience = account.audience { writer.integer(audience) } else { writer.null() }
        writeOutcomes(to: &writer, account.count)
        writer.member("pending", account.pending)
        writer.time("accepted_at", account.acceptedAt)
        if let hour = account.localHour {
            writer.member("send_at", RFC3339.formatLocal(hour.inUTC))
            writer.member("device_local_time", true)
        } else if let sendAt = account.sendAt {
            writer.time("send_at", sendAt)
        }
        writer.time("expires_at", account.expiresAt)
        writer.optionalTime("finished_at", account.finishedAt)
        if let rate = account.ratePerSecond { writer.member("rate_per_second", Int64(rate)) }
        if let form = account.form { write(form, to: &writer) }
        if isWhole {
            writeReasons(account.reasons, to: &writer)
            writeProviders(account, to: &writer)
            if let progress { ProgressAnswer.write(progress, to: &writer) }
        }
        writer.endObject()
    }

    private static func write(_ form: MessageForm, to writer: inout JSONWriter) {
        writer.member("push_type", form.pushType.name)
        writer.member("dry_run", form.isDryRun)
        writer.name("asked")
        writer.raw(form.asked.bytes)
    }

    static func writeOutcomes(to writer: inout JSONWriter, _ count: (TerminalState) -> Int64) {
        writer.name("outcomes")
        writer.beginObject()
        for state in TerminalState.allCases { writer.member(state.name, count(state)) }
        writer.endObject()
    }

    /// A provider's audience is known when the message's is.
    private static func writeProviders(_ account: MessageAccount, to writer: inout JSONWriter) {
        writer.name("providers")
        writer.beginObject()
        for part in account.providers {
            writer.name(part.provider.name)
            writer.beginObject()
            writer.name("audience")
            if account.audience == nil { writer.null() } else { writer.integer(part.members) }
            writeOutcomes(to: &writer, part.count)
            writer.member("pending", part.pending)
            writer.endObject()
        }
        writer.endObject()
    }

    static func writeReasons(_ reasons: [TerminalTotal], to writer: inout JSONWriter) {
        writer.name("reasons")
        writer.beginArray()
        for total in reasons {
            writer.beginObject()
            writer.member("outcome", total.terminalStatus.state.name)
            writer.member("reason", total.terminalStatus.reason)
            writer.member("count", total.count)
            writer.endObject()
        }
        writer.endArray()
    }
}

extension JSONWriter {
    /// `{"items": [...], "next": cursor or null}`
    mutating func page<Item>(_ items: [Item], next: String?, _ write: (inout JSONWriter, Item) -> Void) {
        beginObject()
        name("items")
        beginArray()
        for item in items { write(&self, item) }
        endArray()
        optional("next", next)
        endObject()
    }
}
