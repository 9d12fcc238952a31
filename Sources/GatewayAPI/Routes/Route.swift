import HTTPTypes
import JSON

/// Everything that is served: one case for each method and path. docs/openapi.yaml describes the same, held by a test.
package enum Route: CaseIterable, Sendable {
    case health
    case readiness
    case contract
    case errors
    case createApp
    case listApps
    case readApp
    case changeApp
    case deleteApp
    case listDevices
    case registerToken
    case registerDevice
    case readDevice
    case patchDevice
    case removeDevice
    case lookUpDevices
    case importDevices
    case eraseUser
    case readBadge
    case setBadge
    case consumeBadge
    case changeBadgeOfToken
    case sendMessage
    case listMessages
    case readMessage
    case changeMessage
    case followMessage
    case listFailures
    case readPush
    case pauseMessage
    case resumeMessage
    case cancelMessage
    case readFeedback
    case undoFeedback
    case listCredentials
    case submitCredential
    case activateCredential
    case retireCredential
    case deleteCredential
    case listKeys
    case createKey
    case deleteKey
    case listGlobalKeys
    case createGlobalKey
    case deleteGlobalKey
}

extension Route {
    package var method: HTTPRequest.Method {
        switch self {
        case .health, .readiness, .contract, .errors, .listApps, .readApp, .listDevices, .readDevice, .readBadge,
            .listMessages, .readMessage, .followMessage, .listFailures, .readPush, .readFeedback, .listCredentials,
            .listKeys,
            .listGlobalKeys:
            .get
        case .registerDevice, .setBadge: .put
        case .changeApp, .patchDevice, .changeMessage: .patch
        case .deleteApp, .removeDevice, .eraseUser, .deleteCredential, .deleteKey, .deleteGlobalKey: .delete
        case .createApp, .registerToken, .lookUpDevices, .importDevices, .consumeBadge, .changeBadgeOfToken,
            .sendMessage, .pauseMessage, .resumeMessage, .cancelMessage, .undoFeedback, .submitCredential,
            .activateCredential, .retireCredential, .createKey, .createGlobalKey:
            .post
        }
    }

    /// Names in braces are parameters, in the order in which the handlers read them.
    package var template: String {
        switch self {
        case .health: "/healthz"
        case .readiness: "/readyz"
        case .contract: "/openapi.yaml"
        case .errors: "/errors"
        case .createApp, .listApps: "/v1/apps"
        case .readApp, .changeApp, .deleteApp: "/v1/apps/{app}"
        case .listDevices, .registerToken: "/v1/apps/{app}/devices"
        case .registerDevice, .readDevice, .patchDevice, .removeDevice: "/v1/apps/{app}/devices/{installation}"
        case .lookUpDevices: "/v1/apps/{app}/devices/lookup"
        case .importDevices: "/v1/apps/{app}/devices/import"
        case .readBadge, .setBadge: "/v1/apps/{app}/devices/{installation}/badge"
        case .consumeBadge: "/v1/apps/{app}/devices/{installation}/badge/consume"
        case .changeBadgeOfToken: "/v1/apps/{app}/badges"
        case .eraseUser: "/v1/apps/{app}/users/{user}"
        case .sendMessage, .listMessages: "/v1/apps/{app}/messages"
        case .readMessage, .changeMessage: "/v1/apps/{app}/messages/{message}"
        case .followMessage: "/v1/apps/{app}/messages/{message}/events"
        case .listFailures: "/v1/apps/{app}/messages/{message}/failures"
        case .readPush: "/v1/apps/{app}/messages/{message}/devices/{installation}"
        case .pauseMessage: "/v1/apps/{app}/messages/{message}/pause"
        case .resumeMessage: "/v1/apps/{app}/messages/{message}/resume"
        case .cancelMessage: "/v1/apps/{app}/messages/{message}/cancel"
        case .readFeedback: "/v1/apps/{app}/feedback"
        case .undoFeedback: "/v1/apps/{app}/feedback/{feedback}/undo"
        case .listCredentials, .submitCredential: "/v1/apps/{app}/credentials"
        case .activateCredential: "/v1/apps/{app}/credentials/{credential}/activate"
        case .retireCredential: "/v1/apps/{app}/credentials/{credential}/retire"
        case .deleteCredential: "/v1/apps/{app}/credentials/{credential}"
        case .listKeys, .createKey: "/v1/apps/{app}/keys"
        case .deleteKey: "/v1/apps/{app}/keys/{key}"
        case .listGlobalKeys, .createGlobalKey: "/v1/keys"
        case .deleteGlobalKey: "/v1/keys/{key}"
        }
    }

