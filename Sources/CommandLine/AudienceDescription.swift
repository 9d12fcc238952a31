import JSON

/// An audience in plain language, for the question before a message is sent.
package struct AudienceDescription: Equatable {
    /// Whether a condition describes the audience, so that the command line doesn't show the audience's size.
    package let isDescribed: Bool
    /// "all", which stands before the count.
    private let lead: String
    private let remaining: String
    private static let namesShown = 5

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
        } else if audience["all"]?.bool == true {
            (lead, remaining) = ("all", "devices" + reach)
        } else if audience["stale"]?.bool == true {
            (lead, remaining) = ("all", "stale devices" + reach)
        } else if let tags = audience["tags"]?.object {
            (lead, remaining) = ("", "devices " + Self.text(ofTags: tags) + reach)
        } else if let filter = audience["filter"]?.string {
            (lead, remaining) = ("", "devices that match \(filter)" + reach)
        } else {
            (lead, remaining) = ("", "the audience that the file describes")
        }
    }

    /// - Parameters:
    ///   - count: the number of devices, such as "1,000"; nil: not known.
    ///   - isExact: false: there may be more.
    package func sentence(count: String?, isExact: Bool = true) -> String {
        [isExact ? lead : "at least", count ?? "", remaining].filter { !$0.isEmpty }.joined(separator: " ")
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

    /// "a, b and c"; long lists are shortened.
    static func sentence(_ names: [String], _ noun: String) -> String {
        guard names.count > 1 else { return names.first ?? "nobody" }
        guard names.count > namesShown else {
            return names.dropLast().joined(separator: ", ") + " \(noun) \(names[names.count - 1])"
        }
        return names.prefix(namesShown).joined(separator: ", ") + " \(noun) \(names.count - namesShown) more"
    }
}
