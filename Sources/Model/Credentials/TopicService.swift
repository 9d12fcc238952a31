/// The part of an app's topics that a push goes to, as in Apple's topic lists. The numbers are stored in the database.
///
/// A certificate covers the topics that it lists and no others, so each suffix is a service.
package enum TopicService: Int16, Hashable, Sendable, CaseIterable {
    /// The bundle id itself, for every push type without a suffix.
    case app = 0
    case voip = 1
    case complication = 2
    case fileProvider = 3
    case liveActivity = 4
    case pushToTalk = 5
    case location = 6
    case widgets = 7
    case controls = 8

    /// The part of the topic after the bundle id.
    package var suffix: String {
        switch self {
        case .app: ""
        case .voip: ".voip"
        case .complication: ".complication"
        case .fileProvider: ".pushkit.fileprovider"
        case .liveActivity: ".push-type.liveactivity"
        case .pushToTalk: ".voip-ptt"
        case .location: ".location-query"
        case .widgets: ".push-type.widgets"
        case .controls: ".push-type.controls"
        }
    }
}

/// A route and one of Apple's services: what one credential covers. A route names the app's topic, and another
/// certificate may cover one of its services.
package struct ServiceRoute: Hashable, Comparable, Sendable {
    package let route: RouteID
    package let service: TopicService

    package init(_ route: RouteID, _ service: TopicService = .app) { (self.route, self.service) = (route, service) }

    package static func < (left: ServiceRoute, right: ServiceRoute) -> Bool {
        left.route == right.route ? left.service.rawValue < right.service.rawValue : left.route < right.route
    }
}

extension PushType {
    package var service: TopicService {
        switch self {
        case .voip: .voip
        case .complication: .complication
        case .fileProvider: .fileProvider
        case .liveActivity: .liveActivity
        case .pushToTalk: .pushToTalk
        case .location: .location
        case .widgets: .widgets
        case .controls: .controls
        case .alert, .background, .mdm: .app
        }
    }
}
