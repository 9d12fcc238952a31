/// Whom a message is for: a selection, narrowed by what the selected registrations are.
///
/// What is narrowed away is no part of the audience, and counted nowhere.
package struct Audience: Equatable, Sendable {
    package var selection: Selection
    /// nil: whoever delivers.
    package var providers: [Provider]?
    /// nil: the kind that the push type asks for.
    package var kind: TokenKind?

    package init(_ selection: Selection, providers: [Provider]? = nil, kind: TokenKind? = nil) {
        self.selection = selection
        self.providers = providers
        self.kind = kind
    }

    package enum Selection: Equatable, Sendable {
        /// Every live registration of the app.
        case all
        /// These installations, each once. Unknown ones, and those with tokens of other kinds alone, are rejected;
        /// retired ones are unregistered.
        case installations([String])
        /// Every live registration of these users, each once. A user who never had one, or none of this kind, is
        /// rejected; one whose are all retired is unregistered.
        case users([String])
        /// Every live registration with such tags.
        case tags(TagExpression)
        /// Every live registration that this expression is true of: its text, as it was written and could be read. What
        /// is counted from now in it is counted from when the message was accepted.
        case filter(String)
        /// Every live registration that was last renewed before its provider's time; nobody of the other providers.
        case stale([StaleCutoffs])
        /// These tokens, registered or not, each once. Where a live registration of the app holds one, that is reached.
        case tokens([InlineTarget])
    }

    package static let all = Audience(.all)
    package static func installations(_ names: [String]) -> Audience { Audience(.installations(names)) }
    package static func users(_ names: [String]) -> Audience { Audience(.users(names)) }
    package static func tags(_ expression: TagExpression) -> Audience { Audience(.tags(expression)) }
    package static func filter(_ text: String) -> Audience { Audience(.filter(text)) }
    package static func stale(_ times: [StaleCutoffs]) -> Audience { Audience(.stale(times)) }
    package static func tokens(_ targets: [InlineTarget]) -> Audience { Audience(.tokens(targets)) }

    /// Who may have to deliver it; nil: all of them.
    package var providersAsked: [Provider]? {
        guard providers == nil, case .tokens(let targets) = selection, !targets.isEmpty else { return providers }
        return Provider.allCases.filter { provider in targets.contains { $0.provider == provider } }
    }

    /// How many were named one by one; nil where that is not how they were selected.
    package var namedCount: Int? {
        switch selection {
        case .all, .tags, .filter, .stale: nil
        case .installations(let names), .users(let names): names.count
        case .tokens(let targets): targets.count
        }
    }
}

/// Which tags a registration has to have: one of `any` (where there are any), each of `all`, none of `none`.
package struct TagExpression: Equatable, Sendable {
    package var any: [String]
    package var all: [String]
    package var none: [String]

    package init(any: [String] = [], all: [String] = [], none: [String] = []) {
        self.any = any
        self.all = all
        self.none = none
    }

    /// Asks for no tag: whoever has none of `none`.
    package var onlyExcludes: Bool { any.isEmpty && all.isEmpty }
}

/// A token that a message names itself, with everything that its provider asks for.
package struct InlineTarget: Hashable, Sendable {
    package let provider: Provider
    package let environment: PushEnvironment
    /// "" stands for the only topic of the credential.
    package let topic: String
    package let token: DeviceToken

    package init(provider: Provider, environment: PushEnvironment, topic: String, token: DeviceToken) {
        self.provider = provider
        self.environment = environment
        self.topic = topic
        self.token = token
    }
}
