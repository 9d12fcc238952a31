import Model
import Reactor
import Signing
import TLS

/// A stand-in of APNs over real TLS and HTTP/2. Validates requests, refuses them, misbehaves by script, and keeps what
/// each token received.
///
/// Lives on a loop of its own. Its behaviour is documented in docs/simulator.md.
package actor APNsSimulator: PinnedActor {
    package nonisolated let loop: ReactorLoop
    private let world: SimulatorWorld
    private let listener: SimulatorListener

    package enum Fault: Error, Sendable {
        case system(ReactorError)
        case identity(TLSError)
        case key(SigningError)
    }

    package init(_ settings: APNsSimulatorSettings) throws(Fault) {
        do throws(ReactorError) { loop = try ReactorLoop(name: "apns-stand-in") } catch { throw .system(error) }
        do throws(SigningError) {
            world = SimulatorWorld(settings.listenerSettings, loop, try APNsService(settings))
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

    /// The pushes that a token received, in the order of arrival.
    package func received(_ token: DeviceToken) -> [ReceivedPush] { world.received.pushes(to: token) }

    package func summary() -> SimulatorSummary { world.fullSummary }

    /// Forgets received pushes, counts and provider tokens.
    package func reset() { world.reset() }
}
