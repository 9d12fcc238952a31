import Basis

/// A text that an app tells about a device or its user.
///
/// A new one is a case here, a column, and a member in docs/openapi.yaml. All else derives from the declaration.
package enum ProfileField: Int, Hashable, Sendable, CaseIterable {
    case user
    case locale
    case timeZone
    case appVersion

    package enum Form: Sendable {
        /// Any characters but controls, as in names given by people.
        case text
        /// The same, and no name that a URL can't contain: the user is erased by a path with the name.
        case textInPaths
        /// A locale in any of the forms that devices report.
        case locale
        /// A name as `TimeZoneName` allows.
        case timeZoneName
    }

    private var declaration: (name: String, column: String, bytesMax: Int, form: Form) {
        switch self {
        case .user: ("user", "user_id", 256, .textInPaths)
        case .locale: ("locale", "locale", 64, .locale)
        case .timeZone: ("time_zone", "time_zone", TimeZoneName.bytesMax, .timeZoneName)
        case .appVersion: ("app_version", "app_version", 64, .text)
        }
    }

    /// The name in requests, answers, filters and templates.
    package var name: String { declaration.name }
    /// The column of `registrations`.
    package var column: String { declaration.column }
    /// The limit in UTF-8 bytes. The database has the same.
    package var bytesMax: Int { declaration.bytesMax }
    package var form: Form { declaration.form }
}

/// The texts, tags and attributes that an app told about a device and its user. Profiles are equal if their bytes are.
package struct RegistrationProfile: Equatable, Sendable {
    /// In the order of `ProfileField.allCases`; nil: unknown.
    private var texts: [String?]
    package var tags: [String]
    /// A JSON object, as bytes.
    package var attributes: [UInt8]

    private static let noTexts: [String?] = ProfileField.allCases.map { _ in nil }
    private static let noAttributes = Array("{}".utf8)

    package init(
        _ texts: KeyValuePairs<ProfileField, String> = KeyValuePairs(), tags: [String] = [], attributes: [UInt8]? = nil
    ) {
        (self.texts, self.tags, self.attributes) = (Self.noTexts, tags, attributes ?? Self.noAttributes)
        for (field, text) in texts { self[field] = text }
    }

    package subscript(field: ProfileField) -> String? {
        get { texts[field.rawValue] }
        set { texts[field.rawValue] = newValue }
    }

    /// Returns the profile after a change. Its attributes stay: only the database knows when two are equal.
    package func changed(by change: ProfileChange) -> RegistrationProfile {
        var profile = self
        for field in ProfileField.allCases where change[field] != .keep {
            profile[field] = change[field].applied(to: self[field])
        }
        profile.tags = change.tags.applied(to: tags) ?? []
        return profile
    }

    package static func == (one: RegistrationProfile, other: RegistrationProfile) -> Bool {
        one.attributes == other.attributes && one.tags.elementsEqual(other.tags) { $0.hasSameBytes(as: $1) }
            && one.texts.elementsEqual(other.texts) { text, other in
                guard let text, let other else { return text == nil && other == nil }
                return text.hasSameBytes(as: other)
            }
    }
}

/// A change of a profile. Absent members keep the stored value (`.keep`), null clears it (`.clear`).
package struct ProfileChange: Equatable, Sendable {
    package typealias Change<Value: Equatable & Sendable> = DeviceRegistration.Change<Value>

    /// In the order of `ProfileField.allCases`.
    private var texts: [Change<String>]
    package var tags: Change<[String]>
    /// A JSON object, as bytes. A patch merges it; a registration replaces the stored one.
    package var attributes: Change<[UInt8]>

    private static let noTexts: [Change<String>] = ProfileField.allCases.map { _ in .keep }

    package init(
        _ texts: KeyValuePairs<ProfileField, Change<String>> = KeyValuePairs(), tags: Change<[String]> = .keep,
        attributes: Change<[UInt8]> = .keep
    ) {
        (self.texts, self.tags, self.attributes) = (Self.noTexts, tags, attributes)
        for (field, text) in texts { self[field] = text }
    }

    package subscript(field: ProfileField) -> Change<String> {
        get { texts[field.rawValue] }
        set { texts[field.rawValue] = newValue }
    }
}

extension DeviceRegistration.Change {
    package func applied(to stored: Value?) -> Value? {
        switch self {
        case .keep: stored
        case .clear: nil
        case .set(let value): value
        }
    }
}
