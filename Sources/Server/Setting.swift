/// One setting and all that is known of it, declared once in its chapter (`SettingsCatalogue`).
///
/// `carillon settings`, the reader and the list in docs/operations.md derive from the declaration.
package struct Setting<Value: Sendable>: Sendable {
    /// The name without the prefix `CARILLON_`, which only the environment needs.
    package let name: String
    /// The default in `carillon settings`; a phrase in parentheses if there is no plain value.
    package let defaultText: String
    package let standard: Value
    /// The accepted values, if a range says it; nil: the meaning does.
    package let range: String?
    package let meaning: String
    package let isSecret: Bool
    let read: @Sendable (_ text: String) throws(SettingComplaint) -> Value

    /// Declares a setting whose default is written as an operator would write it.
    init(
        _ name: String, _ defaultText: String, _ meaning: String, range: String? = nil, isSecret: Bool = false,
        read: @escaping @Sendable (_ text: String) throws(SettingComplaint) -> Value
    ) {
        do { standard = try read(defaultText) } catch {
            preconditionFailure("the default of \(name) is invalid: it \(error.text)")
        }
        (self.name, self.defaultText, self.range) = (name, defaultText, range)
        (self.meaning, self.isSecret, self.read) = (meaning, isSecret, read)
    }

    /// Declares a setting without a default value: `phrase` says what happens if none is given.
    init<Given: Sendable>(
        _ name: String, none phrase: String, _ meaning: String, isSecret: Bool = false,
        read: @escaping @Sendable (_ text: String) throws(SettingComplaint) -> Given
    ) where Value == Given? {
        self.name = name
        defaultText = phrase
        standard = nil
        range = nil
        (self.meaning, self.isSecret) = (meaning, isSecret)
        self.read = { (text) throws(SettingComplaint) in try read(text) }
    }
}

extension Setting where Value == Int {
    init(_ name: String, _ standard: Int, in range: ClosedRange<Int>, _ meaning: String) {
        self.init(name, "\(standard)", meaning, range: SettingText.range(range)) { (text) throws(SettingComplaint) in
            try SettingText.integer(text, range)
        }
    }
}

extension Setting where Value == Duration {
    init(_ name: String, seconds: Int, in range: ClosedRange<Int>, _ meaning: String) {
        self.init(name, "\(seconds)", meaning, range: SettingText.range(range)) { (text) throws(SettingComplaint) in
            .seconds(try SettingText.integer(text, range))
        }
    }
}

/// A setting of any type, for lists of all settings.
package protocol AnySetting: Sendable {
    var name: String { get }
    var defaultText: String { get }
    var range: String? { get }
    var meaning: String { get }
    var isSecret: Bool { get }
    /// The value of the text; throws a short reason if it has none.
    func value(of text: String) throws(SettingComplaint) -> any Sendable
}

extension Setting: AnySetting {
    package func value(of text: String) throws(SettingComplaint) -> any Sendable { try read(text) }
}

extension AnySetting {
    /// The text without its secrets. In an address that can't be parsed, nobody knows where the password ends.
    func shown(_ text: String) -> String {
        guard !isSecret else { return "(hidden)" }
        guard SettingText.hasUserinfo(text) else { return text }
        return (try? value(of: text)) == nil ? "(hidden)" : SettingText.withoutUserinfo(text)
    }
}

/// The end of a sentence that begins with "CARILLON_NAME": "must be ...".
package struct SettingComplaint: Error, Equatable {
    let text: String
    init(_ text: String) { self.text = text }
}
