import Basis
import JSON

/// The fields that one update of an item names.
package struct UpdateFields: Equatable, Sendable {
    /// The longest update: its names and texts together, in bytes of UTF-8.
    package static let bytesMax = 16 * 1_024

    /// The field's new text; nil removes the field.
    package struct Change: Equatable, Sendable {
        package let name: String
        package let text: String?

        package static func == (left: Change, right: Change) -> Bool {
            left.name.hasSameBytes(as: right.name) && left.text.hasSameBytes(as: right.text)
        }
    }

    /// By rising bytes of the name.
    package let changes: [Change]

    /// Reads an update: `{"last_price": 2.90, "halted": false, "note": null}`.
    ///
    /// Strings, numbers and booleans count as their text: numbers as they were written, with all their zeros.
    /// - Parameter object: as the JSON reader returns it, so that no member occurs twice.
    package init(_ object: JSONObject) throws(UpdateFault) {
        guard object.count <= ItemState.fieldsMax else { throw .tooManyFields }
        var changes: [Change] = []
        var bytes = 0
        for member in object.members {
            do throws(ItemNameFault) { try ItemName.check(member.name) } catch {
                throw .fieldName(member.name, error)
            }
            let change = Change(name: member.name, text: try Self.text(member))
            changes.append(change)
            bytes += change.name.utf8.count + (change.text?.utf8.count ?? 0)
        }
        guard bytes <= Self.bytesMax else { throw .updateTooLarge(bytes: bytes) }
        self.changes = changes.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    private static func text(_ member: JSONMember) throws(UpdateFault) -> String? {
        switch member.value {
        case .null: return nil
        case .string(let text):
            guard !text.utf8.contains(0) else { throw .fieldHasNUL(member.name) }
            return text
        case .bool(let claim): return claim ? "true" : "false"
        case .number(.whole(let integer)): return String(integer)
        case .number(.literal(let text)): return text
        case .array, .object: throw .fieldValue(member.name)
        }
    }
}

/// The reason why an item can't take an update. Nothing of the update is taken.
package enum UpdateFault: Error, Equatable, Sendable {
    case fieldName(String, ItemNameFault)
    /// The field's value is an array or an object.
    case fieldValue(String)
    /// The field's text has a NUL, which PostgreSQL's texts can't hold.
    case fieldHasNUL(String)
    /// The update names more fields than an item may have.
    case tooManyFields
    case updateTooLarge(bytes: Int)
    /// The item would have too many fields.
    case itemHasTooManyFields
    case itemTooLarge(bytes: Int)
}