    /// Served without a key: they tell nothing about anyone.
    package var isOpen: Bool {
        switch self {
        case .health, .readiness, .contract, .errors: true
        case .createApp, .listApps, .readApp, .changeApp, .deleteApp, .listDevices, .registerToken, .registerDevice,
            .readDevice, .patchDevice, .removeDevice, .lookUpDevices, .importDevices, .eraseUser, .readBadge, .setBadge,
            .consumeBadge, .changeBadgeOfToken, .sendMessage, .listMessages, .readMessage, .changeMessage,
            .followMessage, .listFailures, .readPush,
            .pauseMessage, .resumeMessage, .cancelMessage, .readFeedback, .undoFeedback, .listCredentials,
            .submitCredential, .activateCredential, .retireCredential, .deleteCredential, .listKeys, .createKey,
            .deleteKey, .listGlobalKeys, .createGlobalKey, .deleteGlobalKey:
            false
        }
    }

    /// Whether a body means something to it. Elsewhere none is read.
    package var takesBody: Bool {
        switch self {
        case .createApp, .changeApp, .registerToken, .registerDevice, .patchDevice, .lookUpDevices, .importDevices,
            .setBadge, .consumeBadge, .changeBadgeOfToken, .sendMessage, .changeMessage, .submitCredential,
            .createKey, .createGlobalKey:
            true
        case .health, .readiness, .contract, .errors, .listApps, .readApp, .deleteApp, .listDevices, .readDevice,
            .removeDevice, .eraseUser, .readBadge, .listMessages, .readMessage, .followMessage, .listFailures,
            .readPush,
            .pauseMessage, .resumeMessage, .cancelMessage, .readFeedback, .undoFeedback, .listCredentials,
            .activateCredential, .retireCredential, .deleteCredential, .listKeys, .deleteKey, .listGlobalKeys,
            .deleteGlobalKey:
            false
        }
    }

    /// The query parameters that it knows.
    package var queryNames: [String] {
        switch self {
        case .listApps, .listKeys, .listGlobalKeys: ["cursor", "limit"]
        case .listMessages: ["state", "cursor", "limit"]
        case .listFailures: ["cursor", "limit", "state", "reason"]
        case .readFeedback: ["after", "limit"]
        case .listDevices: ["user", "tag", "provider", "state", "kind", "stale", "filter", "cursor", "limit"]
        case .readDevice, .patchDevice, .readBadge, .setBadge, .consumeBadge: ["kind"]
        case .health, .readiness, .contract, .errors, .createApp, .readApp, .changeApp, .deleteApp, .registerToken,
            .registerDevice, .removeDevice, .lookUpDevices, .importDevices, .eraseUser, .changeBadgeOfToken,
            .sendMessage, .readMessage, .changeMessage, .followMessage, .readPush, .pauseMessage, .resumeMessage,
            .cancelMessage,
            .undoFeedback,
            .listCredentials, .submitCredential, .activateCredential, .retireCredential, .deleteCredential, .createKey,
            .deleteKey, .createGlobalKey, .deleteGlobalKey:
            []
        }
    }
}

/// Where a request leads.
package struct RouteMatch: Equatable, Sendable {
    package let route: Route
    /// The values of the template's names, in its order.
    package let names: [String]
}

/// All routes, taken apart once.
package enum RouteTable {
    private struct Row: Sendable {
        let route: Route
        let method: HTTPRequest.Method
        /// nil: any segment, a parameter.
        let pattern: [String?]

        init(_ route: Route) {
            self.route = route
            method = route.method
            pattern = RouteTable.pattern(route.template)
        }

        func names(in segments: [String]) -> [String]? { RouteTable.names(in: segments, pattern) }
    }

    private static let rows = Route.allCases.map(Row.init)
    private static let planned = PlannedRoute.allCases.map { ($0, pattern($0.template)) }

    private static func pattern(_ template: String) -> [String?] {
        template.split(separator: "/").map { $0.hasPrefix("{") ? nil : String($0) }
    }

    /// nil where it does not fit.
    private static func names(in segments: [String], _ pattern: [String?]) -> [String]? {
        guard segments.count == pattern.count else { return nil }
        // Most patterns don't fit, and shall cost no array.
        for place in pattern.indices {
            guard let expected = pattern[place] else { continue }
            guard segments[place].hasSameBytes(as: expected) else { return nil }
        }
        var names: [String] = []
        for place in pattern.indices where pattern[place] == nil {
            guard !segments[place].isEmpty else { return nil }
            names.append(segments[place])
        }
        return names
    }

    /// HEAD is served where GET is.
    package static func match(_ method: HTTPRequest.Method, _ segments: [String]) throws(Problem) -> RouteMatch {
        let asked = method == .head ? .get : method
        var offered: [String] = []
        for row in rows {
            guard let names = row.names(in: segments) else { continue }
            if row.method == asked { return RouteMatch(route: row.route, names: names) }
            offered.append(row.method.rawValue)
            if row.method == .get { offered.append(HTTPRequest.Method.head.rawValue) }
        }
        for (route, pattern) in planned where route.method == asked && names(in: segments, pattern) != nil {
            throw route.problem
        }
        guard !offered.isEmpty else {
            throw Problem(.notFound, "Nothing is served at this path. /openapi.yaml lists what is.")
        }
        let allow = offered.sorted().joined(separator: ", ")
        throw Problem(.methodNotAllowed, "This path serves \(allow).", allow: allow)
    }
}
