/// One update of one item.
package struct ItemUpdate: Equatable, Sendable {
    /// A valid `ItemName`.
    package let item: String
    package let fields: UpdateFields

    package init(item: String, fields: UpdateFields) { (self.item, self.fields) = (item, fields) }
}
