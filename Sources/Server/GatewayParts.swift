import API
import CommandLine
import Delivery
import Logging
import NIOCore
import Postgres
import Reactor
import ServiceLifecycle
import Store

/// One of the services that start and end together. Their names are logged, and would be everything that they hold.
protocol NamedService: Service, CustomStringConvertible {}

/// The HTTP API as one of the services that start and end together.
struct APIService: NamedService {
    let description = "HTTP API"
    let server: GatewayServer
    let listen: ListenAddress
    let isEncrypted: Bool
    let adminKeyFile: String?
    let log: Logger

    /// How long requests may take to end once the program was asked to. A client that sends slowly must not hold up
    /// those whose work it is that ends here.
    private static let lastAnswers: Duration = .seconds(5)

    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await serve() }
            group.addTask {
                try await gracefulShutdown()
                try await Task.sleep(for: Self.lastAnswers)
                log.notice("Requests that have not ended are cut off")
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
            try await server.run { port in
                if let adminKeyFile { Console.write("The admin key is in \(adminKeyFile)") }
                let address = ListenAddress(host: listen.host, port: UInt16(clamping: port))
                Console.write("carillon is ready on http\(isEncrypted ? "s" : "")://\(address)")
            }
        } catch is CancellationError {
            return
        } catch let failure as IOError {
            throw ListenAddressCheck.fault(listen, SystemErrno(failure.errnoCode))
        } catch {
            throw StartFault("CARILLON_LISTEN: \(listen) can't be listened on: \(error)")
        }
    }
}

/// The first to be asked to end: delivery begins to drain at once, while the doors close one after the other.
struct DrainsAtOnce: NamedService {
    let description = "drain"
    let delivery: DeliveryService

    func run() async throws {
        try await gracefulShutdown()
        Task { await delivery.drain() }
    }
}

/// The private PostgreSQL, kept alive until everything that uses it has ended.
struct PrivateDatabaseService: NamedService {
    let description = "database"
    let resources: GatewayResources
    let log: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown { await resources.keepDatabaseRunning(log) }
    }
}

/// Delivery, asked to drain when the program ends.
struct DrainingDelivery: NamedService {
    let description = "delivery"
    let delivery: DeliveryService

    func run() async throws {
        await withGracefulShutdownHandler {
            await delivery.run()
        } onGracefulShutdown: {
            Task { await delivery.drain() }
        }
        // Drained before its turn: whoever ends out of turn would end the others at once.
        try? await gracefulShutdown()
    }
}

/// Hears what other processes announce, and passes it on.
struct NotificationListenerService: NamedService {
    let description = "news of other processes"
    let listener: PostgresListener
    /// Whose sessions say this process's own news.
    let pools: [PostgresPool]
    let delivery: DeliveryService
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
            // Anything may have been said while nobody listened.
            for work in WorkNotification.allCases { await take(work) }
        case .notification(let notification):
            // A word that we don't know comes from a newer program.
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
        case .credentials:
            await credentials.forget()
            await delivery.credentialsChanged()
        }
    }
}

/// What `/readyz` is told.
struct Readings: Sendable {
    let pool: PostgresPool
    private static let ping = Statement("readiness", "SELECT 1")
    private static let pingDeadline: Duration = .seconds(2)

    @Sendable func readiness() async -> API.Readiness {
        do {
            _ = try await pool.read(Query(Self.ping), deadline: Self.pingDeadline)
            return .ready
        } catch .unavailable(.shuttingDown) {
            return .stopping
        } catch {
            return .databaseUnreachable
        }
    }
}
