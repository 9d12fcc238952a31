extension String {
    /// Whether the code units are equal. Strings that Unicode holds equivalent may differ.
    package func hasSameBytes(as other: String) -> Bool {
        // Most compared strings differ in their length already.
        guard utf8.count == other.utf8.count else { return false }
        let (own, theirs) = (utf8.span, other.utf8.span)
        for place in own.indices where own[place] != theirs[place] { return false }
        return true
    }
}

extension String? {
    /// Whether both are nil, or the code units of both are equal.
    package func hasSameBytes(as other: String?) -> Bool {
        guard let self, let other else { return self == nil && other == nil }
        return self.hasSameBytes(as: other)
    }
}
