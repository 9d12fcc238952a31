import Hummingbird
import HummingbirdCore
import Listener
import Logging
import NIOCore

package struct GatewayServer: Sendable {
    private let host: String
    private let port: Int
    private let identity: ServedIdentity?
    private let services: GatewayServices

    /// - Parameters:
    ///   - port: 0 for a free one.
    ///   - identity: nil for plain HTTP.
    package init(host: String, port: Int, identity: ServedIdentity? = nil, services: GatewayServices) {
        (self.host, self.port, self.identity, self.services) = (host, port, identity, services)
    }

    /// Serves until the task's graceful shutdown, then finishes the requests under way; or until the task is cancelled.
    ///
    /// - Parameter onReady: called with the port that the server listens on.
    /// - Throws: an error if the server can't listen on the address.
    package func run(onReady: @escaping @Sendable (_ port: Int) async -> Void) async throws {
        let limits = services.limits
        let responder = GatewayResponder(services)
        let (log, shortcut, places) = (services.context.log, responder.shortcut, responder.places)
        let configuration = HTTP1Channel.Configuration(
            additionalChannelHandlers: [
                ConnectionHandlerInstaller(limits: limits, log: log, places: places, shortcut: shortcut)
            ],
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: limits.headerBytesMax, maxHeaderListSize: limits.headerBytesMax,
                maxHeaderFieldCount: limits.headerFieldsMax))
        let identity = identity
        let server = HTTPServerBuilder { responder in
            let plain = HTTP1Channel(responder: responder, configuration: configuration)
            guard let identity else { return plain }
            return EncryptedChannel(plain: plain, identity: identity)
        }
        let application = Application(
            responder: responder, server: server,
            configuration: ApplicationConfiguration(
                address: .hostname(host, port: port),
                availableConnectionsDelegate: MaximumAvailableConnections(
                    limits.connectionsMax, logger: services.context.log)),
            onServerRunning: { channel in await onReady(channel.localAddress?.port ?? 0) },
            logger: services.context.log)
        let upkeep = Task { await Self.maintain(responder.authenticator, services.context.log) }
        defer { upkeep.cancel() }
        try await application.run()
    }

    private static let upkeepEvery: Duration = .seconds(60)

    private static func maintain(_ authenticator: APIKeyAuthenticator, _ log: Logger) async {
        while (try? await Task.sleep(for: upkeepEvery)) != nil {
            do { try await authenticator.noteUses() } catch {
                log.warning("Database failure: last uses of API keys are not noted", metadata: ["fault": "\(error)"])
            }
        }
    }
}
