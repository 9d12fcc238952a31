/// Everything that an operator decides, read once at the start: `settings.listen`, `settings.bodyBytes`.
///
/// `SettingsCatalogue` declares each setting; this type holds the given values.
@dynamicMemberLookup
package struct Settings: Sendable {
    /// Values by the setting's name; the other settings have their default.
    private var given: [String: any Sendable] = [:]
    /// The given texts that differ from the defaults, by the setting's name; a secret is "set".
    package private(set) var changes: [String: String] = [:]

    package init() {}

    /// - Parameter value: of the setting's type, as `AnySetting.value(of:)` makes it.
    /// - Parameter text: the same value as the operator wrote it.
    mutating func give(_ value: any Sendable, written text: String, to setting: any AnySetting) {
        given[setting.name] = value
        guard text != setting.defaultText else { return }
        changes[setting.name] = setting.isSecret ? "set" : setting.shown(text)
    }

    package subscript<Value>(dynamicMember place: KeyPath<PlaceSettings, Setting<Value>>) -> Value {
        self[SettingsCatalogue.places[keyPath: place]]
    }

    package subscript<Value>(dynamicMember provider: KeyPath<ProviderSettings, Setting<Value>>) -> Value {
        self[SettingsCatalogue.providers[keyPath: provider]]
    }

    package subscript<Value>(dynamicMember limit: KeyPath<LimitSettings, Setting<Value>>) -> Value {
        self[SettingsCatalogue.limits[keyPath: limit]]
    }

    package subscript<Value>(_ setting: Setting<Value>) -> Value {
        guard let value = given[setting.name] else { return setting.standard }
        guard let value = value as? Value else { preconditionFailure("\(setting.name) has a value of another type") }
        return value
    }
}
