import Credentials
import JSON
import Postgres
import Reactor
import Store

// The master key, and the credentials that it seals.
extension Checkup {
    private static let appsAtOnce = 500

    func secrets(_ pool: PostgresPool, _ settings: Settings, _ inspection: inout DatabaseInspection) async {
        let file = settings.masterKeyFile ?? settings.dataFolder + "/master-key"
        let stores = Stores(pool: pool)
        let service: CredentialService
        do {
            guard try await stores.credentials.masterKeyProof() != nil else {
                return inspection.findings.append(.note("master key", "nothing is sealed yet"))
            }
        } catch {
            return inspection.findings.append(.bad("master key", "it can't be checked: \(error)", "check the database"))
        }
        do {
            service = CredentialService(
                store: stores.credentials, vault: try Vault(masterKey: try KeyFiles.masterKey(at: file)),
                tokenEndpoint: NoEndpoint(), targets: settings.targetHosts)
            try await service.proveMasterKey()
        } catch {
            inspection.findings.append(
                .bad("master key", "\(error)", "restore the key that sealed this database's secrets to \(file)"))
            return
        }
        inspection.findings.append(.good("master key", "it opens the sealed secrets"))
        do {
            var apps: [AppRecord] = []
            var page: [AppRecord] = []
            repeat {
                page = try await stores.registry.apps(after: apps.last?.id, limit: Self.appsAtOnce)
                apps += page
            } while page.count == Self.appsAtOnce
            let refusals = try await stores.credentials.refusals()
            inspection.used = []
            for app in apps { try await credentials(of: app, service, refusals, &inspection) }
        } catch {
            inspection.used = nil
            inspection.findings.append(.bad("credentials", "they can't be read: \(error)", "check the database"))
        }
    }

    private func credentials(
        of app: AppRecord, _ service: CredentialService, _ refusals: [CredentialRefusal],
        _ inspection: inout DatabaseInspection
    ) async throws {
        let subject = "app \(app.slug)"
        let active = try await service.list(app: app.id).filter { $0.state == .active }
        guard !active.isEmpty else {
            return inspection.findings.append(
                .note(
                    subject, "no active credential: its pushes wait",
                    "carillon credentials add --app \(app.slug) --help"))
        }
        for credential in active {
            inspection.used?.insert(ProviderUse(provider: credential.provider, environment: credential.environment))
        }
        for credential in active {
            let facts = (try? JSONReader.read(credential.facts))?.object ?? JSONObject()
            let name = DoctorRules.name(of: credential, facts)
            do { _ = try await service.credential(of: credential) } catch {
                inspection.findings.append(.bad(subject, "\(name) can't be opened: \(error)", "add it again"))
                continue
            }
            inspection.findings.append(
                DoctorRules.credential(
                    subject, name, notAfterSeconds: facts["not_after_seconds"]?.integer,
                    refusal: refusals.first { $0.credential == credential.id }, now: Clocks.wallNow()))
        }
    }
}

/// The doctor fetches no access tokens.
private struct NoEndpoint: TokenEndpoint {
    func post(form: [UInt8], to url: String) async throws(TokenEndpointFault) -> TokenEndpointAnswer {
        throw .unreachable("the doctor fetches no access tokens")
    }
}
