import QueueRules
import RegistryRules
import Store

/// What the running delivery is bounded by. The defaults are the product's; the roof reads them from the settings.
package struct DeliverySettings: Sendable {
    package var dispatcher: DispatcherSettings
    package var suspicion: SuspicionRule
    /// How often suspicions are looked at, and what has outlived its retention is swept.
    package var upkeepEvery: Duration
    /// Ids read at once while an audience is cut.
    package var sliceIDsMax: Int
    /// How many messages one process plans at once.
    package var plannersMax: Int
    /// Pushes in a parcel: the unit of leasing and settling. Larger repeats more after a crash, smaller commits more.
    package var parcelMembersMax: Int
    /// How long a refused credential keeps its lane shut, before one more try.
    package var credentialBlock: Duration
    package var retention: Retention

    package init(
        dispatcher: DispatcherSettings, suspicion: SuspicionRule,
        upkeepEvery: Duration = .seconds(15), sliceIDsMax: Int = 20_000, plannersMax: Int = 3,
        parcelMembersMax: Int, credentialBlock: Duration = .seconds(60), retention: Retention
    ) {
        precondition(parcelMembersMax > 0 && sliceIDsMax >= parcelMembersMax && plannersMax > 0)
        self.dispatcher = dispatcher
        self.suspicion = suspicion
        self.upkeepEvery = upkeepEvery
        self.sliceIDsMax = sliceIDsMax
        self.plannersMax = plannersMax
        self.parcelMembersMax = parcelMembersMax
        self.credentialBlock = credentialBlock
        self.retention = retention
    }
}
