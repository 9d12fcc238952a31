import Model
import Reactor
import Signing
import TLS

/// A stand-in of FCM and of Google's OAuth over real TLS, by HTTP/2 and HTTP/1.1: judges, refuses, misbehaves, and
/// remembers what each token received.
///
/// Lives on a loop of its own. What it does is told in docs/simulator.md.
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

    /// Access tokens that were issued are answered 401 from now on.
    package func revokeAccessTokens() { world.service.act(.revokeAccessTokens) }

    /// What a registration token or an installation id received, in the order of arrival; of a topic with its
    /// `/topics/`, of a condition its text.
    package func received(_ target: String) -> [ReceivedPush] {
        world.received.pushes(to: DeviceToken(bytes: Array(target.utf8)))
    }

    package func summary() -> SimulatorSummary { world.fullSummary }

    /// Forgets what was received and counted; access tokens stay good.
    package func reset() { world.reset() }
}
