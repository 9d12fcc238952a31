/// A case with a stable name, by which the API and the providers know it.
package protocol NamedCase: CaseIterable {
    var name: String { get }
}

extension NamedCase {
    @inlinable package init?(name: String) {
        guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = match
    }
}

/// A push provider. The numbers are stored in the database and never reused.
package enum Provider: Int16, Hashable, Sendable, NamedCase {
    case apns = 1
    case fcm = 2
    case hms = 3
    case webpush = 4

    package var name: String {
        switch self {
        case .apns: "apns"
        case .fcm: "fcm"
        case .hms: "hms"
        case .webpush: "webpush"
        }
    }
}

/// A property of the token, not of the sender. The numbers are stored in the database.
package enum PushEnvironment: Int16, Hashable, Sendable, NamedCase {
    case production = 1
    case sandbox = 2

    package var name: String {
        switch self {
        case .production: "production"
        case .sandbox: "sandbox"
        }
    }
}

/// The purpose of a token. Tokens of different kinds are different tokens. The numbers are stored in the database.
package enum TokenKind: Int16, Hashable, Sendable, NamedCase {
    case alert = 1
    case voip = 2
    case location = 3
    case widget = 4
    case liveActivity = 5
    case pushToStart = 6
    case pushToTalk = 7
    case complication = 8
    case fileProvider = 9
    case control = 10
    case mdm = 11
    /// A token that only subscriptions to an app's data tree have named. The API registers no token of this kind.
    case wakeUp = 12

    package var name: String {
        switch self {
        case .alert: "alert"
        case .voip: "voip"
        case .location: "location"
        case .widget: "widget"
        case .liveActivity: "live-activity"
        case .pushToStart: "push-to-start"
        case .pushToTalk: "push-to-talk"
        case .complication: "complication"
        case .fileProvider: "file-provider"
        case .control: "control"
        case .mdm: "mdm"
        case .wakeUp: "wakeup"
        }
    }
}
