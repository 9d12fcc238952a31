import GroupCommit
import Model
import Store

/// Gathers the registrations of one process into few transactions.
package typealias RegistrationCommitter = GroupCommitter<DeviceRegistration, Result<RegisteredDevice, StoreFault>>

extension GroupCommitter where Operation == DeviceRegistration, Answer == Result<RegisteredDevice, StoreFault> {
    /// A transaction has at most one registration per installation and kind, and per token. If too many registrations
    /// wait, a new one is answered with `.unavailable`.
    package convenience init(registry: RegistryStore, settings: GroupCommitSettings = GroupCommitSettings()) {
        self.init(
            settings: settings, refusal: .failure(.unavailable),
            subject: { registration in
                OperationSubject(
                    firstKey: InstallationKey(registration.installation, registration.kind).hashValue,
                    secondKey: TokenKey(registration.provider, registration.token).hashValue,
                    isTimed: registration.asOf != nil)
            },
            transaction: { await registry.register($0, app: $1) })
    }
}
