import Content
import Model
import ProviderInterface
import Providers
import QueueRules
import Synchronization

/// A message in the form of every provider that can carry it: compiled once for each, shared by all its parcels.
package struct CompiledMessage: Sendable {
    /// The message's form for one provider, or the reason why it has none.
    private enum Form: Sendable {
        case push(any CompiledPush)
        case fault(ProviderFault)
    }

    /// Forms that nobody asked for at first, each compiled when it is needed.
    private final class LateForms: Sendable {
        private let known = Mutex<[(provider: Provider, form: Form)]>([])

        /// Two callers at once may both compile the form; the first is kept.
        func form(for provider: Provider, _ compile: () -> Form) -> Form {
            if let form = known.withLock({ $0.first { $0.provider == provider }?.form }) { return form }
            let fresh = compile()
            return known.withLock { known in
                if let form = known.first(where: { $0.provider == provider })?.form { return form }
                known.append((provider, fresh))
                return fresh
            }
        }
    }

    private let providers: [any PushProvider]
    /// The forms that were compiled, in the order of the providers.
    private let forms: [(provider: Provider, form: Form)]
    private let lateForms = LateForms()
    /// The providers for which an earlier record of the same list stands in.
    private let checkedBefore: [Provider]
    package let id: MessageID
    /// The content with marks in the place of placeholders.
    private let content: MessageContent
    /// The fault of a template, for which no provider has a form; nil: it has none.
    private let templateFault: ContentFault?
    /// The message has an object for a provider of its own.
    private let hasOverrides: Bool
    package let pushType: PushType
    /// Maps a device's locale to a variant of the text.
    package let locales: LocaleTable
    package let placeholders: MessagePlaceholders
    /// The notification's texts; nil: every device sees something of them, or there are none.
    private let texts: NotificationTexts?
    /// The same for the parts that a provider's devices show, for each provider where some may see nothing.
    private let textsShown: [(provider: Provider, fault: ProviderFault?, texts: NotificationTexts)]
    /// True for a message that is built, checked, and validated by providers that offer it, but never delivered.
    package let isDryRun: Bool

    /// Compiles a message. The same content always compiles the same.
    ///
    /// Some providers may have a fault instead of a form. Acceptance refuses the message if one of them was asked
    /// (`check`). Delivery rejects the pushes to their devices: the audience was not meant for them, or the app got
    /// devices of them since.
    /// - Parameters:
    ///   - asked: the providers to compile it for; nil: all. The others follow if one of their devices is reached.
    ///   - record: an earlier record of the same list, compiled. Records differ only in what one provider reads, so
    ///     the check of the others' forms need not be repeated. Their own forms follow when they are sent.
    ///   - providers: those that this version delivers to.
    package init(
        _ content: MessageContent, message: MessageID, for asked: [Provider]? = nil,
        besides record: CompiledMessage? = nil, by providers: [any PushProvider] = PushProviders.offered
    ) {
        (id, self.providers) = (message, providers)
        pushType = content.options.pushType
        locales = LocaleTable(content.localizations.map(\.locale))
        isDryRun = content.options.isDryRun
        hasOverrides = !content.overrides.isEmpty
        let marked: MessageContent
        do throws(ContentFault) {
            (marked, placeholders) = try MessagePlaceholders.read(content) { place in
                providers.contains { $0.isHeader(place) }
            }
        } catch {
            (templateFault, placeholders, self.content) = (error, MessagePlaceholders(), content)
            (forms, checkedBefore, texts, textsShown) = ([], [], nil, [])
            return
        }
        templateFault = nil
        self.content = marked
        texts = NotificationTexts(marked, placeholders)
        textsShown = providers.compactMap { [placeholders] provider in
            let shown = provider.shownTexts(of: marked)
            guard let texts = NotificationTexts(marked, placeholders, shown: shown.texts(of:)) else { return nil }
            let fault = texts.blankPlace.map {
                ProviderFault.nothingToShow(at: $0, by: provider.title, showing: shown.parts)
            }
            return (provider.id, fault, texts)
        }
        let serving = providers.filter { $0.serves(content.options.pushType) && asked?.contains($0.id) ?? true }
        checkedBefore = serving.filter { !$0.takesRecords && record?.hasPush(for: $0.id) ?? false }.map(\.id)
        forms = serving.filter { [checkedBefore] in !checkedBefore.contains($0.id) }.map { provider in
            (provider.id, Self.form(marked, message, for: provider))
        }
    }

    private static func form(_ content: MessageContent, _ message: MessageID, for provider: any PushProvider) -> Form {
        do throws(ProviderFault) { return .push(try provider.compile(content, message: message)) } catch {
            return .fault(error)
        }
    }

    /// Returns the message's form for a provider. It is compiled here, once, if the provider was not asked, or if an
    /// earlier record stood in.
    ///
    /// Returns nil if the provider has no pushes of this type, or if the template is at fault.
    private func form(for id: Provider) -> Form? {
        if let known = forms.first(where: { $0.provider == id }) { return known.form }
        guard templateFault == nil, let provider = providers.first(where: { $0.id == id }), provider.serves(pushType)
        else { return nil }
        return lateForms.form(for: id) { Self.form(content, self.id, for: provider) }
    }

    private func hasPush(for provider: Provider) -> Bool {
        if case .push = forms.first(where: { $0.provider == provider })?.form { true } else { false }
    }

    /// Throws what the sender has to change before the message is accepted.
    ///
    /// A message with content for one provider alone (in its `apns` or `fcm` object) is valid: it has nothing to show
    /// on the other's devices, and their pushes end so. The same holds for a text that only the other's devices show.
    /// Validation refuses any other fault in any form. A notification without visible text is refused whatever stands
    /// beside it.
    /// - Parameter asked: the providers that must take the message; nil: all providers.
    package func check(asked: [Provider]? = nil) throws(ContentFault) {
        if let templateFault { throw templateFault }
        if let fault = placeholders.ownFault { throw fault }
        if let place = texts?.blankPlace { throw .blank(place) }
        var silence: ContentFault?
        var blank: ContentFault?
        var isShown = !checkedBefore.isEmpty
        for (provider, form) in forms where asked?.contains(provider) ?? true {
            switch form {
            case .push:
                let fault = textsShown.first { $0.provider == provider }?.fault
                if let fault { blank = blank ?? .provider(provider, fault) } else { isShown = true }
            case .fault(let fault):
                guard fault.code == ProviderFault.nothingToShowCode else { throw .provider(provider, fault) }
                silence = silence ?? .provider(provider, fault)
            }
        }
        if let silence, !isShown || !hasOverrides { throw silence }
        if let blank, !isShown { throw blank }
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
        if case .push(let push) = form(for: provider) { push } else { nil }
    }

    package func rejection(by provider: Provider) -> Rejection {
        var reason = templateFault?.code ?? ProviderFault.nothingToShowCode
        if case .fault(let fault) = form(for: provider) { reason = fault.code }
        return Rejection(fault: .message, reason: reason)
    }

    /// The notification's texts that may leave nothing to show on a provider's devices; a device sees nothing if one of
    /// these is blank. Empty: every device sees something, or there are no texts.
    package func texts(by provider: Provider) -> [NotificationTexts] {
        [texts].compactMap(\.self) + textsShown.filter { $0.provider == provider }.map(\.texts)
    }

    /// Whether a device sees nothing of the notification.
    /// - Parameter value: the device's value of a field; nil or empty: it has none.
    package func isBlank(in variant: Int, by provider: Provider, value: (DeviceField) -> [UInt8]?) -> Bool {
        texts(by: provider).contains { texts in
            texts.isBlank(in: variant) { field in
                guard let value = value(placeholders.fields[field]), !value.isEmpty else { return nil }
                return VisibleText.isVisible(value.span)
            }
        }
    }

    private var pushes: [any CompiledPush] {
        forms.compactMap { if case .push(let push) = $0.form { push } else { nil } }
    }

    /// The kind of token that the message's pushes go to: that of the first provider with a form, or else the usual one
    /// of its type.
    package var tokenKind: TokenKind {
        pushes.first?.tokenKind ?? PushProviders.tokenKinds(of: pushType).first ?? .alert
    }

    /// Whether a push may be sent again after its answer was lost (P4): each provider's form says so for its own.
    /// - Parameter provider: nil: it is not known, and the strictest form counts.
    package func reading(by provider: Provider?) -> MessageReading {
        let asked = provider.map { [$0] } ?? providers.map(\.id)
        return asked.allSatisfy { push(for: $0)?.mayRepeat ?? true } ? .repeatable : .unrepeatable
    }
}
