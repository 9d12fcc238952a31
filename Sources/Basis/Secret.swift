/// A key or password that never appears in logs, even if a value that contains it is printed (P9).
package struct Secret<Value: Sendable>: Sendable, CustomStringConvertible, CustomReflectable {
    /// The value itself. The caller must keep it secret from here on.
    package let revealed: Value

    package init(_ value: Value) { revealed = value }

    package var description: String { "(secret)" }
    package var customMirror: Mirror { Mirror(self, children: [] as [(label: String?, value: Any)]) }
}

extension Secret: Equatable where Value: Equatable {}
