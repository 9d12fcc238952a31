import Basis
import Content
import JSON
import Model

/// A push template is the content of a message whose texts are `SubscriptionText`.
extension MessageContent {
    /// The most fields in all texts of a push template, repetitions included: each copies a value.
    package static let pushFieldsMax = 256

    /// The most bytes that fields add to one text of a filled push. They are clipped there.
    ///
    /// It is above the payload limit of every provider, which are at most 5,120 bytes. So a provider that carries a
    /// clipped text rejects the push as too large, as it would reject the whole text.
    package static let pushFieldBytesMax = 6 * 1_024

    /// Checks the texts of a push template. Names of members are no texts, whatever they hold.
    /// - Parameter fields: the subscription's fields, in their order.
    package func checked(fields: [String]) throws(PushTextFault) {
        var checker = PushTextChecker(fields: fields)
        _ = try checker.replace(in: self)
    }

    /// Returns the message of one push: the texts of a push template, filled with an item's fields.
    ///
    /// A field without a value is empty. Those of one text are clipped at `pushFieldBytesMax` in total. In an address a value is percent-encoded. An id that shows nothing is left out.
    /// - Parameters:
    ///   - texts: those of the fields, in their order.
    ///   - fields: the subscription's, with which the template was checked.
    package func filled(with texts: [String?], of fields: [String]) -> MessageContent {
        var filler = PushTextFiller(fields: fields, texts: texts)
        var content = filler.replace(in: self)
        func visible(_ id: String?) -> String? { id.flatMap { VisibleText.isVisible($0) ? $0 : nil } }
        content.presentation.category = visible(content.presentation.category)
        content.presentation.channel = visible(content.presentation.channel)
        content.presentation.thread = visible(content.presentation.thread)
        // Braces in a value begin no placeholder.
        content.isTemplate = false
        return content
    }
}

/// The reason why a push template is refused, and the place.
package struct PushTextFault: Error, Equatable, Sendable {
    /// The faulty text, in the body of a message.
    package let pointer: JSONPointer
    /// The position of the faulty character in the text, from 1, in Unicode scalars.
    package let position: Int
    package let fault: SubscriptionTextFault

    package init(_ fault: SubscriptionTextFault, at pointer: JSONPointer, position: Int) {
        (self.fault, self.pointer, self.position) = (fault, pointer, position)
    }
}

private struct PushTextChecker: ContentTextReplacer {
    typealias Fault = PushTextFault

    let fields: [String]
    /// The number of fields in all texts so far.
    private var count = 0

    init(fields: [String]) { self.fields = fields }

    mutating func replacement(
        for text: String, at place: JSONPointer, as use: PlaceholderUse
    ) throws(PushTextFault) -> String {
        let parsed: SubscriptionText
        do throws(SubscriptionTextFault) { parsed = try SubscriptionText(parsing: text, fields: fields) } catch {
            throw PushTextFault(error, at: place, position: error.position(in: text))
        }
        count += parsed.fieldCount
        guard count <= MessageContent.pushFieldsMax else {
            throw PushTextFault(.invalid(.tooManyFieldsInAll, offset: 0), at: place, position: 1)
        }
        return text
    }

    func checkName(_ name: String, at place: JSONPointer) {}
}

private struct PushTextFiller: ContentTextReplacer {
    typealias Fault = Never

    let fields: [String]
    let texts: [String?]

    func replacement(for text: String, at place: JSONPointer, as use: PlaceholderUse) -> String {
        // The template was checked, so each of its texts can be parsed.
        guard let parsed = try? SubscriptionText(parsing: text, fields: fields) else { return text }
        var bytesLeft = MessageContent.pushFieldBytesMax
        return parsed.filled { name in
            guard let value = zip(fields, texts).first(where: { $0.0.hasSameBytes(as: name) })?.1 else { return nil }
            let clipped = Self.clipped(value, to: bytesLeft)
            bytesLeft -= min(bytesLeft, value.utf8.count)
            switch use {
            case .text, .id: return clipped
            case .address: return String(decoding: NotificationAddress.encoded(Array(clipped.utf8)), as: UTF8.self)
            }
        }
    }

    /// Half a character at the end becomes U+FFFD, which is no shorter.
    private static func clipped(_ value: String, to bytes: Int) -> String {
        value.utf8.count <= bytes ? value : String(decoding: value.utf8.prefix(bytes), as: UTF8.self)
    }

    func checkName(_ name: String, at place: JSONPointer) {}
}
