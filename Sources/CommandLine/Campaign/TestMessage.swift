import Content
import JSON
import Model
import Requests

/// A message as a test sends it: for each receiver's own language, or in one language for all of them.
package struct TestMessage {
    package let content: JSONObject
    /// The line above the test; nil: each receiver gets the text of its own language.
    package let remark: String?

    /// - Parameters:
    ///   - locales: one test is made for each; empty: one for the receivers' own languages.
    ///   - audience: that of the test.
    package static func all(
        of message: JSONObject, in locales: [String], to audience: JSONValue
    ) throws(CommandFault) -> [TestMessage] {
        guard !locales.isEmpty else { return [TestMessage(content: message.asTest, remark: nil)] }
        var whole = message
        whole["audience"] = audience
        let request: MessageRequest
        do { request = try MessageRequest.read(JSONValue.object(whole).bytes) } catch {
            throw CommandFault(status: error.code.status, body: error.body)
        }
        return locales.map { TestMessage(message, request.contents[0], in: $0) }
    }

    private init(content: JSONObject, remark: String?) { (self.content, self.remark) = (content, remark) }

    /// Makes the text of the locale the common one, so that a phone in any language shows it.
    private init(_ message: JSONObject, _ content: MessageContent, in locale: String) {
        let choice = TextChoice(content)
        var test = message.asTest
        if let name = message["name"]?.string { test["name"] = .string(Self.named(name, "(test, \(locale))")) }
        if var notification = test["notification"]?.object {
            let text = choice.text(for: locale)
            for part in NotificationPart.allCases { notification[part.rawValue] = text?[part].map(JSONValue.string) }
            notification["localizations"] = nil
            test["notification"] = .object(notification)
        }
        self.init(content: test, remark: choice.sentence(for: locale))
    }

    /// The gateway takes names of 120 characters.
    fileprivate static func named(_ name: String, _ addition: String) -> String {
        let room = max(0, 119 - addition.unicodeScalars.count)
        return String(String.UnicodeScalarView(name.unicodeScalars.prefix(room))) + " " + addition
    }
}

/// The text of a message that a device of a given locale shows.
struct TextChoice {
    private let table: LocaleTable
    private let texts: [NotificationText?]
    private let locales: [String]

    init(_ content: MessageContent) {
        locales = content.localizations.map(\.locale)
        table = LocaleTable(locales)
        texts = LocaleTable.texts(content.notification, content.localizations)
    }

    /// The number of the text, as it is compiled: 0 is the common one.
    func variant(for locale: String) -> Int { table.variant(for: Array(locale.utf8).span) }

    func text(for locale: String) -> NotificationText? { texts[variant(for: locale)] }

    /// "In fr-CA, which gets the text in fr:".
    ///
    /// - Parameter device: the device that has this locale; nil: any device.
    func sentence(for locale: String, of device: String? = nil) -> String {
        let place = "In " + (device.map { "the language of \($0), " } ?? "") + TerminalText.clean(locale)
        let variant = variant(for: locale)
        guard variant > 0 else { return "\(place), which gets the common text:" }
        let own = locales[variant - 1]
        return own == locale ? "\(place):" : "\(place), which gets the text in \(own):"
    }
}

extension JSONObject {
    /// The same message as it is tested: at once, whatever the app's limits are for the devices of others.
    fileprivate var asTest: JSONObject {
        var test = sentNow
        var options = test["options"]?.object ?? JSONObject()
        for limit in ["ignore_quiet_hours", "ignore_daily_cap"] { options[limit] = true }
        test["options"] = .object(options)
        if let name = self["name"]?.string { test["name"] = .string(TestMessage.named(name, "(test)")) }
        return test
    }
}
