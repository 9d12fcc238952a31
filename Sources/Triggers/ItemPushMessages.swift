import Delivery
import Encodings
import Logging
import Model
import Reactor
import TriggerStore

/// Makes the messages of subscriptions to items.
struct ItemPushMessages: Sendable {
    /// Keeps messages in their compiled form.
    let delivery: DeliveryService
    let log: Logger

    var contents: ItemPushContents { ItemPushContents(make: { content(for: $0) }) }

    private func content(for group: ItemPushGroup) -> ItemPushContent? {
        guard let filled = FilledTemplate(group.content, texts: group.texts, of: group.fields) else {
            log.error(
                "Push template is unreadable: its pushes are dropped",
                metadata: ["push_template": "\(group.template.value)"])
            return nil
        }
        let id = UUIDv7.make(at: Clocks.wallNow(), random: (Entropy.uint64(), Entropy.uint64()))
        let compiled = filled.compiled(as: MessageID(id), for: group.providers)
        delivery.keep(compiled, contentBytes: filled.stored.count)
        return ItemPushContent(
            id: compiled.id, content: filled.stored, pushType: filled.content.options.pushType,
            badge: filled.content.badge, lifetime: filled.content.options.lifetime,
            readsLocale: !filled.content.localizations.isEmpty)
    }
}
