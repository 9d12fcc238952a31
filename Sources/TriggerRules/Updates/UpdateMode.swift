/// The values of an item that a subscription sees. The raw values are the words of the API.
package enum UpdateMode: String, CaseIterable, Sendable {
    /// Fields keep their last text until an update changes or removes it.
    case merge = "MERGE"
    /// Each update stands alone: fields that it doesn't name have no value.
    case distinct = "DISTINCT"
}
