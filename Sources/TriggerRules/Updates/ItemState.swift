import Basis

/// An item after its last update: the number of its updates, and its fields.
package struct ItemState: Equatable, Sendable {
    /// The most fields that have a text.
    package static let fieldsMax = 256
    /// The largest item: the names and texts of its fields together, in bytes of UTF-8.
    package static let bytesMax = 64 * 1_024
    /// The most removed fields that are remembered: as many as one update can remove. The same holds for their names,
    /// in bytes.
    private static let removedMax = fieldsMax
    private static let removedBytesMax = UpdateFields.bytesMax

    package struct Field: Equatable, Sendable {
        package let name: String
        /// nil: an update has removed the field.
        package let text: String?
        /// The number of the update that last named the field. An unchanged text and a removal count.
        package let seq: Int64

        package init(name: String, text: String?, seq: Int64) { (self.name, self.text, self.seq) = (name, text, seq) }

        package static func == (left: Field, right: Field) -> Bool {
            left.name.hasSameBytes(as: right.name) && left.text.hasSameBytes(as: right.text) && left.seq == right.seq
        }
    }

    /// The number of updates that the item has taken, and of the last one of them.
    package let seq: Int64
    /// By rising bytes of the name; each name once. Removed fields stay, so that followers hear of the removal. Those
    /// that were removed longest ago are forgotten when there are too many.
    package let fields: [Field]

    /// An item without updates.
    package static let empty = ItemState(seq: 0, sorted: [])

    /// Takes an item from the database.
    /// - Parameter fields: in any order.
    package init(seq: Int64, fields: [Field]) {
        self.init(seq: seq, sorted: fields.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) })
    }

    private init(seq: Int64, sorted fields: [Field]) { (self.seq, self.fields) = (seq, fields) }

    /// Returns the item after an update. Fields that the update doesn't name stay as they are.
    ///
    /// Takes time in proportion to both. Throws if the item would exceed its limits.
    package func updated(with update: UpdateFields) throws(UpdateFault) -> ItemState {
        let next = seq + 1
        var merged: [Field] = []
        var old = fields[...]
        for change in update.changes {
            while let field = old.first, field.name.utf8.lexicographicallyPrecedes(change.name.utf8) {
                merged.append(field)
                old = old.dropFirst()
            }
            if let field = old.first, field.name.hasSameBytes(as: change.name) { old = old.dropFirst() }
            merged.append(Field(name: change.name, text: change.text, seq: next))
        }
        merged += old
        try Self.checkLimits(of: merged)
        return ItemState(seq: next, sorted: Self.remembered(merged))
    }

    private static func checkLimits(of fields: [Field]) throws(UpdateFault) {
        var (count, bytes) = (0, 0)
        for field in fields {
            guard let text = field.text else { continue }
            count += 1
            bytes += field.name.utf8.count + text.utf8.count
        }
        guard count <= fieldsMax else { throw .itemHasTooManyFields }
        guard bytes <= bytesMax else { throw .itemTooLarge(bytes: bytes) }
    }

    /// Returns the fields without the removed ones beyond the limit. All that one update removed are forgotten at once.
    /// Those that the last update removed are always within the limit.
    private static func remembered(_ fields: [Field]) -> [Field] {
        var (count, bytes) = (0, 0)
        for field in fields.filter({ $0.text == nil }).sorted(by: { $0.seq > $1.seq }) {
            count += 1
            bytes += field.name.utf8.count
            guard count > removedMax || bytes > removedBytesMax else { continue }
            return fields.filter { $0.text != nil || $0.seq > field.seq }
        }
        return fields
    }
}

extension ItemState {
    /// nil: no update named the field, or its removal is forgotten.
    func field(_ name: String) -> Field? {
        var (start, end) = (0, fields.count)
        while start < end {
            let middle = start + (end - start) / 2
            if fields[middle].name.utf8.lexicographicallyPrecedes(name.utf8) {
                start = middle + 1
            } else {
                end = middle
            }
        }
        guard start < fields.count, fields[start].name.hasSameBytes(as: name) else { return nil }
        return fields[start]
    }

    /// The number of the last update that named one of the fields; 0: none did.
    package func lastSeq(naming fields: [String]) -> Int64 {
        fields.reduce(0) { last, name in max(last, field(name)?.seq ?? 0) }
    }

    /// The texts that a push without a trigger shows, in the order of the fields. nil: the field has no value.
    ///
    /// In mode DISTINCT they are those of the last update that named one of the fields.
    package func texts(of fields: [String], _ mode: UpdateMode) -> [String?] {
        let last = lastSeq(naming: fields)
        return fields.map { field($0)?.shownText(mode, at: last) }
    }
}

extension ItemState.Field {
    /// The field's text after an update, as a subscription of this mode sees it; nil: it has no value.
    /// - Parameter seq: the number of the update.
    func shownText(_ mode: UpdateMode, at seq: Int64) -> String? {
        switch mode {
        case .merge: text
        case .distinct: self.seq == seq ? text : nil
        }
    }
}
