/// Which of an app's topics a push goes to, in the words of Apple's topic lists. The numbers stand in the database.
///
/// Only topics that Apple gives certificates of their own for: those of the other push types go with the app's. The
/// bundle id behind a topic is the route's; route and service together are what one credential speaks for.
package enum TopicService: Int16, Hashable, Sendable, CaseIterable {
    /// The bundle id itself, and every push type that is not below.
    case app = 0
    case voip = 1
    case complication = 2
    case fileProvider = 3

    /// What stands behind the bundle id.
    package var suffix: String {
        switch self {
        case .app: ""
        case .voip: ".voip"
        case .complication: ".complication"
        case .fileProvider: ".pushkit.fileprovider"
        }
    }
}

/// What one credential sends of a route's work: a route names the app's topic, and another certificate may speak for one
/// of its services.
package struct ServiceRoute: Hashable, Comparable, Sendable {
    package let route: RouteID
    package let service: TopicService

    package init(_ route: RouteID, _ service: TopicService = .app) {
        self.route = route
        self.service = service
    }

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
