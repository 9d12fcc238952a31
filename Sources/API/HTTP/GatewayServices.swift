import Credentials
import Delivery
import Listener
import Postgres
import Registry
import Store
import TriggerStore
import Triggers
import WakeUp
import WakeUpStore

package struct GatewayServices: Sendable {
    package let stores: Stores
    package let wakeUpStores: WakeUpStores
    package let triggerStores: TriggerStores
    package let registrations: RegistrationCommitter
    package let intake: MessageIntake
    package let credentials: CredentialService
    package let nodeWriter: NodeWriter
    package let updateWriter: UpdateWriter
    package let readAccess: ReadAccess
    package let adminKeySHA256: [UInt8]
    package let readiness: @Sendable () async -> Readiness
    package let entropy: @Sendable (Int) -> [UInt8]
    package let limits: GatewayLimits

    package var context: ServiceContext { stores.context }

    /// - Parameter adminKeySHA256: the hash of the key's UTF-8 bytes.
    package init(
        stores: Stores, wakeUpStores: WakeUpStores, triggerStores: TriggerStores,
        registrations: RegistrationCommitter, intake: MessageIntake, credentials: CredentialService,
        nodeWriter: NodeWriter, updateWriter: UpdateWriter, readAccess: ReadAccess, adminKeySHA256: [UInt8],
        readiness: @escaping @Sendable () async -> Readiness,
        entropy: @escaping @Sendable (Int) -> [UInt8], limits: GatewayLimits
    ) {
        (self.stores, self.wakeUpStores, self.triggerStores) = (stores, wakeUpStores, triggerStores)
        (self.registrations, self.intake) = (registrations, intake)
        (self.credentials, self.nodeWriter, self.updateWriter) = (credentials, nodeWriter, updateWriter)
        self.readAccess = readAccess
        (self.adminKeySHA256, self.readiness, self.entropy, self.limits) = (adminKeySHA256, readiness, entropy, limits)
    }
}

package enum Readiness: Sendable, Equatable {
    case ready
    case databaseUnreachable
    case databaseImpaired(DatabaseCondition)
    /// The process is shutting down: a load balancer should send nothing more.
    case stopping
}
