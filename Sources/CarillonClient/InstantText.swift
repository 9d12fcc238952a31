import Foundation

/// Times as the gateway writes them: `2026-12-01T12:00:00.123Z`.
enum InstantText {
    private static let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    /// Apps need no smaller fractions, and the gateway may write six digits.
    private static let fractionDigits = 3

    static func text(_ date: Date) -> String { format.format(date) }

    /// nil if the text is no time in UTC.
    static func date(_ text: String) -> Date? {
        guard text.hasSuffix("Z") else { return nil }
        let parts = text.dropLast().split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= 2 else { return nil }
        let fraction = String((parts.count == 2 ? parts[1] : "").prefix(fractionDigits))
        let padding = String(repeating: "0", count: fractionDigits - fraction.count)
        return try? format.parse("\(parts[0]).\(fraction)\(padding)Z")
    }
}
