import API
import Basis
import CommandLine
import Credentials
import Delivery
import Foundation
import Listener
import Logging
import Model
import Postgres
import QueueRules
import Reactor
import Registry
import ServiceLifecycle
import Signing
import Store
import TLS
import TriggerStore
import Triggers
import UnixSignals
import WakeUp
import WakeUpStore

/// The running gateway: every module wired to its neighbours, from the database up to the HTTP API.
package struct GatewayProgram: Sendable {
    private let settings: Settings
    private let hangUps: UnixSignalsSequence?

    /// Open requests end within their deadline, then the last settles follow. What takes longer is cut off.
    private static let drainSlack: Duration = .seconds(15)
    /// Each loop is a thread. What a lane needs of one is far from what a core can give.
    private static let laneLoopsMax = 8
    /// All clients, and lanes for some thousand credentials.
    private static let descriptorsWanted = 65_536

    /// Reads the settings, runs until SIGTERM or SIGINT, and exits: with 0 after a drain, else with one line.
    ///
    /// - Parameter steps: nil in production.
    package static func runToEnd(steps: (any StepListener)? = nil) async -> Never {
        var format = LogOutput.formatOfEnvironment
        do {
            var hangUps = await CertificateReload.trap(isEncrypted: nil)
            let reader = try SettingsReader()
            format = (try? reader.logFormat()) ?? format
            let settings = try reader.read()
            if hangUps == nil {
                hangUps = await CertificateReload.trap(isEncrypted: settings.tlsCertificateFile != nil)
            }
            let log = LogOutput.start(settings)
            for unknown in reader.unknownVariables {
                var metadata: Logger.Metadata = ["name": "\(unknown.name)"]
                if let nearest = unknown.nearest { metadata["nearest"] = "\(nearest)" }
                log.warning("Unknown setting", metadata: metadata)
            }
            try await GatewayProgram(settings: settings, hangUps: hangUps).run(log, steps)
        } catch {
            LogOutput.complain("\(error)", format)
            exit(1)
        }
        exit(0)
    }

    /// Runs until SIGTERM or SIGINT; returns when everything is drained and closed.
    private func run(_ log: Logger, _ steps: (any StepListener)?) async throws {
        CoreDumps.disable()
        let authorities = try providerAuthorities()
        let trust = try trust(authorities)
        let tokens = try tokenEndpoint(authorities)
        let identity = try ListenerFiles(settings).map { ServedIdentity(try $0.read()) }
        try ListenAddressCheck.check(settings.listen)
        let resources = try await GatewayResources.open(settings, log: log)
        let context = ServiceContext(
            log: log, steps: steps,
            database: DatabaseWatch(report: { log.note($0) }, delayed: { resources.locks.suspect() }))
        let beginning = DrainBeginning()
        let outcome = await Result(of: {
            try await serve(on: resources, context, trust: trust, tokens: tokens, identity: identity, beginning)
        })
        await resources.close()
        try outcome.get()
        let took = beginning.duration(until: Clocks.monotonicNow()) ?? .zero
        log.notice("Stopped", metadata: ["took": "\(took.logText)"])
    }

    private func serve(
        on resources: GatewayResources, _ context: ServiceContext, trust: TLSTrust, tokens: any TokenEndpoint,
        identity: ServedIdentity?, _ beginning: DrainBeginning
    ) async throws {
        let log = context.log
        for pool in [resources.pool, resources.apiPool] { await context.database.follow(pool) }
        let stores = Stores(pool: resources.pool, context)
        let wakeUpStores = WakeUpStores(beside: stores)
        let vault = try Vault(masterKey: resources.masterKey.revealed)
        let service = CredentialService(
            store: stores.credentials, vault: vault, tokenEndpoint: tokens, targets: settings.targetHosts)
        do { try await service.proveMasterKey() } catch .vault(.doesNotOpen) {
            throw StartFault(
                "CARILLON_MASTER_KEY_FILE: this is not the master key that sealed this database's secrets"
                    + " (without that setting: master-key in the data folder)")
        } catch { throw StartFault(error.description) }

        let loops = try (0..<laneLoopCount).map { try ReactorLoop(name: "lanes-\($0)") }
        defer { for loop in loops { loop.stop() } }
        let process = ProcessID(UniversalID(high: Entropy.uint64(), low: Entropy.uint64()))
        let credentials = LaneCredentialCache(
            store: stores.credentials, service: service, template: laneTemplate(trust), process: process, context)
        let lanes = LanePool(
            credentials: credentials, loops: loops, credentialBlock: deliverySettings.credentialBlock, log: log)
        let delivery = DeliveryService(stores: stores, lanes: lanes, settings: deliverySettings, process: process)
        await credentials.report(routesChanged: { await delivery.credentialsChanged() })
        let fanOut = FanOutService(
            stores: wakeUpStores, delivery: delivery, parcelMembersMax: deliverySettings.parcelMembersMax, context)
        let itemPushes = ItemPushService(
            stores: TriggerStores(beside: stores), delivery: delivery,
            parcelMembersMax: deliverySettings.parcelMembersMax, context)
        let news = NotificationListenerService(
            listener: PostgresListener(
                resources.database, channels: [WorkChannel.work, WorkChannel.credentials], loop: resources.loop),
            pools: [resources.pool, resources.apiPool], delivery: delivery, fanOut: fanOut, itemPushes: itemPushes,
            credentials: credentials)
        let api = APIService(
            server: GatewayServer(
                host: settings.listen.host, port: Int(settings.listen.port), identity: identity,
                services: services(resources, context, service, delivery, fanOut, itemPushes, vault)),
            listen: settings.listen, start: StartReport(settings, resources.database),
            adminKeyFile: resources.adminKeyFile, logFormat: settings.logFormat, log: log)

        // Services end from the last to the first.
        var group = ServiceGroupConfiguration(
            services: [
                .init(service: PrivateDatabaseService(resources: resources, log: log)),
                .init(service: ImpairmentWatchService(watch: resources.watch, pool: resources.pool)),
                .init(service: LockWatchService(watch: resources.locks, pool: resources.pool)),
                .init(service: DrainingDelivery(delivery: delivery)),
                .init(service: WakeUps(fanOut: fanOut)), .init(service: ItemPushes(pushes: itemPushes)),
                .init(service: news), .init(service: CredentialExpiryService(stores: stores)),
                .init(
                    service: CertificateReload(
                        hangUps: hangUps, files: ListenerFiles(settings), identity: identity, log: log)),
                .init(service: api),
                .init(service: DrainsAtOnce(delivery: delivery, beginning: beginning, log: log)),
            ], gracefulShutdownSignals: [.sigterm, .sigint], logger: log)
        group.maximumGracefulShutdownDuration = settings.requestDeadline + Self.drainSlack
        try await ServiceGroup(configuration: group).run()
    }

    private func services(
        _ resources: GatewayResources, _ context: ServiceContext, _ service: CredentialService,
        _ delivery: DeliveryService, _ fanOut: FanOutService, _ itemPushes: ItemPushService, _ vault: Vault
    ) -> GatewayServices {
        let stores = Stores(pool: resources.apiPool, context)
        let (wakeUpStores, triggerStores) = (WakeUpStores(beside: stores), TriggerStores(beside: stores))
        let backlog = BacklogBounds(messages: settings.backlogMessages, broadcasts: settings.backlogBroadcasts)
        let intake = MessageIntake(
            store: stores.messages, backlog: backlog,
            direct: DirectMessages(cut: { await delivery.cut($0, in: stores.messages) }), steps: context.steps,
            accepted: { delivery.messageAccepted() })
        let readAccess = ReadAccess(store: wakeUpStores.access, vault: vault, clock: context.clock)
        return GatewayServices(
            stores: stores, wakeUpStores: wakeUpStores, triggerStores: triggerStores,
            registrations: RegistrationCommitter(registry: stores.registry), intake: intake, credentials: service,
            nodeWriter: NodeWriter(store: wakeUpStores.nodes, steps: context.steps, raised: { fanOut.notify() }),
            updateWriter: UpdateWriter(
                store: triggerStores.updates, steps: context.steps, raised: { itemPushes.notify() }),
            readAccess: readAccess, adminKeySHA256: Hashes.sha256(Array(resources.adminKey.revealed.utf8)),
            readiness: { await Self.readiness(of: resources.apiPool, resources.watch) },
            entropy: { Entropy.bytes($0) }, limits: limits(context.log))
    }

    private func limits(_ log: Logger) -> GatewayLimits {
        var limits = GatewayLimits(bodyBytesMax: settings.bodyBytes)
        // One large body must leave room for others.
        limits.bodiesInFlightBytesMax = max(limits.bodiesInFlightBytesMax, 4 * limits.bodyBytesMax)
        let (descriptors, usual) = (DescriptorLimit.raise(to: Self.descriptorsWanted), limits.connectionsMax)
        limits.fit(descriptors: descriptors)
        if limits.connectionsMax < usual {
            log.warning(
                "The limit of open files is low: fewer clients are accepted",
                metadata: ["open_files": "\(descriptors)", "clients": "\(limits.connectionsMax)"])
        }
        return limits
    }

    private static let probeDeadline: Duration = .seconds(2)

    private static func readiness(of pool: PostgresPool, _ watch: ImpairmentWatch) async -> API.Readiness {
        do {
            if try await DatabaseProbe.isReadOnly(pool, deadline: probeDeadline) { watch.failed(.readOnly) }
            return watch.condition.map { .databaseImpaired($0) } ?? .ready
        } catch .unavailable(.shuttingDown) {
            return .stopping
        } catch {
            return error.condition.map { .databaseImpaired($0) } ?? .databaseUnreachable
        }
    }

    private var deliverySettings: DeliverySettings {
        DeliverySettings(
            dispatcher: DispatcherSettings(leaseLength: settings.lease, requestDeadline: settings.requestDeadline),
            suspicion: settings.suspicionRule, parcelMembersMax: settings.parcelMembers,
            retention: Retention(
                historyDays: Int64(settings.historyDays), contentDays: Int64(settings.contentDays),
                feedbackDays: Int64(settings.feedbackDays)))
    }

    private func laneTemplate(_ trust: TLSTrust) -> LaneTemplate {
        LaneTemplate(
            endpoints: settings.providerEndpoints, trust: trust, proxy: settings.providerProxy?.forLanes,
            connectionsMax: settings.connectionsPerLane, requestDeadline: settings.requestDeadline)
    }

    /// One core is left for the database's loop and Swift's pool.
    private var laneLoopCount: Int { max(1, min(Self.laneLoopsMax, ProcessInfo.processInfo.activeProcessorCount - 1)) }

    private func providerAuthorities() throws -> [UInt8]? {
        try settings.providerCAFile.map { try KeyFiles.bytes(of: $0, "CARILLON_PROVIDER_CA_FILE: \($0)") }
    }

    private var unusableAuthorities: StartFault {
        StartFault("CARILLON_PROVIDER_CA_FILE: \(settings.providerCAFile ?? "") holds no usable certificate")
    }

    private func trust(_ authorities: [UInt8]?) throws -> TLSTrust {
        guard let authorities else { return try TLSTrust.system() }
        do { return try TLSTrust.system(and: authorities) } catch { throw unusableAuthorities }
    }

    private func tokenEndpoint(_ authorities: [UInt8]?) throws -> OutboundHTTP {
        do {
            return try OutboundHTTP(
                authorityFile: authorities, proxy: settings.providerProxy, targets: settings.targetHosts)
        } catch { throw unusableAuthorities }
    }
}
