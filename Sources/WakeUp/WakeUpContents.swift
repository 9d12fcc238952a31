import CompiledMessages
import Content
import Delivery
import Encodings
import Model
import ProviderInterface
import Providers
import Reactor
import WakeUpRules
import WakeUpStore

/// Makes the messages of fan-outs and revocations, each for the one provider of its devices.
struct WakeUpContents: Sendable {
    /// Keeps messages in their compiled form; nil: nobody needs it.
    let delivery: DeliveryService?

    var all: FanOutContents { FanOutContents(change: { content(for: $0) }, revocation: { notice(for: $0) }) }

    private func notice(for group: RevocationGroup) -> FanOutContent? {
        PushProviders.offered(group.provider).map { provider in
            let payload = WakeUpShaping.revocation(group.reason, of: group.address)
            return content(Self.newID(), provider.wakeUp(payload.data, group.settings.presentation), provider)
        }
    }

    private static func newID() -> MessageID {
        MessageID(UUIDv7.make(at: Clocks.wallNow(), random: (Entropy.uint64(), Entropy.uint64())))
    }

    private func content(_ id: MessageID, _ message: MessageContent, _ provider: any PushProvider) -> FanOutContent {
        let stored = StoredContent.encode(message)
        if let delivery {
            let compiled = CompiledMessage(message, message: id, for: [provider.id])
            delivery.keep(compiled, contentBytes: stored.count)
        }
        return FanOutContent(
            id: id, content: stored, pushType: message.options.pushType, lifetime: message.options.lifetime)
    }

    /// Returns nil if there is nothing to report: no child has changed, or the provider is not offered any more.
    private func content(for group: FanOutGroup) -> FanOutContent? {
        guard let provider = PushProviders.offered(group.provider) else { return nil }
        let id = Self.newID()
        let presentation = group.watch.settings.presentation
        func message(_ payload: WakeUpPayload) -> MessageContent { provider.wakeUp(payload.data, presentation) }
        guard let payload = Self.payload(for: group, fits: { (try? provider.compile(message($0), message: id)) != nil })
        else { return nil }
        return content(id, message(payload), provider)
    }

    private static func payload(for group: FanOutGroup, fits: WakeUpShaping.Fits) -> WakeUpPayload? {
        let watch = group.watch
        switch group.mode {
        case .noData: return WakeUpShaping.noData(watch.address)
        case .value: return WakeUpShaping.value(watch.data, of: watch.address, fits: fits)
        case .childEvent:
            let changes = group.changes
            if let changes, changes.isEmpty { return nil }
            return WakeUpShaping.childEvent(changes, of: watch.address, fits: fits)
        }
    }
}
