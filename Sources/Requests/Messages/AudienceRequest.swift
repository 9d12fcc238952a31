import Content
import Expressions
import JSON
import Model
import ProviderInterface
import Providers

/// The most receivers that one message may name. Larger audiences take several messages, or tags.
package enum AudienceLimits {
    package static let installationsMax = 10_000
    package static let usersMax = 10_000
    /// The most elements of `tokens`: they are planned in one transaction.
    package static let tokensMax = 1_000
    /// The most elements of each of `any`, `all` and `none`.
    package static let tagsMax = 32
}

enum AudienceRequest {
    private static let selections = ["all", "installations", "users", "tags", "filter", "stale", "tokens"]

    static func read(_ message: inout EnvelopeReader) throws(Problem) -> Audience {
        let named = selections.dropFirst().joined(separator: ", ")
        let meaning = "the receivers of the message: {\"all\": true}, or exactly one of \(named)"
        var reader = try EnvelopeReader(
            try message.required("audience", meaning), at: message.pointer / "audience", like: #"{"all": true}"#)
        let found = try readSelections(&reader)
        let providers = try readProviders(&reader)
        let kind: TokenKind? = try reader.choice("kind")
        try reader.end()
        guard found.count == 1 else {
            throw Problem(
                .invalidValue, "An audience names exactly one of \(selections.joined(separator: ", ")).",
                at: reader.pointer)
        }
        return Audience(found[0], providers: providers, kind: kind)
    }

    private static func readSelections(_ reader: inout EnvelopeReader) throws(Problem) -> [Audience.Selection] {
        var found: [Audience.Selection] = []
        if try readClaim("all", &reader) { found.append(.all) }
        // The cutoffs come from the app's settings: `MessageHandlers` adds them.
        if try readClaim("stale", &reader) { found.append(.stale([])) }
        if let names = try readNames("installations", &reader) { found.append(.installations(names)) }
        if let names = try readNames("users", &reader) { found.append(.users(names)) }
        if let expression = try readTags(&reader) { found.append(.tags(expression)) }
        if let text = try readFilter(&reader) { found.append(.filter(text)) }
        if let targets = try readTokens(&reader) { found.append(.tokens(targets)) }
        return found
    }

    private static func readClaim(_ name: String, _ reader: inout EnvelopeReader) throws(Problem) -> Bool {
        guard let claim = try reader.bool(name) else { return false }
        guard claim else {
            throw Problem(.invalidValue, "\(name) can only be true; leave it out otherwise.", at: reader.pointer / name)
        }
        return true
    }

    private static func readNames(_ name: String, _ reader: inout EnvelopeReader) throws(Problem) -> [String]? {
        let isUsers = name == "users"
        let countMax = isUsers ? AudienceLimits.usersMax : AudienceLimits.installationsMax
        let bytesMax = isUsers ? ProfileField.user.bytesMax : RegistrationLimits.installationBytesMax
        guard let elements = try reader.choices(name, countMax: countMax) else { return nil }
        return try texts(elements, bytesMax: bytesMax, at: reader.pointer / name)
    }

    private static func readTags(_ reader: inout EnvelopeReader) throws(Problem) -> TagExpression? {
        guard let value = reader.take("tags") else { return nil }
        var tags = try EnvelopeReader(value, at: reader.pointer / "tags", like: #"{"any": ["news"]}"#)
        // An empty `all` or `none` asks for nothing. An empty `any` would select nobody.
        let expression = TagExpression(
            any: try texts(ofTags: tags.choices("any", countMax: AudienceLimits.tagsMax), at: tags.pointer / "any"),
            all: try readTagList("all", &tags), none: try readTagList("none", &tags))
        try tags.end()
        guard !expression.onlyExcludes || !expression.none.isEmpty else {
            throw Problem(
                .invalidValue, "tags must have at least one of any, all and none. For all devices use {\"all\": true}.",
                at: tags.pointer)
        }
        return expression
    }

    private static func readTagList(_ name: String, _ tags: inout EnvelopeReader) throws(Problem) -> [String] {
        try texts(ofTags: tags.array(name, countMax: AudienceLimits.tagsMax), at: tags.pointer / name)
    }

    private static func texts(ofTags elements: [JSONValue]?, at pointer: JSONPointer) throws(Problem) -> [String] {
        try texts(elements ?? [], bytesMax: RegistrationLimits.tagBytesMax, at: pointer)
    }

    /// The text is kept as written: wherever it is parsed again, it means the same.
    private static func readFilter(_ reader: inout EnvelopeReader) throws(Problem) -> String? {
        guard let text = try reader.string("filter", bytesMax: FilterLimits.textBytesMax) else { return nil }
        do throws(FilterFault) { _ = try FilterExpression(parsing: text) } catch {
            throw Problem(error, at: reader.pointer / "filter")
        }
        return text
    }

    private static func texts(
        _ elements: [JSONValue], bytesMax: Int, at pointer: JSONPointer
    ) throws(Problem) -> [String] {
        var texts = DistinctTexts()
        for (place, element) in elements.enumerated() {
            texts.add(try element.text(bytesMax: bytesMax, at: pointer / place))
        }
        return texts.texts
    }

    private static func readProviders(_ reader: inout EnvelopeReader) throws(Problem) -> [Provider]? {
        guard let elements = try reader.choices("providers", countMax: Provider.allCases.count) else { return nil }
        let pointer = reader.pointer / "providers"
        var providers: [Provider] = []
        for (place, element) in elements.enumerated() {
            let provider = try offered(element, at: pointer / place).id
            if !providers.contains(provider) { providers.append(provider) }
        }
        return providers
    }

    /// Refuses a provider of the contract that this version does not deliver to by name.
    private static func offered(_ value: JSONValue, at pointer: JSONPointer) throws(Problem) -> any PushProvider {
        guard let id = Provider(name: try value.anyString(at: pointer)) else {
            let names = PushProviders.names.joined(separator: ", ")
            throw Problem(.invalidValue, "A provider is one of \(names).", at: pointer)
        }
        guard let provider = PushProviders.offered(id) else { throw .notOffered(at: pointer) }
        return provider
    }
}

extension AudienceRequest {
    private static func readTokens(_ reader: inout EnvelopeReader) throws(Problem) -> [InlineTarget]? {
        guard let elements = try reader.choices("tokens", countMax: AudienceLimits.tokensMax) else { return nil }
        let pointer = reader.pointer / "tokens"
        return try elements.enumerated().map { (place, element) throws(Problem) in
            try readTarget(element, at: pointer / place)
        }
    }

    private static func readTarget(_ value: JSONValue, at pointer: JSONPointer) throws(Problem) -> InlineTarget {
        var reader = try EnvelopeReader(value, at: pointer, like: #"{"provider": "fcm", "token": "..."}"#)
        let provider = try offered(
            try reader.required("provider", "\(PushProviders.names.joined(separator: " or ")): who issued the token"),
            at: pointer / "provider")
        let environment: PushEnvironment? = try reader.choice("environment")
        let topic = try reader.string("topic", bytesMax: RegistrationLimits.topicBytesMax)
        let text = try reader.required("token", "the device token as text")
        try reader.end()
        guard topic == nil || provider.hasTopics, environment.map(provider.environments.contains) ?? true else {
            throw Problem(
                .invalidValue, "\(provider.title) tokens have neither a topic nor a sandbox. Leave both out.",
                at: pointer / (topic == nil ? "environment" : "topic"))
        }
        return InlineTarget(
            provider: provider.id, environment: environment ?? .production,
            topic: try topic.map { (text) throws(Problem) in
                try TokenText.topic(text, of: provider, kind: nil, at: pointer / "topic")
            } ?? "",
            token: try TokenText.read(text, of: provider, at: pointer / "token"))
    }
}

extension EnvelopeReader {
    /// Takes a list of what a message is for. An empty list is refused: its message would reach nobody, unnoticed.
    fileprivate mutating func choices(_ name: String, countMax: Int) throws(Problem) -> [JSONValue]? {
        guard let elements = try array(name, countMax: countMax) else { return nil }
        guard !elements.isEmpty else {
            throw Problem(
                .invalidValue,
                "\(name) is an empty list: the message would reach nobody. Name at least one, or leave \(name) out.",
                at: pointer / name)
        }
        return elements
    }
}
