import API
import Basis
import CommandLine
import Delivery
import Logging
import NIOCore
import Postgres
import Reactor
import ServiceLifecycle
import Store
import Synchronization
import Triggers
import WakeUp

/// A service that starts and ends with the others. The log gets the description instead of the whole value.
protocol NamedService: Service, CustomStringConvertible {}

struct APIService: NamedService {
    let description = "HTTP API"
    let server: GatewayServer
    let listen: ListenAddress
    let start: StartReport
    let adminKeyFile: String?
    let logFormat: LogFormat
    let log: Logger

    /// The time that requests have to end with the program. A client that sends slowly must not delay the shutdown.
    private static let lastAnswers: Duration = .seconds(5)

    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await serve() }
            group.addTask {
                try await gracefulShutdown()
                try await Task.sleep(for: Self.lastAnswers)
                log.notice("Shutdown timed out: unfinished requests are cut off")
            }
            try await group.next()
            group.cancelAll()
            while let result = await group.nextResult() {
                if case .failure(let fault as StartFault) = result { throw fault }
            }
        }
    }

    private func serve() async throws {
        do {
            try await server.run { port in announce(ListenAddress(host: listen.host, port: UInt16(clamping: port))) }
        } catch is CancellationError {
            return
        } catch let failure as IOError {
            throw ListenAddressCheck.fault(listen, SystemErrno(failure.errnoCode))
        } catch { throw StartFault("CARILLON_LISTEN: can't listen on \(listen): \(error)") }
    }
}

extension APIService {
    /// Log collectors read both outputs: with a log in JSON, the lines for people become members of its line.
    private func announce(_ address: ListenAddress) {
        var metadata = start.metadata(listen: address)
        switch logFormat {
        case .text:
            if let adminKeyFile { Console.write("The admin key is in \(adminKeyFile)") }
            Console.write("carillon is ready on http\(start.isEncrypted ? "s" : "")://\(address)")
        case .json: metadata["admin_key_file"] = adminKeyFile.map { .string($0) }
        }
        log.notice("Started", metadata: metadata)
    }
}

/// The first service to be asked to end: delivery drains while the listeners close one after the other.
struct DrainsAtOnce: NamedService {
    let description = "drain"
    let delivery: DeliveryService
    let beginning: DrainBeginning
    let log: Logger

    func run() async throws {
        try await gracefulShutdown()
        beginning.note(Clocks.monotonicNow())
        let inFlight = await delivery.pushesInFlight()
        log.notice(
            "Draining: no new requests are accepted", metadata: ["pushes_in_flight": .stringConvertible(inFlight)])
        Task { await delivery.drain() }
    }
}

/// The instant at which the drain began, for the log's last line.
final class DrainBeginning: Sendable {
    private let instant = Mutex<MonotonicInstant?>(nil)

    func note(_ now: MonotonicInstant) { instant.withLock { $0 = $0 ?? now } }

    /// nil: there was no drain.
    func duration(until now: MonotonicInstant) -> Duration? { instant.withLock { $0.map { now - $0 } } }
}

/// The private PostgreSQL, kept alive until everything that uses it has ended.
struct PrivateDatabaseService: NamedService {
    let description = "database"
    let resources: GatewayResources
    let log: Logger

    func run() async throws { await cancelWhenGracefulShutdown { await resources.keepDatabaseRunning(log) } }
}

struct DrainingDelivery: NamedService {
    let description = "delivery"
    let delivery: DeliveryService

    func run() async throws {
        await withGracefulShutdownHandler {
            await delivery.run()
        } onGracefulShutdown: {
            Task { await delivery.drain() }
        }
        // The drain may end before this service's turn. If `run` returned then, the others would end at once.
        try? await gracefulShutdown()
    }
}

struct WakeUps: NamedService {
    let description = "wake-ups"
    let fanOut: FanOutService

    func run() async throws {
        await withGracefulShutdownHandler {
            await fanOut.run()
        } onGracefulShutdown: {
            fanOut.stop()
        }
    }
}

struct ItemPushes: NamedService {
    let description = "pushes of items"
    let pushes: ItemPushService

    func run() async throws {
        await withGracefulShutdownHandler {
            await pushes.run()
        } onGracefulShutdown: {
            pushes.stop()
        }
    }
}

/// Receives what other processes announce, and passes it on.
struct NotificationListenerService: NamedService {
    let description = "news of other processes"
    let listener: PostgresListener
    /// The pools whose sessions send this process's notifications.
    let pools: [PostgresPool]
    let delivery: DeliveryService
    let fanOut: FanOutService
    let itemPushes: ItemPushService
    let credentials: LaneCredentialCache

    func run() async throws {
        await listener.start()
        await withGracefulShutdownHandler {
            for await event in listener.events { await take(event) }
        } onGracefulShutdown: {
            Task { await listener.close() }
        }
        await listener.close()
    }

    private func take(_ event: ListenerEvent) async {
        switch event {
        case .listening:
            // Notifications may have been missed before the connection was there.
            for work in WorkNotification.allCases { await take(work) }
        case .notification(let notification):
            // An unknown payload comes from a newer program.
            guard let work = WorkNotification(rawValue: notification.payload) else { return }
            if work.isKnownToSender, await isOwn(notification.sender) { return }
            await take(work)
        }
    }

    private func isOwn(_ sender: Int32) async -> Bool {
        for pool in pools where await pool.owns(sender) { return true }
        return false
    }

    private func take(_ work: WorkNotification) async {
        switch work {
        case .plan: delivery.messageAccepted()
        case .schedule: delivery.messageScheduled()
        case .parcels: await delivery.parcelsWait()
        case .stops: await delivery.messagesStopped()
        case .wakeUps: fanOut.notify()
        case .items: itemPushes.notify()
        case .credentials:
            await credentials.forget()
            await delivery.credentialsChanged()
        }
    }
}
