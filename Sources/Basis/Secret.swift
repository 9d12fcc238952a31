/// Something that stands in no log, whoever prints what holds it (P9): keys and passwords.
package struct Secret<Value: Sendable>: Sendable, CustomStringConvertible, CustomReflectable {
    /// For the one who needs it; what becomes of it from here on is on that one.
    package let revealed: Value

    package init(_ value: Value) { revealed = value }

    package var description: String { "(secret)" }
    package var customMirror: Mirror { Mirror(self, children: [] as [(label: String?, value: Any)]) }
}

extension Secret: Equatable where Value: Equatable {}
