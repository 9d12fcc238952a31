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
            let message = provider.wakeUp(payload.data, group.settings.presentation)
            return content(message, Self.compiled(message, for: provider))
        }
    }

    private static func compiled(_ message: MessageContent, for provider: any PushProvider) -> CompiledMessage {
        let id = UUIDv7.make(at: Clocks.wallNow(), random: (Entropy.uint64(), Entropy.uint64()))
        return CompiledMessage(message, message: MessageID(id), for: [provider.id])
    }

    private func content(_ message: MessageContent, _ compiled: CompiledMessage) -> FanOutContent {
        let stored = StoredContent.encode(message)
        delivery?.keep(compiled, contentBytes: stored.count)
        return FanOutContent(
            id: compiled.id, content: stored, pushType: message.options.pushType, lifetime: message.options.lifetime)
    }

    /// Returns nil if there is nothing to report: no child has changed, or the provider is not offered any more.
    private func content(for group: FanOutGroup) -> FanOutContent? {
        guard let provider = PushProviders.offered(group.provider) else { return nil }
        let presentation = group.watch.settings.presentation
        // The payload that was tried last. If it fits, it is compiled already.
        var tried: (payload: WakeUpPayload, compiled: CompiledMessage)?
        let payload = Self.payload(for: group) { payload in
            let compiled = Self.compiled(provider.wakeUp(payload.data, presentation), for: provider)
            tried = (payload, compiled)
            return compiled.push(for: provider.id) != nil
        }
        guard let payload else { return nil }
        let message = provider.wakeUp(payload.data, presentation)
        if let tried, tried.payload == payload { return content(message, tried.compiled) }
        return content(message, Self.compiled(message, for: provider))
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
