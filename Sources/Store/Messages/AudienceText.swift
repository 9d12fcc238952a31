import Basis
import Encodings
import Expressions
import JSON
import Model

/// An audience in the form that its message stores: JSON, names sorted by their bytes and each once. So planning can go
/// on from a position, and no pair is planned twice. The kind stands in the message's row.
enum AudienceText {
    static func encode(_ audience: Audience) -> [UInt8] {
        var writer = JSONWriter(capacity: 64)
        writer.beginObject()
        switch audience.selection {
        case .all: writer.member("all", true)
        case .installations(let names): writer.member("installations", eachOnce(names))
        case .users(let names): writer.member("users", eachOnce(names))
        case .tags(let expression):
            writer.name("tags")
            writer.beginObject()
            writer.member("any", eachOnce(expression.any))
            writer.member("all", eachOnce(expression.all))
            writer.member("none", eachOnce(expression.none))
            writer.endObject()
        case .filter(let text): writer.member("filter", text)
        case .stale(let times):
            writer.name("stale")
            writer.beginArray()
            for time in times {
                writer.beginArray()
                writer.integer(time.provider.rawValue)
                writer.integer(time.instant.microseconds)
                writer.endArray()
            }
            writer.endArray()
        case .tokens(let targets):
            writer.name("tokens")
            writer.beginArray()
            for target in eachOnce(targets) { write(target, to: &writer) }
            writer.endArray()
        }
        if let providers = audience.providers {
            writer.name("providers")
            writer.beginArray()
            for provider in providers { writer.integer(provider.rawValue) }
            writer.endArray()
        }
        writer.endObject()
        return writer.bytes
    }

    /// The summary that anybody may read for as long as the message's account stands: without names and tokens.
    static func summary(of audience: Audience) -> [UInt8] {
        var writer = JSONWriter(capacity: 64)
        writer.beginObject()
        switch audience.selection {
        case .all: writer.member("all", true)
        case .installations(let names): writer.member("installations", names.count)
        case .users(let names): writer.member("users", names.count)
        case .tags(let expression): write(expression, to: &writer)
        case .filter(let text): write(filter: text, to: &writer)
        case .stale: writer.member("stale", true)
        case .tokens(let targets): writer.member("tokens", targets.count)
        }
        if let providers = audience.providers { writer.member("providers", providers.map(\.name)) }
        if let kind = audience.kind { writer.member("kind", kind.name) }
        writer.endObject()
        return writer.bytes
    }

    private static func write(filter text: String, to writer: inout JSONWriter) {
        guard let expression = try? FilterExpression(parsing: text) else { return writer.member("filter", true) }
        writer.member("filter", expression.textWithoutNames)
    }

    private static func write(_ tags: TagExpression, to writer: inout JSONWriter) {
        writer.name("tags")
        writer.beginObject()
        for (name, texts) in [("any", tags.any), ("all", tags.all), ("none", tags.none)] where !texts.isEmpty {
            writer.member(name, eachOnce(texts))
        }
        writer.endObject()
    }

    /// Returns nil if `encode` did not write the bytes.
    static func decode(_ bytes: [UInt8]) -> Audience? {
        guard let stored = (try? JSONReader.read(bytes, limits: .trusted))?.object,
            let selection = selection(stored)
        else { return nil }
        guard let values = stored["providers"]?.array else { return Audience(selection) }
        let providers = values.compactMap { $0.integer.flatMap(Int16.init(exactly:)).flatMap(Provider.init) }
        return providers.count == values.count ? Audience(selection, providers: providers) : nil
    }

    private static func selection(_ stored: JSONObject) -> Audience.Selection? {
        if stored["all"] != nil { return .all }
        if let names = stored["installations"] { return texts(names).map { .installations($0) } }
        if let names = stored["users"] { return texts(names).map { .users($0) } }
        if let targets = stored["tokens"] { return self.targets(targets).map { .tokens($0) } }
        if let filter = stored["filter"] { return filter.string.map { .filter($0) } }
        if let times = stored["stale"] { return self.times(times).map { .stale($0) } }
        guard let tags = stored["tags"]?.object, let any = texts(tags["any"]), let all = texts(tags["all"]),
            let none = texts(tags["none"])
        else { return nil }
        return .tags(TagExpression(any: any, all: all, none: none))
    }

    private static func texts(_ stored: JSONValue?) -> [String]? {
        guard let values = stored?.array else { return nil }
        var texts: [String] = []
        texts.reserveCapacity(values.count)
        for value in values {
            guard let text = value.string else { return nil }
            texts.append(text)
        }
        return texts
    }

    private static func times(_ stored: JSONValue) -> [StaleCutoffs]? {
        guard let values = stored.array else { return nil }
        var times: [StaleCutoffs] = []
        for value in values {
            guard let cells = value.array, cells.count == 2,
                let provider = cells[0].integer.flatMap(Int16.init(exactly:)).flatMap(Provider.init),
                let micros = cells[1].integer
            else { return nil }
            times.append(StaleCutoffs(provider: provider, instant: WallInstant(microseconds: micros)))
        }
        return times
    }

    private static func write(_ target: InlineTarget, to writer: inout JSONWriter) {
        writer.beginArray()
        writer.integer(target.provider.rawValue)
        writer.integer(target.environment.rawValue)
        writer.string(target.topic)
        writer.string(Hexadecimal.text(target.token.bytes))
        writer.endArray()
    }

    private static func targets(_ stored: JSONValue) -> [InlineTarget]? {
        guard let values = stored.array else { return nil }
        var targets: [InlineTarget] = []
        targets.reserveCapacity(values.count)
        for value in values {
            guard let cells = value.array, cells.count == 4,
                let provider = cells[0].integer.flatMap(Int16.init(exactly:)).flatMap(Provider.init),
                let environment = cells[1].integer.flatMap(Int16.init(exactly:)).flatMap(PushEnvironment.init),
                let topic = cells[2].string, let token = cells[3].string.flatMap({ Hexadecimal.decode($0) })
            else { return nil }
            targets.append(
                InlineTarget(
                    provider: provider, environment: environment, topic: topic, token: DeviceToken(bytes: token)))
        }
        return targets
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
        case .all, .tags, .filter, .stale: selection
        }
    }

    /// The names by rising bytes, each once, as in the database: Swift's strings take different spellings of a letter
    /// for equal.
    private static func eachOnce(_ names: [String]) -> [String] {
        let sorted = names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        var kept: [String] = []
        kept.reserveCapacity(sorted.count)
        for name in sorted {
            if let last = kept.last, last.utf8.elementsEqual(name.utf8) { continue }
            kept.append(name)
        }
        return kept
    }
}

extension JSONWriter {
    fileprivate mutating func member(_ name: String, _ texts: [String]) {
        self.name(name)
        beginArray()
        for text in texts { string(text) }
        endArray()
    }
}

extension Audience {
    /// Whether some of the members may be no registrations.
    var isInline: Bool {
        if case .tokens = selection { true } else { false }
    }

    /// The routes of inline targets, each once.
    var namedRoutes: [InlineTarget] {
        guard case .tokens(let targets) = selection else { return [] }
        var seen: Set<InlineTarget> = []
        let nameless = targets.map {
            InlineTarget(
                provider: $0.provider, environment: $0.environment, topic: $0.topic, token: DeviceToken(bytes: []))
        }
        return nameless.filter { seen.insert($0).inserted }
    }
}
