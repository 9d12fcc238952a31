import Content
import JSON
import Model

/// The member `notification` of a message: its common text, its texts in languages, and how devices present it.
package struct GivenNotification: Equatable, Sendable {
    /// nil: the message has no notification.
    package var text: NotificationText?
    package var localizations: [Localization] = []
    package var presentation = NotificationPresentation()

    /// Longer ids could not fit any provider's payload beside a text.
    package static let idBytesMax = 1_024

    static func read(_ message: inout EnvelopeReader) throws(Problem) -> GivenNotification {
        guard var reader = try message.object("notification") else { return GivenNotification() }
        let localizations = try readLocalizations(&reader)
        let presentation = NotificationPresentation(
            category: try reader.string("category", bytesMax: idBytesMax),
            channel: try reader.string("channel", bytesMax: idBytesMax),
            thread: try reader.string("thread", bytesMax: idBytesMax), interruption: try reader.choice("interruption"))
        let text = try readText(&reader)
        return GivenNotification(text: text, localizations: localizations, presentation: presentation)
    }

    private static func readText(_ reader: inout EnvelopeReader) throws(Problem) -> NotificationText {
        let text = try NotificationText { (part) throws(Problem) in
            let text = try reader.anyString(part.rawValue)
            if let text, let fault = NotificationAddress.fault(of: text, as: part) {
                throw Problem(.invalidValue, fault, at: reader.pointer / part.rawValue)
            }
            return text
        }
        try reader.end()
        return text
    }

    private static func readLocalizations(_ notification: inout EnvelopeReader) throws(Problem) -> [Localization] {
        guard let value = notification.take("localizations") else { return [] }
        let pointer = notification.pointer / "localizations"
        let object = try value.members(at: pointer)
        guard object.count <= MessageLimits.localizationsMax else {
            throw Problem(
                .valueTooLong,
                "This has \(object.count) locales; the limit is \(MessageLimits.localizationsMax).", at: pointer)
        }
        var localizations: [Localization] = []
        for member in object.members {
            guard LocaleTable.isLocale(member.name) else {
                throw Problem(
                    .invalidValue,
                    "A locale is a tag such as fr, fr-CA or zh-Hant-TW, each part of 1 to 8 letters or "
                        + "digits.", at: pointer)
            }
            var reader = try EnvelopeReader(member.value, at: pointer / member.name)
            localizations.append(Localization(locale: member.name, text: try readText(&reader)))
        }
        if let duplicates = LocaleTable.duplicates(in: localizations.map(\.locale)) {
            throw Problem(
                .invalidValue, "\(localizations[duplicates.first].locale) is the same locale; name it once.",
                at: pointer / localizations[duplicates.second].locale)
        }
        return localizations
    }
}
