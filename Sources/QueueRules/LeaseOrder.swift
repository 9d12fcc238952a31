import Model

package struct LeaseOrder: Equatable, Sendable {
    package let route: RouteID
    package let service: TopicService
    package let owner: ProcessID
    package let leaseFor: Duration
    /// The content formats that this process can encode.
    package let knownFormats: [Int16]
    package let scope: LeaseScope
    /// Messages whose rate-limited parcels are skipped.
    package let passing: [MessageID]

    package init(
        route: RouteID, service: TopicService = .app, owner: ProcessID, leaseFor: Duration, knownFormats: [Int16],
        scope: LeaseScope = .ordinary, passing: [MessageID] = []
    ) {
        (self.route, self.service, self.owner, self.leaseFor) = (route, service, owner, leaseFor)
        (self.knownFormats, self.scope, self.passing) = (knownFormats, scope, passing)
    }
}

package struct Lease: Equatable, Sendable {
    /// The leased parcels in their order; at most one unless the scope may bring several.
    package var parcels: [LeasedParcel]
    /// The time until a quantum of the route's rate-limited parcels may be leased. If a quantum was asked for, nil
    /// means that none waits. Otherwise it is zero if some parcels were found to be rate-limited, else nil.
    package var again: Duration?

    package init(_ parcels: [LeasedParcel] = [], again: Duration? = nil) {
        (self.parcels, self.again) = (parcels, again)
    }
}
