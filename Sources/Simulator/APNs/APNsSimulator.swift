import Model
import Reactor
import Signing
import TLS

/// A stand-in of APNs over real TLS and HTTP/2: judges, refuses, misbehaves, and remembers what each token received.
///
/// Lives on a loop of its own. What it does is told in docs/simulator.md.
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

    /// Listens, and says on which port. A second call says it again.
    @discardableResult
    package func start() throws(ReactorError) -> UInt16 { try listener.open() }

    /// Closes every connection and the port. May be started again, on another port where 0 was asked for.
    package func stop() {
        listener.close()
        world.flushRecord()
    }

    /// As a crash of the provider would: without goodbye. The port stays open.
    package func dropConnections() { listener.closeConnections(isAbrupt: true) }

    /// Misbehaves so from now on.
    package func follow(_ script: SimulatorScript) { world.follow(script) }

    /// In the order of arrival.
    package func received(_ token: DeviceToken) -> [ReceivedPush] { world.received.pushes(to: token) }

    package func summary() -> SimulatorSummary { world.fullSummary }

    /// Forgets what was received and counted, and which provider tokens were shown.
    package func reset() { world.reset() }
}
