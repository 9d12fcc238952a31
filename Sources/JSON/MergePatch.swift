extension JSONValue {
    /// This document with a merge patch applied: objects merge member by member, null removes, all else replaces.
    ///
    /// Source: RFC 7396. Depth is bounded by the patch's, which the reader bounds.
    package func mergePatched(with patch: JSONValue) -> JSONValue {
        guard case .object(let changes) = patch else { return patch }
        var merged = object ?? JSONObject()
        for change in changes.members {
            if case .null = change.value {
                merged[change.name] = nil
            } else {
                merged[change.name] = (merged[change.name] ?? .null).mergePatched(with: change.value)
            }
        }
        return .object(merged)
    }
}
