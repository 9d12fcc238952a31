/// The part of an app's topics that a push goes to, as in Apple's topic lists. The numbers are stored in the database.
///
/// Only topics with certificates of their own are here; other push types use the app's topic.
package enum TopicService: Int16, Hashable, Sendable, CaseIterable {
    /// The bundle id itself, for every push type without a service below.
    case app = 0
    case voip = 1
    case complication = 2
    case fileProvider = 3

    /// The part of the topic after the bundle id.
    package var suffix: String {
        switch self {
        case .app: ""
        case .voip: ".voip"
        case .complication: ".complication"
        case .fileProvider: ".pushkit.fileprovider"
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
        case .alert, .background, .mdm, .liveActivity, .pushToTalk, .location, .widgets, .controls: .app
        }
    }
}
