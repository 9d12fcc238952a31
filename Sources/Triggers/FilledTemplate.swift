import CompiledMessages
import Content
import Model
import TriggerRules

/// The message of a push: a push template, filled with the texts of an item's fields.
///
/// A provider may be unable to carry it, if the texts are too long or leave nothing to show. It is a message all the
/// same: its pushes to that provider's devices are rejected, as those of a broadcast are.
package struct FilledTemplate: Equatable, Sendable {
    package let content: MessageContent
    /// The content as `StoredContent` writes it.
    package let stored: [UInt8]

    /// Fails if this version can't read the template.
    /// - Parameters:
    ///   - template: as `StoredContent` writes it, with `${field}` and `$[1]` in its texts.
    ///   - texts: the texts of the fields, in their order; nil: a field has no value.
    ///   - fields: the fields of the subscription, in its order.
    package init?(_ template: [UInt8], texts: [String?], of fields: [String]) {
        guard let decoded = try? StoredContent.decode(template, format: StoredContent.format) else { return nil }
        content = decoded.filled(with: texts, of: fields)
        stored = StoredContent.encode(content)
    }

    /// - Parameter providers: those of the push's devices.
    package func compiled(as id: MessageID, for providers: [Provider]) -> CompiledMessage {
        CompiledMessage(content, message: id, for: providers)
    }
}
