import Model
import Reactor
import Signing
import TLS

/// A stand-in of FCM and of Google's OAuth over real TLS, by HTTP/2 and HTTP/1.1. Validates requests, refuses them,
/// misbehaves by script, and keeps what each token received.
///
/// Lives on a loop of its own. Its behaviour is documented in docs/simulator.md.
package actor FCMSimulator: PinnedActor {
    package nonisolated let loop: ReactorLoop
    private let world: SimulatorWorld
    private let listener: SimulatorListener

    package init(_ settings: FCMSimulatorSettings) throws(APNsSimulator.Fault) {
        do throws(ReactorError) { loop = try ReactorLoop(name: "fcm-stand-in") } catch { throw .system(error) }
        do throws(SigningError) {
            world = SimulatorWorld(settings.listenerSettings, loop, try FCMService(settings))
        } catch {
            loop.stop()
            throw .key(error)
        }
        do throws(TLSError) { listener = try SimulatorListener(world) } catch {
            loop.stop()
            throw .identity(error)
        }
    }

    deinit { loop.stop() }

    /// Starts listening.
    ///
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

    /// Follows this script from now on.
    package func follow(_ script: SimulatorScript) { world.follow(script) }

    /// Revokes the issued access tokens: requests with them are answered 401 from now on.
    package func revokeAccessTokens() { world.service.act(.revokeAccessTokens) }

    /// The pushes that a target received, in the order of arrival.
    ///
    /// - Parameter target: a registration token, an installation id, a topic with its `/topics/`, or a condition's
    ///   text.
    package func received(_ target: String) -> [ReceivedPush] {
        world.received.pushes(to: DeviceToken(bytes: Array(target.utf8)))
    }

    package func summary() -> SimulatorSummary { world.fullSummary }

    /// Forgets received pushes and counts; access tokens stay valid.
    package func reset() { world.reset() }
}
