import Model
import Reactor
import Signing
import TLS

/// A stand-in of a provider over real TLS: of APNs by HTTP/2, or of FCM and Google's OAuth by HTTP/2 and HTTP/1.1.
/// Validates requests, refuses them, misbehaves by script, and keeps what each token received.
///
/// Lives on a loop of its own. Its behaviour is documented in docs/simulator.md.
package actor ProviderSimulator: PinnedActor {
    package nonisolated let loop: ReactorLoop
    private let world: SimulatorWorld
    private let listener: SimulatorListener

    package enum Fault: Error, Sendable {
        case system(ReactorError)
        case identity(TLSError)
        case key(SigningError)
    }

    package init(_ settings: APNsSimulatorSettings) throws(Fault) {
        let service: APNsService
        do throws(SigningError) { service = try APNsService(settings) } catch { throw .key(error) }
        try self.init("apns-stand-in", settings.common, service)
    }

    package init(_ settings: FCMSimulatorSettings) throws(Fault) {
        let service: FCMService
        do throws(SigningError) { service = try FCMService(settings) } catch { throw .key(error) }
        try self.init("fcm-stand-in", settings.common, service)
    }

    private init(_ name: String, _ settings: SimulatorSettings, _ service: sending any ProviderService) throws(Fault) {
        do throws(ReactorError) { loop = try ReactorLoop(name: name) } catch { throw .system(error) }
        world = SimulatorWorld(settings, loop, service)
        do throws(TLSError) { listener = try SimulatorListener(world) } catch {
            loop.stop()
            throw .identity(error)
        }
    }

    deinit { loop.stop() }

    /// - Returns: the port; a second call returns the same one.
    @discardableResult
    package func start() throws(ReactorError) -> UInt16 { try listener.open() }

    /// Closes every connection and the port. Can be started again; if port 0 was asked for, on another port.
    package func stop() {
        listener.close()
        world.flushRecord()
    }

    /// Resets all connections without GOAWAY, as a crash of the provider would. The port stays open.
    package func dropConnections() { listener.closeConnections(isAbrupt: true) }

    package func follow(_ script: SimulatorScript) { world.follow(script) }

    /// Revokes the access tokens that FCM issued: requests with them are answered 401 from now on.
    package func revokeAccessTokens() { world.service.act(.revokeAccessTokens) }

    package func received(_ token: DeviceToken) -> [ReceivedPush] { world.received.pushes(to: token) }

    /// The pushes that a target of FCM received, in the order of arrival.
    /// - Parameter target: a registration token, an installation id, a topic with its `/topics/`, or a condition's
    ///   text.
    package func received(_ target: String) -> [ReceivedPush] { received(DeviceToken(bytes: Array(target.utf8))) }

    package func summary() -> SimulatorSummary { world.fullSummary }

    /// Forgets received pushes, counts and APNs' provider tokens; FCM's access tokens stay valid.
    package func reset() { world.reset() }
}
