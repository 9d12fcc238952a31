extension JSONValue {
    /// Returns this document with a merge patch applied: objects merge, null removes, all else replaces.
    ///
    /// Takes time in proportion to the size of both. The patch's depth, which the reader bounds, bounds the recursion.
    /// Source: RFC 7396.
    package func mergePatched(with patch: JSONValue) -> JSONValue {
        guard case .object(let changes) = patch else { return patch }
        var merged = PatchedObject(object ?? JSONObject())
        for change in changes.members { merged.apply(change) }
        return .object(merged.object)
    }
}

/// An object during a merge patch. Few members are compared one by one; many are hashed.
private struct PatchedObject {
    /// The members. A removed one becomes nil, so that the others keep their places.
    private var members: [JSONMember?]
    /// The places by name; nil until there are many members.
    private var places: [[UInt8]: Int]?  // lookup only

    init(_ object: JSONObject) { members = object.members }

    var object: JSONObject { JSONObject(members.compactMap(\.self)) }

    mutating func apply(_ change: JSONMember) {
        let place = place(of: change.name)
        if case .null = change.value {
            if let place { remove(at: place) }
            return
        }
        let before = place.flatMap { members[$0]?.value } ?? .null
        let member = JSONMember(change.name, before.mergePatched(with: change.value))
        if let place {
            members[place] = member
        } else {
            places?[Array(change.name.utf8)] = members.count
            members.append(member)
        }
    }

    private mutating func remove(at place: Int) {
        if let name = members[place]?.name { places?[Array(name.utf8)] = nil }
        members[place] = nil
    }

    private mutating func place(of name: String) -> Int? {
        if let places { return places[Array(name.utf8)] }
        guard members.count >= JSONObject.fewMembersMax else {
            return members.firstIndex { $0?.name.hasSameBytes(as: name) ?? false }
        }
        var places: [[UInt8]: Int] = [:]  // lookup only
        for (place, member) in members.enumerated() {
            if let member { places[Array(member.name.utf8)] = place }
        }
        self.places = places
        return places[Array(name.utf8)]
    }
}
