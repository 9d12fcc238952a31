import JSON
import TriggerRules

/// Updates of items, in the bodies of `POST .../items/{item}/updates` and `POST .../updates`.
package enum ItemUpdateRequest {
    /// A line of a producer's stream.
    package struct Line: Equatable, Sendable {
        /// The producer's own number of the line; at least 1.
        package let number: Int64
        /// The line's update, or the reason why it has none. A refused line counts as taken.
        package let update: Result<ItemUpdate, Problem>
    }

    private static let example = #"{"last_price": "2.84"}"#

    /// Reads the body of a single update: an object of fields.
    /// - Parameter item: the item's name in the path.
    package static func read(_ body: [UInt8], item: String) throws(Problem) -> ItemUpdate {
        let value = try EnvelopeReader.value(body)
        do throws(ItemNameFault) { try ItemName.check(item) } catch { throw Problem(error, of: "an item", at: nil) }
        return ItemUpdate(item: item, fields: try fields(value, at: .root))
    }

    /// Reads a line `{"line": 1, "item": "item1", "fields": {"last_price": "2.84"}}`.
    ///
    /// Throws if the line's number can't be read: then nobody knows which line it is.
    package static func readLine(_ bytes: [UInt8]) throws(Problem) -> Line {
        var reader = try EnvelopeReader(body: bytes)
        let value = try reader.required("line", "the number of the line, which rises from line to line")
        guard value.number != nil else { throw .wrongType(value, "a whole number", at: .root / "line") }
        guard let number = value.integer, number > 0 else {
            throw Problem(
                .invalidValue, "This must be a whole number from 1 to \(Int64.max).", at: .root / "line")
        }
        do throws(Problem) { return Line(number: number, update: .success(try update(&reader))) } catch {
            return Line(number: number, update: .failure(error))
        }
    }

    private static func update(_ reader: inout EnvelopeReader) throws(Problem) -> ItemUpdate {
        let item = try reader.required("item", "the name of the item").anyString(at: .root / "item")
        do throws(ItemNameFault) { try ItemName.check(item) } catch {
            throw Problem(error, of: "an item", at: .root / "item")
        }
        let value = try reader.required("fields", "an object of fields, such as \(example)")
        let fields = try fields(value, at: .root / "fields")
        try reader.end()
        return ItemUpdate(item: item, fields: fields)
    }

    private static func fields(_ value: JSONValue, at pointer: JSONPointer) throws(Problem) -> UpdateFields {
        let object = try value.members(at: pointer, like: example)
        do throws(UpdateFault) { return try UpdateFields(object) } catch { throw Problem(error, at: pointer) }
    }
}
