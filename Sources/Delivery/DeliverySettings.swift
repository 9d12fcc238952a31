import QueueRules
import RegistryRules
import Store

/// The limits and intervals of delivery. The defaults are the product's; the server reads them from the settings.
package struct DeliverySettings: Sendable {
    package var dispatcher: DispatcherSettings
    package var suspicion: SuspicionRule
    /// The time between two rounds that judge suspicions and sweep rows past their retention.
    package var upkeepEvery: Duration = .seconds(15)
    package var sliceIDsMax = 20_000
    /// The number of messages that one process plans at once.
    package var plannersMax = 3
    /// Pushes in a parcel: the unit of leasing and settling. Larger repeats more after a crash, smaller commits more.
    package var parcelMembersMax: Int
    /// The time that a refused credential blocks its lane before one more try.
    package var credentialBlock: Duration = .seconds(60)
    package var retention: Retention

    package init(
        dispatcher: DispatcherSettings, suspicion: SuspicionRule, parcelMembersMax: Int, retention: Retention
    ) {
        precondition(parcelMembersMax > 0 && sliceIDsMax >= parcelMembersMax)
        (self.dispatcher, self.suspicion) = (dispatcher, suspicion)
        (self.parcelMembersMax, self.retention) = (parcelMembersMax, retention)
    }
}
