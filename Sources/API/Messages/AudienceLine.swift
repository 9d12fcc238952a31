import Basis
import JSON
import Model
import ProviderInterface
import Providers

/// An audience in words, in one short line: "everybody with the tag news, on APNs only".
package enum AudienceLine {
    /// The longest name or filter that is given whole, in characters.
    private static let partCharactersMax = 200
    /// The most tags of a list that are given.
    private static let tagsMax = 8

    /// - Parameter acceptedAt: the time from which the cutoffs of a stale audience were counted.
    package static func text(of audience: Audience, acceptedAt: WallInstant) -> String {
        let receivers =
            switch audience.selection {
            case .all: "everybody"
            case .installations(let names): self.names(names, "installation")
            case .users(let names): self.names(names, "user")
            case .tags(let tags): everybody(with: tags)
            case .filter(let text): holding(text)
            case .stale(let cutoffs): stale(cutoffs, acceptedAt)
            case .tokens(let targets): count(Int64(targets.count), "token")
            case .subscribers: subscribers
            case .revoked: revoked
            case .itemSubscribers: itemSubscribers
            }
        return line(receivers, audience.providers?.map(title), audience.kind?.name)
    }

    /// - Parameter asked: the audience without names, as it stays when the content is deleted.
    package static func text(ofSummary asked: JSONText) -> String? {
        guard let asked = (try? JSONReader.read(asked.bytes, limits: .trusted))?.object,
            let receivers = receivers(asked)
        else { return nil }
        let providers = asked["providers"]?.array?.compactMap(\.string).map { Provider(name: $0).map(title) ?? $0 }
        return line(receivers, providers, asked["kind"]?.string)
    }

    private static func receivers(_ asked: JSONObject) -> String? {
        if asked["all"] != nil { return "everybody" }
        for noun in ["installation", "user", "token"] {
            if let number = asked[noun + "s"]?.integer { return count(number, noun) }
        }
        if let tags = asked["tags"]?.object {
            func list(_ name: String) -> [String] { tags[name]?.array?.compactMap(\.string) ?? [] }
            return everybody(with: TagExpression(any: list("any"), all: list("all"), none: list("none")))
        }
        if let filter = asked["filter"] { return filter.string.map(holding) ?? "devices for which a filter holds" }
        if asked["stale"] != nil { return "registrations not seen for a long time" }
        if asked["subscribers"] != nil { return subscribers }
        if asked["revoked"] != nil { return revoked }
        return asked["item_subscribers"] == nil ? nil : itemSubscribers
    }

    private static let subscribers = "the subscribers of a node"
    private static let revoked = "devices whose subscription ended"
    private static let itemSubscribers = "subscribers of items"

    private static func line(_ receivers: String, _ providers: [String]?, _ kind: String?) -> String {
        let parts = [
            receivers, providers.map { "on \(list($0)) only" }, kind.map { "tokens of the kind \($0)" },
        ]
        return parts.compactMap(\.self).joined(separator: ", ")
    }

    private static func names(_ names: [String], _ noun: String) -> String {
        names.count == 1 ? "the \(noun) \(plain(names[0]))" : count(Int64(names.count), noun)
    }

    private static func count(_ number: Int64, _ noun: String) -> String {
        "\(number) \(noun)\(number == 1 ? "" : "s")"
    }

    private static func everybody(with tags: TagExpression) -> String {
        let parts = [
            tags.all.isEmpty ? nil : "with \(tagged(tags.all))",
            tags.any.isEmpty ? nil : "with \(tags.any.count == 1 ? "" : "one of ")\(tagged(tags.any))",
            tags.none.isEmpty ? nil : "without \(tagged(tags.none))",
        ]
        return "everybody " + parts.compactMap(\.self).joined(separator: ", ")
    }

    private static func tagged(_ tags: [String]) -> String {
        var shown = tags.prefix(tagsMax).map(plain)
        if tags.count > tagsMax { shown.append("\(tags.count - tagsMax) more") }
        return "the tag\(tags.count == 1 ? "" : "s") \(list(shown))"
    }

    private static func holding(_ filter: String) -> String { "devices for which \(plain(filter)) holds" }

    private static func stale(_ cutoffs: [StaleCutoffs], _ acceptedAt: WallInstant) -> String {
        let days = cutoffs.map { (cutoff) -> (provider: Provider, days: Int64) in
            let seconds = acceptedAt.secondsSince1970 - cutoff.instant.secondsSince1970
            return (cutoff.provider, (seconds + 43_200) / 86_400)
        }
        guard let first = days.first else { return "registrations not seen for a long time" }
        let areEqual = days.allSatisfy { $0.days == first.days }
        let texts = days.map { count($0.days, "day") + (areEqual ? "" : " (\(title($0.provider)))") }
        return "registrations not seen for \(areEqual ? texts[0] : list(texts))"
    }

    private static func title(_ provider: Provider) -> String {
        PushProviders.offered(provider)?.title ?? provider.name
    }

    private static func list(_ texts: [String]) -> String {
        guard let last = texts.last, texts.count > 1 else { return texts.first ?? "none" }
        return texts.dropLast().joined(separator: ", ") + " and " + last
    }

    /// The text on one line, and shortened.
    private static func plain(_ text: String) -> String {
        let isLong = text.count > partCharactersMax
        let shown = isLong ? text.prefix(partCharactersMax - 1) + "…" : text[...]
        return String(shown.map { $0.isNewline || $0.unicodeScalars.contains { $0.value < 0x20 } ? " " : $0 })
    }
}
