/// The numbers in the fields of one item after each of several updates.
package struct FieldNumbers: Sendable {
    private struct Key: Hashable {
        let mode: UpdateMode
        let conversion: NumberConversion
        /// The bytes of the field's name.
        let field: [UInt8]
    }

    private var ranges: [Key: ClosedRange<Double>] = [:]  // lookup only
    /// The fields with numbers, each once for each mode and conversion that has one.
    package private(set) var fields: [(mode: UpdateMode, name: String, conversion: NumberConversion)] = []

    init() {}

    /// - Parameter seq: the number of the update.
    mutating func add(_ field: ItemState.Field, after seq: Int64) {
        for conversion in NumberConversion.allCases {
            guard let number = field.text.flatMap(conversion.number) else { continue }
            for mode in UpdateMode.allCases where field.shownText(mode, at: seq) != nil {
                let key = Key(mode: mode, conversion: conversion, field: Array(field.name.utf8))
                if let known = ranges[key] {
                    ranges[key] = min(known.lowerBound, number)...max(known.upperBound, number)
                } else {
                    ranges[key] = number...number
                    fields.append((mode, field.name, conversion))
                }
            }
        }
    }

    /// The lowest and the highest number that a field has after any of the updates; nil: it never has one.
    ///
    /// A threshold that no number between them satisfies isn't satisfied by any of the updates. In mode MERGE the
    /// numbers of fields that the updates don't name count too: a trigger may be newer than these.
    package func range(of field: String, _ mode: UpdateMode, _ conversion: NumberConversion) -> ClosedRange<Double>? {
        ranges[Key(mode: mode, conversion: conversion, field: Array(field.utf8))]
    }
}
