import Content
import JSON
import Model

/// The rules of each push type for a payload, beyond the shapes of its keys. Validation refuses what APNs or the device
/// would refuse, delay or silently drop.
enum APNsPayloadRules {
    private static let apsPointer = JSONPointer.root / "apns" / "aps"

    /// Refuses members of the common part that have no meaning for this type, whatever their value.
    static func checkCommonPart(_ content: MessageContent, _ row: APNsPushTypeRow) throws(ProviderFault) {
        func refuse(_ isThere: Bool, _ pointer: JSONPointer) throws(ProviderFault) {
            if isThere { throw .notForType(row.type, pointer) }
        }
        let text = JSONPointer.root / "notification"
        switch row.shows {
        case .everything: break
        case .activity:
            for part in [NotificationPart.subtitle, .image, .link] {
                try refuse(content.notification?[part] != nil, text / part.rawValue)
                for localization in content.localizations {
                    let own = text / "localizations" / localization.locale
                    try refuse(localization.text[part] != nil, own / part.rawValue)
                }
            }
            try refuse(!content.presentation.isEmpty, text)
            try refuse(content.badge != .none, .root / "badge")
        case .nothing:
            try refuse(content.notification != nil || !content.localizations.isEmpty, text)
            try refuse(content.badge != .none, .root / "badge")
            try refuse(content.sound != nil, .root / "sound")
        }
    }

    /// Checks the compiled common text. Localizations differ in no member that is checked here.
    /// `neighbours`: the members beside `aps`.
    static func check(
        aps: JSONObject, beside neighbours: JSONObject, _ content: MessageContent, _ type: PushType
    ) throws(ProviderFault) {
        switch type {
        case .alert:
            let isSeen = ["alert", "sound", "badge"].contains { aps[$0] != nil } || content.badge != .none
            guard isSeen else { throw content.localizations.isEmpty ? .nothingToShow : .noCommonText }
        case .background:
            for member in aps.members where member.name != "content-available" {
                throw .notForType(type, apsPointer / member.name)
            }
            try require(1, "content-available", in: aps)
        case .widgets, .controls:
            for name in ["alert", "badge", "sound"] where aps[name] != nil {
                throw .notForType(type, apsPointer / name)
            }
            try require(true, "content-changed", in: aps)
        case .liveActivity: try checkActivity(aps)
        case .fileProvider:
            try requireText("container-identifier", in: neighbours, type)
            if neighbours["domain"] != nil { try requireText("domain", in: neighbours, type) }
        case .mdm: try requireText("mdm", in: neighbours, type)
        // Only the app reads these payloads.
        case .voip, .complication, .pushToTalk, .location: break
        }
    }

    /// Source: "Starting and updating Live Activities with ActivityKit push notifications".
    private static func checkActivity(_ aps: JSONObject) throws(ProviderFault) {
        let needed: [String]
        switch aps["event"]?.string {
        case "start": needed = ["content-state", "attributes-type", "attributes", "alert"]
        case "update": needed = ["content-state"]
        // A final state is recommended only.
        case "end": needed = []
        default: needed = ["event"]
        }
        for name in ["timestamp"] + needed where aps[name] == nil { throw .missing(.liveActivity, apsPointer / name) }
    }

    private static func require(_ value: JSONValue, _ name: String, in aps: JSONObject) throws(ProviderFault) {
        guard aps[name] == value else {
            throw .wrongValue(apsPointer / name, expected: String(decoding: value.bytes, as: UTF8.self))
        }
    }

    private static func requireText(_ name: String, in neighbours: JSONObject, _ type: PushType) throws(ProviderFault) {
        let pointer = JSONPointer.root / "data" / name
        guard let value = neighbours[name] else { throw .missing(type, pointer) }
        guard let text = value.string, !text.isEmpty else {
            throw .wrongValue(pointer, expected: "a string that is not empty")
        }
    }
}
