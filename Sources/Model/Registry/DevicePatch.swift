/// The changes to an installation's registrations, except their tokens, as a JSON merge patch expresses them.
package struct DevicePatch: Equatable, Sendable {
    package typealias Change<Value: Equatable & Sendable> = DeviceRegistration.Change<Value>

    package var user: Change<String> = .keep
    package var locale: Change<String> = .keep
    package var timeZone: Change<String> = .keep
    package var appVersion: Change<String> = .keep
    package var tags: Change<[String]> = .keep
    /// Tags removed after `tags` is applied. A tag in both lists is added.
    package var tagsRemoved: [String] = []
    package var tagsAdded: [String] = []
    /// If set: a merge patch of the attributes, a JSON object as bytes.
    package var attributes: Change<[UInt8]> = .keep

    package init() {}

    /// The resulting tags, each once, in their order, new ones last. Names are equal if their bytes are.
    package func patched(_ stored: [String]) -> [String] {
        var kept: [String] = []
        var known: Set<[UInt8]> = []  // lookup only
        let removed = Set(tagsRemoved.map { Array($0.utf8) })  // lookup only
        let base =
            switch tags {
            case .keep: stored
            case .clear: [String]()
            case .set(let tags): tags
            }
        for tag in base where !removed.contains(Array(tag.utf8)) && known.insert(Array(tag.utf8)).inserted {
            kept.append(tag)
        }
        for tag in tagsAdded where known.insert(Array(tag.utf8)).inserted { kept.append(tag) }
        return kept
    }
}
