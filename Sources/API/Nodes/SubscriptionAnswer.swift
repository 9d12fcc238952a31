import JSON
import Model
import WakeUpRules
import WakeUpStore

enum SubscriptionAnswer {
    static func body(_ counts: WakeUpCounts) -> [UInt8] {
        JSONWriter.body {
            $0.member("subscriptions", counts.subscriptions)
            $0.member("watches", counts.watches)
            $0.member("due_watches", counts.dueWatches)
            $0.optionalTime("due_since", counts.dueSince)
            $0.member("revocations", counts.revocations)
            $0.member("notices", counts.notices)
        }
    }

    static func page(_ page: SubscriptionPage) -> [UInt8] {
        JSONWriter.page(page.subscriptions, next: page.next?.text, capacity: 16_384) { write($1, to: &$0) }
    }

    /// One subscription, and how far changes were reported to its device.
    static func body(_ subscription: SubscriptionRecord) -> [UInt8] {
        JSONWriter.body(capacity: 512) {
            write(subscription, to: &$0)
            $0.member("is_behind", subscription.isBehind)
            $0.optional("last_message", subscription.lastMessage?.value.text)
        }
    }

    private static func write(_ subscription: SubscriptionRecord, to writer: inout JSONWriter) {
        writer.member("id", String(subscription.id.value))
        writer.member("path", subscription.path.text)
        writer.member("installation", subscription.installation)
        writer.member("kind", subscription.kind.name)
        writer.member("provider", subscription.provider.name)
        writer.member("mode", subscription.mode.name)
        writer.optional("user", subscription.user)
        writer.member("state", subscription.state.rawValue)
        writer.time("expires_at", subscription.expiresAt)
        writer.time("created_at", subscription.createdAt)
    }
}
