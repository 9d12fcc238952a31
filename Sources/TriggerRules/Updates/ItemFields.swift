import Basis

/// The texts of an item's fields.
package struct ItemFields: Equatable, Sendable {
    package static let countMax = 256
    /// The largest item: the names and texts of its fields together, in bytes of UTF-8.
    package static let bytesMax = 64 * 1_024

    package struct Value: Equatable, Sendable {
        package let name: String
        package let text: String

        package init(name: String, text: String) { (self.name, self.text) = (name, text) }

        package static func == (left: Value, right: Value) -> Bool {
            left.name.hasSameBytes(as: right.name) && left.text.hasSameBytes(as: right.text)
        }
    }

    /// By rising bytes of the name; each name once.
    package let values: [Value]

    /// Takes the fields of an item from the database, in any order.
    package init(_ values: [Value]) {
        self.init(sorted: values.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) })
    }

    init(sorted values: [Value]) { self.values = values }

    /// The text of the field; nil: it has no value.
    package subscript(name: String) -> String? {
        var (start, end) = (0, values.count)
        while start < end {
            let middle = start + (end - start) / 2
            if values[middle].name.utf8.lexicographicallyPrecedes(name.utf8) {
                start = middle + 1
            } else {
                end = middle
            }
        }
        guard start < values.count, values[start].name.hasSameBytes(as: name) else { return nil }
        return values[start].text
    }

    /// Returns the item's fields after an update. Fields that the update doesn't name keep their texts.
    ///
    /// Takes time in proportion to both.
    package func merged(with update: UpdateFields) throws(UpdateFault) -> ItemFields {
        var merged: [Value] = []
        var old = values[...]
        for change in update.changes {
            while let value = old.first, value.name.utf8.lexicographicallyPrecedes(change.name.utf8) {
                merged.append(value)
                old = old.dropFirst()
            }
            if let value = old.first, value.name.hasSameBytes(as: change.name) { old = old.dropFirst() }
            if let text = change.text { merged.append(Value(name: change.name, text: text)) }
        }
        merged += old
        guard merged.count <= Self.countMax else { throw .itemHasTooManyFields }
        let bytes = merged.reduce(0) { $0 + $1.name.utf8.count + $1.text.utf8.count }
        guard bytes <= Self.bytesMax else { throw .itemTooLarge(bytes: bytes) }
        return ItemFields(sorted: merged)
    }
}

/// The values of an update that a subscription sees. The raw values are the words of the API.
package enum UpdateMode: String, CaseIterable, Sendable {
    /// Fields keep their last text until an update changes or removes it.
    case merge = "MERGE"
    /// Each update stands alone: fields that it doesn't name have no value.
    case distinct = "DISTINCT"

    /// Returns the values that triggers are asked about, and that fill texts.
    /// - Parameter item: the item's fields after the update.
    package func values(of update: UpdateFields, in item: ItemFields) -> ItemFields {
        switch self {
        case .merge: item
        case .distinct: update.values
        }
    }
}
