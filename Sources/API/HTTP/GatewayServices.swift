import Basis
import Credentials
import Delivery
import Logging
import Model
import Registry
import Store

/// The services that the API calls.
package struct GatewayServices: Sendable {
    package let registry: RegistryService
    package let messages: MessageIntake
    package let credentials: CredentialService
    package let keys: KeyStore
    package let adminKeySHA256: [UInt8]
    package let readiness: @Sendable () async -> Readiness
    package let clock: @Sendable () -> WallInstant
    /// Returns the requested number of random bytes.
    package let entropy: @Sendable (Int) -> [UInt8]
    package let limits: GatewayLimits
    package let log: Logger
    package let steps: (any StepListener)?

    /// - Parameter adminKeySHA256: the hash of the key's UTF-8 bytes.
    package init(
        registry: RegistryService, messages: MessageIntake, credentials: CredentialService, keys: KeyStore,
        adminKeySHA256: [UInt8],
        readiness: @escaping @Sendable () async -> Readiness, clock: @escaping @Sendable () -> WallInstant,
        entropy: @escaping @Sendable (Int) -> [UInt8],
        limits: GatewayLimits, log: Logger, steps: (any StepListener)? = nil
    ) {
        self.registry = registry
        self.messages = messages
        self.credentials = credentials
        self.keys = keys
        self.adminKeySHA256 = adminKeySHA256
        self.readiness = readiness
        self.clock = clock
        self.entropy = entropy
        self.limits = limits
        self.log = log
        self.steps = steps
    }
}

/// Whether the process can carry out requests now.
package enum Readiness: Sendable, Equatable {
    case ready
    case databaseUnreachable
    case migrationsMissing
    /// The process is shutting down: a load balancer should send nothing more.
    case stopping
}
