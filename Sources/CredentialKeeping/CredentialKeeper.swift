import PushModel
import Reactor
import Store

/// Takes credentials in, seals them, and opens them for the lanes.
package struct CredentialKeeper: Sendable {
    let store: CredentialStore
    let vault: Vault

    package init(store: CredentialStore, vault: Vault) {
        self.store = store
        self.vault = vault
    }

    /// Proves that the master key is the one that sealed this database's secrets. Call once, at the start.
    package func proveMasterKey() async throws(CredentialFault) {
        do {
            let known = try await store.masterKeyProof()
            let proof: [UInt8]
            if let known {
                proof = known
            } else {
                proof = try await store.keepMasterKeyProof(sealed(Self.proofText, Self.proofPurpose))
            }
            _ = try opened(proof, Self.proofPurpose)
        } catch let fault as CredentialFault {
            throw fault
        } catch {
            throw .storeUnavailable
        }
    }

    private static let proofText = Array("carillon".utf8)
    private static let proofPurpose = "master-key-proof"

    /// Reads, checks and seals; one record per environment. Everything is checked before anything is written.
    package func submit(_ submission: CredentialSubmission, app: AppID) async throws(CredentialFault)
        -> [CredentialRecord]
    {
        let form = submission.form
        let read: Result<CredentialMaterial, CredentialFault>
        do {
            read = try await BlockingPool.shared.run {
                do throws(CredentialFault) { return .success(try CredentialMaterial.read(form)) } catch {
                    return .failure(error)
                }
            }
        } catch {
            throw .storeUnavailable
        }
        let material = try read.get()
        let topics = try material.topics(asked: submission.topics)
        try material.checkUse(in: submission.environments, now: Clocks.wallNow())
        var records: [CredentialRecord] = []
        for environment in submission.environments {
            let credential = NewCredential(
                app: app, provider: .apns, environment: environment, kind: material.kind, topics: topics,
                facts: material.facts(), sealed: try sealed(try material.sealedForm(), purpose(app, environment)))
            do {
                records.append(try await store.insert(credential, activate: submission.activate))
            } catch {
                throw .storeUnavailable
            }
        }
        return records
    }

    package func list(app: AppID) async throws(CredentialFault) -> [CredentialRecord] {
        do { return try await store.list(app: app) } catch { throw .storeUnavailable }
    }

    package func activate(_ id: CredentialID, app: AppID) async throws(CredentialFault) -> CredentialRecord {
        let record: CredentialRecord?
        do { record = try await store.activate(id, app: app) } catch { throw .storeUnavailable }
        guard let record else { throw .unknownCredential }
        return record
    }

    package func retire(_ id: CredentialID, app: AppID) async throws(CredentialFault) {
        let isDone: Bool
        do { isDone = try await store.retire(id, app: app) } catch { throw .storeUnavailable }
        guard isDone else { throw .unknownCredential }
    }

    package func delete(_ id: CredentialID, app: AppID) async throws(CredentialFault) {
        let isDone: Bool
        do { isDone = try await store.delete(id, app: app) } catch { throw .storeUnavailable }
        guard isDone else { throw .unknownCredential }
    }

    /// The secret behind a record, for the lane that uses it.
    package func material(of record: CredentialRecord) throws(CredentialFault) -> CredentialMaterial {
        let bytes = try opened(record.sealed, purpose(record.app, record.environment))
        return try CredentialMaterial.read(sealedForm: bytes)
    }

    private func purpose(_ app: AppID, _ environment: PushEnvironment) -> String {
        "credential/\(app.value)/\(environment.name)"
    }

    private func sealed(_ plaintext: [UInt8], _ purpose: String) throws(CredentialFault) -> [UInt8] {
        do { return try vault.seal(plaintext, purpose: purpose) } catch { throw .vault(error) }
    }

    private func opened(_ bytes: [UInt8], _ purpose: String) throws(CredentialFault) -> [UInt8] {
        do { return try vault.open(bytes, purpose: purpose) } catch { throw .vault(error) }
    }
}

extension CredentialMaterial {
    var kind: CredentialKind {
        switch self {
        case .token: .token
        case .certificate: .certificate
        }
    }
}
