import QueueRules
import RegistryRules
import Store

/// The limits and intervals of delivery. The defaults are the product's; the server reads them from the settings.
package struct DeliverySettings: Sendable {
    package var dispatcher: DispatcherSettings
    package var suspicion: SuspicionRule
    /// The time between two rounds that judge suspicions and sweep rows past their retention.
    package var upkeepEvery: Duration
    /// The number of registration ids that one slice reads.
    package var sliceIDsMax: Int
    /// The number of messages that one process plans at once.
    package var plannersMax: Int
    /// Pushes in a parcel: the unit of leasing and settling. Larger repeats more after a crash, smaller commits more.
    package var parcelMembersMax: Int
    /// The time that a refused credential blocks its lane before one more try.
    package var credentialBlock: Duration
    package var retention: Retention

    package init(
        dispatcher: DispatcherSettings, suspicion: SuspicionRule,
        upkeepEvery: Duration = .seconds(15), sliceIDsMax: Int = 20_000, plannersMax: Int = 3,
        parcelMembersMax: Int, credentialBlock: Duration = .seconds(60), retention: Retention
    ) {
        precondition(parcelMembersMax > 0 && sliceIDsMax >= parcelMembersMax && plannersMax > 0)
        (self.dispatcher, self.suspicion, self.upkeepEvery) = (dispatcher, suspicion, upkeepEvery)
        (self.sliceIDsMax, self.plannersMax, self.parcelMembersMax) = (sliceIDsMax, plannersMax, parcelMembersMax)
        (self.credentialBlock, self.retention) = (credentialBlock, retention)
    }
}
