/// The changes to an installation's registrations, except their tokens, as a JSON merge patch expresses them.
package struct DevicePatch: Equatable, Sendable {
    package var profile = ProfileChange()
    /// Tags removed after the profile's are applied. A tag in both lists is added.
    package var tagsRemoved: [String] = []
    package var tagsAdded: [String] = []

    package init() {}

    /// The resulting tags, each once, in their order, new ones last. Names are equal if their bytes are.
    package func patched(_ stored: [String]) -> [String] {
        var kept: [String] = []
        var known: Set<[UInt8]> = []  // lookup only
        let removed = Set(tagsRemoved.map { Array($0.utf8) })  // lookup only
        for tag in profile.tags.applied(to: stored) ?? []
        where !removed.contains(Array(tag.utf8)) && known.insert(Array(tag.utf8)).inserted { kept.append(tag) }
        for tag in tagsAdded where known.insert(Array(tag.utf8)).inserted { kept.append(tag) }
        return kept
    }
}
