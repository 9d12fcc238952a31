/// The handlers of every resource, as endpoints find them.
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

    /// - Parameter budget: bounds the bodies of all requests, imports included.
    init(_ services: GatewayServices, _ ring: KeyRing, _ budget: BodyBudget) {
        let limits = services.limits
        let reads = CostlyReads(limits)
        checkReadiness = services.readiness
        apps = AppHandlers(registry: services.registry)
        devices = DeviceHandlers(apps: apps, clock: services.clock, reads: reads)
        imports = ImportHandlers(
            apps: apps, clock: services.clock, limits: limits, ring: ring,
            budgets: [BodyBudget(bytesMax: limits.importsInFlightBytesMax, shareFloor: limits.importBytes), budget])
        messages = MessageHandlers(apps: apps, desk: services.messages, clock: services.clock, reads: reads)
        events = EventHandlers(
            messages: messages, watches: MessageWatches(desk: services.messages, limits: limits, reads: reads),
            limits: limits, ring: ring)
        feedback = FeedbackHandlers(apps: apps, reads: reads)
        credentials = CredentialHandlers(apps: apps, keeper: services.credentials)
        keys = KeyHandlers(
            apps: apps, store: services.keys, ring: ring, clock: services.clock, entropy: services.entropy)
    }
}
