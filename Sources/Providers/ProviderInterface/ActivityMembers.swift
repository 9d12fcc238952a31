import JSON

extension JSONObject {
    /// The members of `aps` that iOS hands to the app as they are. A merge patch has no meaning inside of them: a null is
    /// a value of the app's there.
    private static let ofApp = ["content-state", "attributes"]

    /// Returns the object, merged from a patch, with the app's own members as the patch has them.
    package func keepingActivityMembers(of patch: JSONObject) -> JSONObject {
        var merged = self
        for name in Self.ofApp {
            if let value = patch[name], !value.isNull { merged[name] = value }
        }
        return merged
    }
}
