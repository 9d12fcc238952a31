import JSON
import Model

/// The texts of a notification that one provider's devices show, with the sender's overrides.
package struct ShownTexts: Sendable {
    /// The parts that the devices show.
    package let parts: [NotificationPart]
    /// The sender's override of the object that has the parts; nil: none.
    private let patch: JSONValue?
    /// The texts that the sender's override shows beside the parts, such as keys of texts that the app has.
    private let others: [String]

    package init(_ parts: [NotificationPart], patch: JSONValue?, others: [String]) {
        (self.parts, self.patch, self.others) = (parts, patch, others)
    }

    /// Returns the texts that are shown of one language. Returns nil if the override removes them all: the sender chose
    /// a push without text.
    package func texts(of text: NotificationText) -> [String]? {
        guard let patch else { return parts.compactMap { text[$0] } + others }
        var shown = others
        if let whole = patch.string {
            shown.append(whole)
        } else if let members = patch.object {
            shown += parts.compactMap { part in members[part.rawValue].map(\.string) ?? text[part] }
        }
        let isRemoved = shown.isEmpty && parts.contains { text[$0] != nil }
        return isRemoved ? nil : shown
    }
}
