import Content
import Model
import ProviderInterface
import Providers
import QueueRules

/// A message in the form of every provider that can carry it: compiled once, shared by all its parcels.
package struct CompiledMessage: Sendable {
    /// The message's form for one provider, or the reason why it has none.
    private enum Form: Sendable {
        case push(any CompiledPush)
        case fault(ProviderFault)
    }

    /// One for each provider that has pushes of the message's type, in the order of the providers.
    private let forms: [(provider: Provider, form: Form)]
    /// The fault of a template, for which no provider has a form; nil: it has none.
    private let templateFault: ContentFault?
    /// The message has an object for a provider of its own.
    private let hasOverrides: Bool
    let pushType: PushType
    /// Maps a device's locale to a variant of the text.
    package let locales: LocaleTable
    /// The placeholders that devices' own values fill.
    package let placeholders: MessagePlaceholders
    /// True for a message that is built, checked, and validated by providers that offer it, but never delivered.
    package let isDryRun: Bool

    /// Compiles a message for every provider. The same content always compiles the same.
    ///
    /// Some providers may have a fault instead of a form. Acceptance refuses the message if one of them was asked
    /// (`check`). Delivery rejects the pushes to their devices: the audience was not meant for them, or the app got
    /// devices of them since.
    package init(_ content: MessageContent, message: MessageID) {
        pushType = content.options.pushType
        locales = LocaleTable(content.localizations.map(\.locale))
        isDryRun = content.options.isDryRun
        hasOverrides = !content.overrides.isEmpty
        let marked: MessageContent
        do throws(ContentFault) {
            (marked, placeholders) = try MessagePlaceholders.read(content) { place in
                PushProviders.offered.contains { $0.isHeader(place) }
            }
        } catch {
            (templateFault, placeholders, forms) = (error, MessagePlaceholders(), [])
            return
        }
        templateFault = nil
        forms = PushProviders.offered.filter { $0.serves(content.options.pushType) }.map { provider in
            do throws(ProviderFault) {
                return (provider.id, .push(try provider.compile(marked, message: message)))
            } catch {
                return (provider.id, .fault(error))
            }
        }
    }

    /// Throws what the sender has to change before the message is accepted.
    ///
    /// A message with content for one provider alone (in its `apns` or `fcm` object) is valid: it has nothing to show
    /// on the other's devices, and their pushes end so. Validation refuses any other fault in any form.
    /// - Parameter asked: the providers that must take the message; nil: all providers.
    package func check(asked: [Provider]? = nil) throws(ContentFault) {
        if let templateFault { throw templateFault }
        var silence: ContentFault?
        var isShown = false
        for (provider, form) in forms where asked?.contains(provider) ?? true {
            switch form {
            case .push: isShown = true
            case .fault(let fault):
                guard fault.code == ProviderFault.nothingToShow else { throw .provider(provider, fault) }
                silence = silence ?? .provider(provider, fault)
            }
        }
        if let silence, !isShown || !hasOverrides { throw silence }
    }

    /// Returns the providers that must accept a message whose sender names none. They are those that the app reaches,
    /// and those for which the message has an object of its own. Returns nil, for all, if the app reaches no provider
    /// of this push type.
    package static func providersAsked(_ content: MessageContent, reached: [Provider]) -> [Provider]? {
        let serving = reached.filter { PushProviders.offered($0)?.serves(content.options.pushType) ?? false }
        guard !serving.isEmpty else { return nil }
        return Provider.allCases.filter { serving.contains($0) || content.overrides[$0] != nil }
    }

    /// Returns the message in a provider's form; nil: it has none, and `rejection` ends its pushes.
    package func push(for provider: Provider) -> (any CompiledPush)? {
        if case .push(let push) = forms.first(where: { $0.provider == provider })?.form { push } else { nil }
    }

    /// Returns the rejection that ends pushes to devices of a provider without a form.
    package func rejection(by provider: Provider) -> Rejection {
        var reason = templateFault?.code ?? ProviderFault.nothingToShow
        if case .fault(let fault) = forms.first(where: { $0.provider == provider })?.form { reason = fault.code }
        return Rejection(fault: .message, reason: reason)
    }

    private var pushes: [any CompiledPush] {
        forms.compactMap { if case .push(let push) = $0.form { push } else { nil } }
    }

    /// The kind of token that the message goes to.
    var tokenKind: TokenKind { pushes.first?.tokenKind ?? PushProviders.tokenKinds(of: pushType).first ?? .alert }

    /// Whether a push may be sent again after its answer was lost (P4).
    var reading: MessageReading { pushes.allSatisfy(\.mayRepeat) ? .repeatable : .unrepeatable }
}
