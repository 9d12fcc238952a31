import JSON
import Model
import Providers

/// An audience in plain language, for the question before a message is sent.
package struct AudienceDescription: Equatable {
    /// Whether a condition describes the audience, so that the command line doesn't show the audience's size.
    package let isDescribed: Bool
    /// The device lists whose union is the audience; a device may be in several. nil: no lists give it.
    package let lists: [[Filter]]?
    /// "all", which stands before the count.
    private let lead: String
    private let remaining: String
    private static let namesShown = 5

    package struct Filter: Equatable {
        package let name: String
        package let value: String
    }

    package init(of message: JSONObject) {
        let audience = message["audience"]?.object ?? JSONObject()
        func names(_ member: String) -> [String]? { audience[member]?.array?.map { $0.string ?? "?" } }
        let named = ["installations", "users", "tokens"].first { audience[$0] != nil }
        isDescribed = named == nil
        let providers = names("providers")
        let reach = providers.map { " at \(Self.sentence($0, "and"))" } ?? ""
        if let named, let names = names(named) {
            lead = ""
            remaining = Self.text(of: named, names) + reach
            lists = nil
            return
        }
        let common = [Filter(name: "kind", value: Self.kind(of: message, audience))]
        var described: [[Filter]]?
        if audience["all"]?.bool == true {
            (lead, remaining, described) = ("all", "devices" + reach, [[]])
        } else if audience["stale"]?.bool == true {
            (lead, remaining) = ("all", "stale devices" + reach)
            described = [[Filter(name: "stale", value: "true")]]
        } else if let tags = audience["tags"]?.object {
            (lead, remaining) = ("", "devices " + Self.text(ofTags: tags) + reach)
            let any = tags["any"]?.array?.compactMap(\.string) ?? []
            described = tags.members.count == 1 && !any.isEmpty ? any.map { [Filter(name: "tag", value: $0)] } : nil
        } else if let filter = audience["filter"]?.string {
            (lead, remaining) = ("", "devices that match \(filter)" + reach)
            described = [[Filter(name: "filter", value: filter)]]
        } else {
            (lead, remaining) = ("", "the audience that the file describes")
        }
        lists = described.map { lists in
            lists.flatMap { list in
                (providers.map { $0.map { [Filter(name: "provider", value: $0)] } } ?? [[]]).map { common + list + $0 }
            }
        }
    }

    package func sentence(count: String?) -> String {
        [lead, count ?? "", remaining].filter { !$0.isEmpty }.joined(separator: " ")
    }

    private static func kind(of message: JSONObject, _ audience: JSONObject) -> String {
        if let kind = audience["kind"]?.string { return kind }
        let type = message["options"]?.object?["push_type"]?.string.flatMap(PushType.init(name:)) ?? .alert
        return (PushProviders.tokenKinds(of: type).first ?? .alert).name
    }

    private static func text(of member: String, _ names: [String]) -> String {
        switch member {
        case "installations": sentence(names, "and")
        case "users": "the devices of " + sentence(names, "and")
        default: names.count == 1 ? "one token" : "\(names.count) tokens"
        }
    }

    private static func text(ofTags tags: JSONObject) -> String {
        let parts = [("any", "with the tag", "or"), ("all", "with the tag", "and"), ("none", "without the tag", "or")]
        return parts.compactMap { member, text, noun in
            let names = tags[member]?.array?.map { $0.string ?? "?" } ?? []
            return names.isEmpty ? nil : "\(text) " + sentence(names, noun)
        }.joined(separator: ", ")
    }

    private static func sentence(_ names: [String], _ noun: String) -> String {
        guard names.count > 1 else { return names.first ?? "nobody" }
        guard names.count > namesShown else {
            return names.dropLast().joined(separator: ", ") + " \(noun) \(names[names.count - 1])"
        }
        return names.prefix(namesShown).joined(separator: ", ") + " \(noun) \(names.count - namesShown) more"
    }
}

extension GatewayClient {
    /// Counting more would keep a person waiting.
    private static let countedMax = 10_000
    /// Counting stops after this many pages. Pages may be empty if few devices match.
    private static let pagesCounted = 100

    /// The audience's number of devices, such as "1,000"; nil: not known in time, or not permitted.
    func count(_ audience: AudienceDescription, devices path: String) async -> String? {
        guard let lists = audience.lists else { return nil }
        var found: Set<[String]> = []
        for filters in lists {
            let query = filters.map { (name: $0.name, value: Optional($0.value)) }
            guard
                let list = try? await self.list(
                    path, query, of: .device, limit: Self.countedMax + 1, pagesAtMost: Self.pagesCounted)
            else { return nil }
            for device in list.items where device.shown("state") != "retired" {
                found.insert([device.shown("installation"), device.shown("kind")])
            }
            guard found.count <= Self.countedMax, list.next == nil else {
                return found.isEmpty ? nil : "more than " + Self.grouped(min(found.count, Self.countedMax))
            }
        }
        return Self.grouped(found.count)
    }

    /// Groups digits: 1,000 for 1000.
    static func grouped(_ count: Int) -> String {
        var text = ""
        for (place, digit) in String(count).reversed().enumerated() {
            if place > 0, place.isMultiple(of: 3) { text.append(",") }
            text.append(digit)
        }
        return String(text.reversed())
    }
}
