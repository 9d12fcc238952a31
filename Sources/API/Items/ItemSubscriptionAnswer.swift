import Encodings
import JSON
import TriggerRules
import TriggerStore

enum ItemSubscriptionAnswer {
    static func body(_ subscription: ItemSubscription) -> [UInt8] {
        JSONWriter.body(capacity: 512) { write(subscription, to: &$0) }
    }

    static func page(_ subscriptions: [ItemSubscription], next: String?) -> [UInt8] {
        JSONWriter.page(subscriptions, next: next, capacity: 16_384) { write($1, to: &$0) }
    }

    /// The bytes of the values that may be long.
    static func bytes(of subscription: ItemSubscription) -> Int {
        let terms = subscription.terms
        let names = (terms.items + terms.fields).reduce(0) { $0 + $1.utf8.count }
        return names + (terms.trigger?.text.utf8.count ?? 0) + terms.template.given.count
    }

    /// Members that were not given are left out, unless they have a default.
    private static func write(_ subscription: ItemSubscription, to writer: inout JSONWriter) {
        let terms = subscription.terms
        writer.member("key", subscription.key.text)
        writer.member("status", subscription.status.name)
        writer.strings("items", terms.items)
        writer.strings("fields", terms.fields)
        writer.member("mode", terms.mode.rawValue)
        if let trigger = terms.trigger { writer.member("trigger", trigger.text) }
        let given = (try? JSONReader.read(terms.template.given, limits: .trusted))?.object
        for member in given?.members ?? [] { writer.member(member.name, member.value) }
        if let seconds = terms.pauseSeconds { writer.member("pause_seconds", seconds) }
        writer.member("when_paused", terms.whenPaused.rawValue)
        if let end = terms.expiresAt { writer.time("expires_at", end) }
        writer.time("created_at", subscription.createdAt)
    }
}
