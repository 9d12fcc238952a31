import Basis

/// The header fields of one request or response: flat bytes and the ranges of each field.
///
/// Made to be reused. Fields shared by all requests of a batch are appended once and closed with `markTemplate()`. For
/// each request, `rewind()` and `replaceValue` then write what differs. The first request alone allocates.
///
/// Pseudo-header fields (`:method`, `:path`, ...) come first; names are lower case.
package struct HeaderList: Equatable, Sendable {
    package struct Field: Equatable, Sendable {
        package var name: ByteRange
        package var value: ByteRange
        /// Whether the value may enter the compression table. False for values that differ per request, because they
        /// would evict the repeating ones.
        package var isIndexed: Bool

        @inlinable package init(name: ByteRange, value: ByteRange, isIndexed: Bool) {
            (self.name, self.value, self.isIndexed) = (name, value, isIndexed)
        }
    }

    package var bytes: [UInt8] = []
    package var fields: [Field] = []
    @usableFromInline var templateBytes = 0
    @usableFromInline var templateFields = 0

    package init() {}

    /// Appends a field and returns its place, for `replaceValue`.
    @discardableResult
    @inlinable package mutating func append(_ name: StaticString, _ value: String, isIndexed: Bool = true) -> Int {
        append(String(describing: name), Array(value.utf8), isIndexed: isIndexed)
    }

    @discardableResult
    @inlinable package mutating func append(_ name: String, _ value: [UInt8], isIndexed: Bool = true) -> Int {
        append(name: Array(name.utf8), value: value, isIndexed: isIndexed)
    }

    @discardableResult
    @inlinable package mutating func append(name: [UInt8], value: [UInt8], isIndexed: Bool = true) -> Int {
        let nameRange = ByteRange(start: bytes.count, count: name.count)
        bytes.append(contentsOf: name)
        let valueRange = ByteRange(start: bytes.count, count: value.count)
        bytes.append(contentsOf: value)
        fields.append(Field(name: nameRange, value: valueRange, isIndexed: isIndexed))
        return fields.count - 1
    }

    /// Makes the current fields the template that all further requests share.
    @inlinable package mutating func markTemplate() {
        templateBytes = bytes.count
        templateFields = fields.count
    }

    /// Returns to the template. Replaced values then point at removed bytes: replace them again.
    @inlinable package mutating func rewind() {
        bytes.removeLast(bytes.count - templateBytes)
        fields.removeLast(fields.count - templateFields)
    }

    /// Gives the field at `place` the bytes that `write` appends.
    @inlinable package mutating func replaceValue(at place: Int, _ write: (inout [UInt8]) -> Void) {
        let start = bytes.count
        write(&bytes)
        fields[place].value = ByteRange(start: start, count: bytes.count - start)
    }

    /// The largest size of the list in a frame: each field as a literal, with its two lengths and its index.
    var blockBytesMax: Int { fields.reduce(0) { $0 + Int($1.name.count) + Int($1.value.count) + 12 } }

    package mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        fields.removeAll(keepingCapacity: true)
        markTemplate()
    }
}
