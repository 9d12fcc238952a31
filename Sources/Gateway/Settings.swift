import FCM
import Logging
import PushModel
import Transport

/// Everything that an operator decides, read once at the start.
///
/// The names, defaults and meanings stand in `SettingsTable`.
package struct Settings: Sendable {
    /// nil: the program keeps a PostgreSQL of its own in `dataFolder`.
    package var databaseURL: String?
    package var dataFolder = "data"
    package var listen = ListenAddress(host: "127.0.0.1", port: 8080)
    /// PEM files with which the API's port speaks TLS; both or none.
    package var tlsCertificateFile: String?
    package var tlsKeyFile: String?
    /// nil: made in `dataFolder`, where the database is the program's own.
    package var masterKeyFile: String?
    /// nil: made in `dataFolder`, where the database is the program's own.
    package var adminKey: Secret<String>?
    package var logLevel = Logger.Level.info
    package var logFormat = LogFormat.text
    package var apnsProduction = Endpoint(host: "api.push.apple.com", port: 443)
    package var apnsSandbox = Endpoint(host: "api.sandbox.push.apple.com", port: 443)
    package var fcm = Endpoint(host: "fcm.googleapis.com", port: 443)
    /// Certificates to trust besides the system's, as a PEM file.
    package var providerCAFile: String?
    /// An HTTP CONNECT proxy in front of every provider.
    package var providerProxy: ProxyAddress?
    /// Whether a `token_uri` may lead to a private address.
    package var allowsPrivateTargets = false
    package var limits = Limits()

    package init() {}
}

/// Bounds with a name. What is not listed here is a constant of the room that keeps to it.
package struct Limits: Sendable {
    /// How long a provider may take to answer one push.
    package var requestDeadline: Duration = .seconds(20)
    /// How long a process owns a parcel before another may take it over.
    package var lease: Duration = .seconds(60)
    /// How long a doubt about a token stands before it may be confirmed.
    package var suspectWindow: Duration = .seconds(600)
    /// A route that doubts more of its tokens than this blames itself, and no token.
    package var suspectShare = 0.2
    /// How many answers a route must have given before its doubts count.
    package var suspectSample = 50
    package var connectionsPerLane = 16
    /// What Google lets a project send, and each process keeps to, over HTTP v1.
    package var fcmMessagesPerMinute = FCMLimits.messagesPerMinute
    package var parcelMembers = 5_000
    package var backlogMessages = 1_000_000
    package var backlogBroadcasts = 1_000
    package var historyDays = 30
    package var contentDays = 30
    package var feedbackDays = 365
    package var bodyBytes = 1_048_576

    package init() {}
}

/// Where the HTTP API listens. Port 0: any free one.
package struct ListenAddress: Equatable, Sendable, CustomStringConvertible {
    package let host: String
    package let port: UInt16
    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// As it stands in a URL: IPv6 literals in brackets.
    package var description: String { (host.contains(":") ? "[\(host)]" : host) + ":\(port)" }
}

/// A server that the program calls.
package struct Endpoint: Equatable, Sendable, CustomStringConvertible {
    package let host: String
    package let port: UInt16
    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    package var description: String { (host.contains(":") ? "[\(host)]" : host) + ":\(port)" }
}

/// A proxy, and what it is told of us. Its description holds nothing secret.
package struct ProxyAddress: Equatable, Sendable, CustomStringConvertible {
    package let endpoint: Endpoint
    /// The value of `proxy-authorization`; nil where the proxy asks for none.
    let authorization: Secret<[UInt8]>?

    package init(endpoint: Endpoint, authorization: [UInt8]? = nil) {
        self.endpoint = endpoint
        self.authorization = authorization.map(Secret.init)
    }

    /// As lanes take it.
    package var forLanes: ProxySettings {
        ProxySettings(host: endpoint.host, port: endpoint.port, authorization: authorization?.revealed)
    }

    package var description: String { endpoint.description }
}
