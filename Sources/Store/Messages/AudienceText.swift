import Basis
import Encodings
import Expressions
import JSON
import Model

/// An audience in the form that its message stores: JSON, names sorted by their bytes and each once. So planning can go
/// on from a position, and no pair is planned twice. The kind stands in the message's row.
enum AudienceText {
    /// The longest text from which a list reads an audience: it has room for a name, and not for thousands.
    static let shortBytesMax = 600

    static func encode(_ audience: Audience) -> [UInt8] {
        JSONWriter.body(capacity: 64) { writer in
            switch audience.selection {
            case .all: writer.member("all", true)
            case .installations(let names): writer.strings("installations", eachOnce(names))
            case .users(let names): writer.strings("users", eachOnce(names))
            case .tags(let expression): writer.member(expression, keepingEmpty: true)
            case .filter(let text): writer.member("filter", text)
            case .stale(let times):
                writer.array("stale", times) { writer, time in
                    writer.beginArray()
                    writer.integer(time.provider.rawValue)
                    writer.integer(time.instant.microseconds)
                    writer.endArray()
                }
            case .tokens(let targets):
                writer.array("tokens", eachOnce(targets)) { writer, target in
                    writer.beginArray()
                    writer.integer(target.provider.rawValue)
                    writer.integer(target.environment.rawValue)
                    writer.string(target.topic)
                    writer.string(Hexadecimal.text(target.token.bytes))
                    writer.endArray()
                }
            case .subscribers(let watch): writer.member("subscribers", watch.value)
            case .revoked(let watch): writer.member("revoked", watch.value)
            case .itemSubscribers(let template): writer.member("item_subscribers", template.value)
            }
            if let providers = audience.providers { writer.array("providers", providers) { $0.integer($1.rawValue) } }
        }
    }

    /// The summary that anybody may read for as long as the message's account stands: without names and tokens.
    static func summary(of audience: Audience) -> [UInt8] {
        JSONWriter.body(capacity: 64) { writer in
            switch audience.selection {
            case .all: writer.member("all", true)
            case .installations(let names): writer.member("installations", names.count)
            case .users(let names): writer.member("users", names.count)
            case .tags(let expression): writer.member(expression, keepingEmpty: false)
            case .filter(let text):
                if let expression = try? FilterExpression(parsing: text) {
                    writer.member("filter", expression.textWithoutNames)
                } else {
                    writer.member("filter", true)
                }
            case .stale: writer.member("stale", true)
            case .tokens(let targets): writer.member("tokens", targets.count)
            case .subscribers: writer.member("subscribers", true)
            case .revoked: writer.member("revoked", true)
            case .itemSubscribers: writer.member("item_subscribers", true)
            }
            if let providers = audience.providers { writer.strings("providers", providers.map(\.name)) }
            if let kind = audience.kind { writer.member("kind", kind.name) }
        }
    }

    /// The scope that a key needs for an audience of which the summary is left.
    static func scope(ofSummary summary: JSONText) -> APIScope {
        let stored = (try? JSONReader.read(summary.bytes, limits: .trusted))?.object
        let isNamed = ["installations", "users", "tokens"].contains { stored?[$0] != nil }
        return isNamed ? .messages : .broadcast
    }

    /// Returns nil if `encode` did not write the bytes.
    static func decode(_ bytes: [UInt8]) -> Audience? {
        guard let stored = (try? JSONReader.read(bytes, limits: .trusted))?.object, let selection = selection(stored)
        else { return nil }
        guard let values = stored["providers"], values.array != nil else { return Audience(selection) }
        let providers: [Provider]? = all(values, number)
        return providers.map { Audience(selection, providers: $0) }
    }

    /// Returns the audience as it was asked for, with its kind. nil if `encode` and `summary` did not write the bytes.
    static func decode(_ bytes: [UInt8], asked summary: JSONText) -> Audience? {
        guard var audience = decode(bytes),
            let summary = (try? JSONReader.read(summary.bytes, limits: .trusted))?.object
        else { return nil }
        audience.kind = summary["kind"]?.string.flatMap(TokenKind.init(name:))
        return audience
    }

