import Content
import JSON
import Model
import ProviderInterface
import Providers
import Reactor
import Store

/// Accepts credentials, seals them, and opens them for the lanes.
package struct CredentialService: Sendable {
    let store: CredentialStore
    let vault: Vault
    let tokenEndpoint: any TokenEndpoint
    let tokenFetches = AppSlots(atOnceMax: AccessTokenRefresher.fetchesPerAppMax)
    private let keyFiles: KeyFileQueue
    private let targets: TargetHosts

    /// - Parameter targets: the hosts that a service account's `token_uri` may name.
    package init(
        store: CredentialStore, vault: Vault, tokenEndpoint: any TokenEndpoint, targets: TargetHosts,
        keyFiles: KeyFileQueue = KeyFileQueue()
    ) {
        (self.store, self.keyFiles, self.vault) = (store, keyFiles, vault)
        (self.tokenEndpoint, self.targets) = (tokenEndpoint, targets)
    }

    /// Proves that the master key is the one that sealed this database's secrets. Call once, at the start.
    package func proveMasterKey() async throws(CredentialFault) {
        let known = try await stored(await store.masterKeyProof())
        let proof: [UInt8]
        if let known {
            proof = known
        } else {
            let fresh = try sealed(Self.proofText, Self.proofPurpose)
            proof = try await stored(await store.keepMasterKeyProof(fresh))
        }
        _ = try opened(proof, Self.proofPurpose)
    }

    private static let proofText = Array("carillon".utf8)
    private static let proofPurpose = "master-key-proof"

    /// Reads, checks, seals and writes one record per environment, all or none. All checks come before the first write.
    ///
    /// - Parameter answer: makes the bytes that a repetition of the request will get.
    package func submit(
        _ submission: CredentialSubmission, app: AppID, idempotency claim: IdempotencyClaim?,
        answer: @escaping @Sendable (WrittenCredentials) -> [UInt8]
    ) async throws(CredentialFault) -> IdempotentReply {
        // This comes first: a credential that was valid when submitted may have expired since.
        if let claim, let earlier = try await stored(await store.earlier(claim, app: app)) { return earlier }
        let (provider, form) = (submission.provider, submission.form)
        let credential = try await keyFiles.open(for: app) { () throws(CredentialFault) in
            try Self.read(form, of: provider)
        }
        let (topics, plain) = try checked(credential, submission)
        let facts = JSONValue.object(credential.facts()).bytes
        let wholeTopics = credential.wholeTopics(in: topics)
        let ids = try await stored(await store.nextIDs(submission.environments.count))
        let credentials = try zip(ids, submission.environments).map { (id, environment) throws(CredentialFault) in
            NewCredential(
                id: id, app: app, provider: submission.provider, environment: environment, kind: credential.kind,
                topics: topics, wholeTopics: wholeTopics, facts: facts,
                sealed: try sealed(plain, purpose(id, app, environment)))
        }
        return try await stored(
            await store.insert(credentials, app: app, activate: submission.activate, once: claim, answer: answer))
    }

    private static func read(_ form: SubmittedForm, of id: Provider) throws(CredentialFault) -> any ProviderCredential {
        guard let provider = PushProviders.offered(id) else {
            throw .unusable(ProviderFault("not_supported", "This version does not deliver to \(id.name)."))
        }
        do throws(ProviderFault) { return try provider.readCredential(form, OpenedKeys()) } catch {
            throw .unusable(error)
        }
    }

    /// Returns the topics of the credential's slot, and the bytes to seal.
    ///
    /// Refuses a target by the host's name. The token endpoint checks the resolved address again.
    private func checked(
        _ credential: any ProviderCredential, _ submission: CredentialSubmission
    ) throws(CredentialFault) -> (topics: [String], plain: [UInt8]) {
        do throws(ProviderFault) {
            if targets != .all { try credential.checkTarget(isAllowed: targets.allows) }
            let topics = try credential.topics(asked: submission.topics)
            try credential.checkUse(in: submission.environments, now: Clocks.wallNow())
            return (topics, JSONValue.object(JSONObject(try credential.sealedMembers())).bytes)
        } catch { throw .unusable(error) }
    }

    package func list(app: AppID) async throws(CredentialFault) -> [CredentialRecord] {
        try await stored(await store.list(app: app))
    }

    /// Why credentials of all apps do not work now.
    package func refusals() async throws(CredentialFault) -> [CredentialRefusal] {
        try await stored(await store.refusals())
    }

    /// Activates a credential that may be used now, and with `both` also that of the sibling environment.
    ///
    /// - Returns: the credential, and after it that of the sibling environment.
    package func activate(
        _ id: CredentialID, app: AppID, both: Bool = false
    ) async throws(CredentialFault) -> WrittenCredentials {
        let subjects = try await subjects(id, app, both)
        for subject in subjects {
            let credential = try await credential(of: subject)
            do throws(ProviderFault) {
                try credential.checkUse(in: [subject.environment], now: Clocks.wallNow())
            } catch { throw .unusable(error) }
        }
        let written = try await stored(await store.activate(subjects.map(\.id), app: app))
        guard let written else { throw .unknownCredential }
        return written
    }

    /// Returns the credentials that it retired, as they were before.
    @discardableResult
    package func retire(
        _ id: CredentialID, app: AppID, both: Bool = false
    ) async throws(CredentialFault) -> [CredentialRecord] {
        let subjects = try await subjects(id, app, both)
        guard try await stored(await store.retire(subjects.map(\.id), app: app)) else { throw .unknownCredential }
        return subjects
    }

    /// Returns the credential, and with `both` also that of the sibling environment, if it was submitted for both.
    private func subjects(
        _ id: CredentialID, _ app: AppID, _ both: Bool
    ) async throws(CredentialFault) -> [CredentialRecord] {
        let all = try await list(app: app)
        guard let own = all.first(where: { $0.id == id }) else { throw .unknownCredential }
        guard both else { return [own] }
        let siblings = all.filter { $0.submission == own.submission && $0.id != id }
        guard !siblings.isEmpty else { throw .hasNoSibling(own.environment) }
        return [own] + siblings
    }

    package func delete(_ id: CredentialID, app: AppID) async throws(CredentialFault) {
        guard try await stored(await store.delete(id, app: app)) else { throw .unknownCredential }
    }

    /// Opens sealed keys, which were checked on submission. They do not wait behind submitted files.
    private static let sealedKeyThreads = BlockingPool(name: "sealed keys", threadsMax: 2, waitingMax: 1_024)

    /// Returns a record's credential, for its lane. Throws `.overloaded` if too many are being opened.
    package func credential(of record: CredentialRecord) async throws(CredentialFault) -> any ProviderCredential {
        let bytes = try opened(record.sealed, purpose(record.id, record.app, record.environment))
        let provider = record.provider
        var form = SubmittedForm(record.kind)
        guard case .object(let members)? = try? JSONReader.read(bytes) else { throw .vault(.doesNotOpen) }
        for member in members.members {
            form.add(member.name, member.value.string.map { Array($0.utf8) } ?? member.value.bytes)
        }
        let sealed = form
        do {
            return try await Self.sealedKeyThreads.run { try Self.read(sealed, of: provider) }
        } catch {
            throw error as? CredentialFault ?? .overloaded
        }
    }

    /// Names one row: a secret moved to another row, even of the same app and environment, does not open.
    private func purpose(_ id: CredentialID, _ app: AppID, _ environment: PushEnvironment) -> String {
        "credential/\(id.value)/\(app.value)/\(environment.name)"
    }

    private func stored<Answer>(
        _ answer: @autoclosure () async throws(StoreFault) -> Answer
    ) async throws(CredentialFault) -> Answer { do { return try await answer() } catch { throw .store(error) } }

    private func sealed(_ plaintext: [UInt8], _ purpose: String) throws(CredentialFault) -> [UInt8] {
        do { return try vault.seal(plaintext, purpose: purpose) } catch { throw .vault(error) }
    }

    private func opened(_ bytes: [UInt8], _ purpose: String) throws(CredentialFault) -> [UInt8] {
        do { return try vault.open(bytes, purpose: purpose) } catch { throw .vault(error) }
    }
}
