import Hummingbird
import HummingbirdCore
import Logging
import NIOCore

/// The API on a port.
package struct GatewayServer: Sendable {
    private let host: String
    private let port: Int
    private let services: GatewayServices

    /// - Parameter port: 0 for a free one.
    package init(host: String, port: Int, services: GatewayServices) {
        self.host = host
        self.port = port
        self.services = services
    }

    /// Serves until the task's graceful shutdown, then ends what was begun; or until the task is cancelled.
    ///
    /// - Parameter onReady: gets the port that is listened on.
    /// - Throws: where the address can't be listened on.
    package func run(onReady: @escaping @Sendable (_ port: Int) async -> Void) async throws {
        let limits = services.limits
        let idle = TimeAmount(limits.idleTimeout)
        let application = Application(
            responder: GatewayResponder(services),
            server: .http1(
                configuration: .init(
                    idleTimeout: idle,
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: limits.headerBytesMax, maxHeaderListSize: limits.headerBytesMax,
                        maxHeaderFieldCount: Self.headerFieldsMax))),
            configuration: ApplicationConfiguration(
                address: .hostname(host, port: port),
                availableConnectionsDelegate: MaximumAvailableConnections(
                    limits.connectionsMax, logger: services.log)),
            onServerRunning: { channel in await onReady(channel.localAddress?.port ?? 0) },
            logger: services.log)
        try await application.run()
    }

    private static let headerFieldsMax = 100
}