    private static func selection(_ stored: JSONObject) -> Audience.Selection? {
        if stored["all"] != nil { return .all }
        if let names = stored["installations"] { return all(names, \.string).map { .installations($0) } }
        if let names = stored["users"] { return all(names, \.string).map { .users($0) } }
        if let targets = stored["tokens"] { return all(targets, target).map { .tokens($0) } }
        if let watch = stored["subscribers"] { return watch.integer.map { .subscribers(WatchID($0)) } }
        if let watch = stored["revoked"] { return watch.integer.map { .revoked(WatchID($0)) } }
        if let template = stored["item_subscribers"] {
            return template.integer.map { .itemSubscribers(PushTemplateID($0)) }
        }
        if let filter = stored["filter"] { return filter.string.map { .filter($0) } }
        if let times = stored["stale"] { return all(times, cutoffs).map { .stale($0) } }
        guard let tags = stored["tags"]?.object, let any = Self.all(tags["any"], \.string),
            let all = Self.all(tags["all"], \.string), let none = Self.all(tags["none"], \.string)
        else { return nil }
        return .tags(TagExpression(any: any, all: all, none: none))
    }

    /// Returns nil if the value is no array, or an element can't be read.
    private static func all<Value>(_ stored: JSONValue?, _ read: (JSONValue) -> Value?) -> [Value]? {
        guard let stored = stored?.array else { return nil }
        let values = stored.compactMap(read)
        return values.count == stored.count ? values : nil
    }

    private static func number<Case: RawRepresentable>(_ stored: JSONValue) -> Case? where Case.RawValue == Int16 {
        stored.integer.flatMap(Int16.init(exactly:)).flatMap(Case.init(rawValue:))
    }

    private static func cutoffs(_ stored: JSONValue) -> StaleCutoffs? {
        guard let cells = stored.array, cells.count == 2, let provider: Provider = number(cells[0]),
            let micros = cells[1].integer
        else { return nil }
        return StaleCutoffs(provider: provider, instant: WallInstant(microseconds: micros))
    }

    private static func target(_ stored: JSONValue) -> InlineTarget? {
        guard let cells = stored.array, cells.count == 4, let provider: Provider = number(cells[0]),
            let environment: PushEnvironment = number(cells[1]), let topic = cells[2].string,
            let token = cells[3].string.flatMap({ Hexadecimal.decode($0) })
        else { return nil }
        return InlineTarget(
            provider: provider, environment: environment, topic: topic, token: DeviceToken(bytes: token))
    }

    /// The first target of each provider and token.
    private static func eachOnce(_ targets: [InlineTarget]) -> [InlineTarget] {
        var seen: Set<TokenKey> = []
        return targets.filter { seen.insert(TokenKey($0.provider, $0.token)).inserted }
    }

    /// The selection as it is stored: names sorted, each name and token once.
    static func normalized(_ selection: Audience.Selection) -> Audience.Selection {
        switch selection {
        case .installations(let names): .installations(eachOnce(names))
        case .users(let names): .users(eachOnce(names))
        case .tokens(let targets): .tokens(eachOnce(targets))
        case .all, .tags, .filter, .stale, .subscribers, .revoked, .itemSubscribers: selection
        }
    }

    /// The names by rising bytes, each once, as in the database: Swift's strings take different spellings of a letter
    /// for equal.
    fileprivate static func eachOnce(_ names: [String]) -> [String] {
        var kept: [String] = []
        kept.reserveCapacity(names.count)
        for name in names.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
            if let last = kept.last, last.utf8.elementsEqual(name.utf8) { continue }
            kept.append(name)
        }
        return kept
    }
}

extension JSONWriter {
    fileprivate mutating func member(_ tags: TagExpression, keepingEmpty: Bool) {
        object("tags") { writer in
            for (name, texts) in [("any", tags.any), ("all", tags.all), ("none", tags.none)]
            where keepingEmpty || !texts.isEmpty { writer.strings(name, AudienceText.eachOnce(texts)) }
        }
    }
}

extension Audience {
    /// The audience without names and tokens, as an object. It is what a message shows once its content is deleted.
    package var summary: JSONText { JSONText(bytes: AudienceText.summary(of: self)) }

    /// Tokens that may belong to no registration.
    var inlineTargets: [InlineTarget] { if case .tokens(let targets) = selection { targets } else { [] } }

    /// Whether some of the members may be no registrations.
    var isInline: Bool { if case .tokens = selection { true } else { false } }
}

extension InlineTarget {
    /// The route alone.
    var withoutToken: InlineTarget {
        InlineTarget(provider: provider, environment: environment, topic: topic, token: DeviceToken(bytes: []))
    }
}
