import Listener
import TriggerStore
import WakeUp

struct Resources: Sendable {
    let checkReadiness: @Sendable () async -> Readiness
    let apps: AppHandlers
    let devices: DeviceHandlers
    let imports: ImportHandlers
    let messages: MessageHandlers
    let events: EventHandlers
    let feedback: FeedbackHandlers
    let credentials: CredentialHandlers
    let keys: KeyHandlers
    let nodes: NodeHandlers
    let wakeUps: WakeUpHandlers
    let access: AccessHandlers
    let subscriptions: SubscriptionHandlers
    let own: OwnDevices
    let items: ItemHandlers
    let itemSubscriptions: ItemSubscriptionHandlers

    init(_ services: GatewayServices, _ authenticator: APIKeyAuthenticator, _ budget: ByteBudget) {
        let limits = services.limits
        let reads = ReadAdmission(limits)
        // Anybody may ask, however often.
        let (probes, readiness) = (SharedReads<Bool, Readiness>(), services.readiness)
        checkReadiness = { await probes.value(true, readiness) }
        apps = AppHandlers(
            registry: services.stores.registry, log: AdministrationLog(log: services.context.log),
            allowList: TriggerAllowList(
                store: TriggerPatternStore(beside: services.stores), places: ReadAdmission(limits, placesMax: 1)))
        let hooks = HookAccess(store: services.wakeUpStores.access, clock: services.context.clock)
        own = OwnDevices(
            apps: apps, registrations: services.registrations, access: services.readAccess, hooks: hooks)
        devices = DeviceHandlers(
            apps: apps, registrations: services.registrations, clock: services.context.clock, reads: reads, own: own)
        let streamBudgets = [
            ByteBudget(bytesMax: limits.importsInFlightBytesMax, shareFloor: limits.importBytes), budget,
        ]
        imports = ImportHandlers(
            apps: apps, registrations: services.registrations, clock: services.context.clock, limits: limits,
            authenticator: authenticator, budgets: streamBudgets)
        messages = MessageHandlers(
            apps: apps, store: services.stores.messages, intake: services.intake, clock: services.context.clock,
            reads: reads)
        events = EventHandlers(
            messages: messages, watches: MessageFollowers(store: messages.store, limits: limits, reads: reads),
            limits: limits, authenticator: authenticator)
        feedback = FeedbackHandlers(apps: apps, store: services.stores.feedback, reads: reads)
        credentials = CredentialHandlers(apps: apps, service: services.credentials)
        keys = KeyHandlers(
            apps: apps, store: services.stores.keys, authenticator: authenticator, clock: services.context.clock,
            entropy: services.entropy)
        nodes = NodeHandlers(
            apps: apps, writer: services.nodeWriter,
            reads: NodeReads(
                store: services.wakeUpStores.nodes, ofKeys: reads,
                ofStrangers: ReadAdmission(limits, placesMax: limits.strangersReadsMax),
                strangersTimeMax: limits.strangersReadTimeMax),
            access: services.readAccess)
        wakeUps = WakeUpHandlers(apps: apps, store: services.wakeUpStores.subscriptions, access: services.readAccess)
        access = AccessHandlers(apps: apps, access: services.readAccess)
        subscriptions = SubscriptionHandlers(
            apps: apps, store: services.wakeUpStores.subscriptions,
            revoker: SubscriptionRevoker(store: services.wakeUpStores.fanOuts), reads: reads)
        items = ItemHandlers(
            apps: apps, writer: services.updateWriter, limits: limits, authenticator: authenticator,
            budgets: streamBudgets)
        itemSubscriptions = ItemSubscriptionHandlers(
            apps: apps, store: services.triggerStores.subscriptions, own: own, reads: reads,
            clock: services.context.clock, entropy: services.entropy)
    }
}
