/// The registrations that a message is for: a selection, narrowed by provider and kind.
///
/// Registrations excluded by the narrowing are not part of the audience and are not counted.
package struct Audience: Equatable, Sendable {
    package var selection: Selection
    /// The providers that may deliver; nil: all.
    package var providers: [Provider]?
    /// The token kind; nil: the one that the push type implies.
    package var kind: TokenKind?

    package init(_ selection: Selection, providers: [Provider]? = nil, kind: TokenKind? = nil) {
        (self.selection, self.providers, self.kind) = (selection, providers, kind)
    }

    package enum Selection: Equatable, Sendable {
        /// Every live registration of the app.
        case all
        /// These installations, each once. An unknown one, or one with tokens of other kinds only, is rejected. A
        /// retired one is unregistered.
        case installations([String])
        /// Every live registration of these users, each once. A user who never had one of this kind is rejected. A user
        /// with retired ones only is unregistered.
        case users([String])
        /// Every live registration whose tags match.
        case tags(TagExpression)
        /// Every live registration that matches this expression, the valid text as it was written. Relative times in it
        /// count from the message's acceptance.
        case filter(String)
        /// Every live registration last renewed before its provider's cutoff; none of a provider without one.
        case stale([StaleCutoffs])
        /// These tokens, registered or not, each once. A live registration that holds one is reached.
        case tokens([InlineTarget])
        /// Registrations that subscribe to a watch. A fan-out finds them, so no planner ever cuts such a message.
        case subscribers(WatchID)
        /// Registrations whose subscription to a watch was revoked, as long as they do not subscribe again.
        case revoked(WatchID)
        /// Registrations with a subscription to items whose pushes have this template. Its subscriptions find them, so no
        /// planner ever cuts such a message.
        case itemSubscribers(PushTemplateID)
    }

    package static let all = Audience(.all)
    package static func installations(_ names: [String]) -> Audience { Audience(.installations(names)) }
    package static func users(_ names: [String]) -> Audience { Audience(.users(names)) }
    package static func tags(_ expression: TagExpression) -> Audience { Audience(.tags(expression)) }
    package static func filter(_ text: String) -> Audience { Audience(.filter(text)) }
    package static func stale(_ times: [StaleCutoffs]) -> Audience { Audience(.stale(times)) }
    package static func tokens(_ targets: [InlineTarget]) -> Audience { Audience(.tokens(targets)) }

    package var providersAsked: [Provider]? {
        guard providers == nil, case .tokens(let targets) = selection, !targets.isEmpty else { return providers }
        return Provider.allCases.filter { provider in targets.contains { $0.provider == provider } }
    }

    /// The scope that a key needs to send to it, and to change its message.
    package var scope: APIScope { namedCount == nil ? .broadcast : .messages }

    /// The number of receivers named one by one; nil for other selections.
    package var namedCount: Int? {
        switch selection {
        case .all, .tags, .filter, .stale, .subscribers, .revoked, .itemSubscribers: nil
        case .installations(let names), .users(let names): names.count
        case .tokens(let targets): targets.count
        }
    }
}

/// The tags that a registration must have: one of `any` (if not empty), each of `all`, none of `none`.
package struct TagExpression: Equatable, Sendable {
    package var any: [String]
    package var all: [String]
    package var none: [String]

    package init(any: [String] = [], all: [String] = [], none: [String] = []) {
        (self.any, self.all, self.none) = (any, all, none)
    }

    /// Whether it requires no tag and only excludes some.
    package var onlyExcludes: Bool { any.isEmpty && all.isEmpty }
}

/// A token that a message itself names, with everything that its provider needs.
package struct InlineTarget: Hashable, Sendable {
    package let provider: Provider
    package let environment: PushEnvironment
    /// The topic; "" means the only topic of the credential.
    package let topic: String
    package let token: DeviceToken

    package init(provider: Provider, environment: PushEnvironment, topic: String, token: DeviceToken) {
        (self.provider, self.environment, self.topic, self.token) = (provider, environment, topic, token)
    }
}
