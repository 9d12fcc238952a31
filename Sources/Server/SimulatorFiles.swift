import Basis
import Foundation
import JSON
import Reactor
import Signing
import Simulator
import TLS

struct SimulatorFiles {
    let folder: String

    var authority: String { folder + "/ca.pem" }
    var key: String { folder + "/AuthKey_\(SimulatorIdentities.keyID).p8" }
    var certificate: String { folder + "/apns-certificate.pem" }
    var account: String { folder + "/fcm-service-account.json" }
    var ready: String { folder + "/ready.json" }
    /// The file with the stand-ins' own certificate and key, if a later run is to go on with them.
    func server(_ host: String) -> String { folder + "/server-\(host).pem" }

    /// Makes the folder and removes an earlier run's `ready.json`: a waiting client must not find it.
    func prepare() throws {
        do { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) } catch {
            throw StartFault("\(folder) can't be created")
        }
        removeReady()
    }

    func removeReady() { try? FileManager.default.removeItem(atPath: ready) }

    /// The identities that an earlier run kept; nil: there are none. Throws if they can't be used again.
    func kept(host: String, project: String, topics: [String]) throws -> SimulatorIdentities? {
        guard let server = bytes(of: server(host)) else { return nil }
        let found = SimulatorIdentities(
            authorityPEM: bytes(of: authority), server: server, certificate: bytes(of: certificate),
            key: bytes(of: key), account: bytes(of: account))
        guard let found, found.serves(project: project, topics: topics), found.isValid(at: Clocks.wallNow()) else {
            throw StartFault(
                "the files of an earlier run in \(folder) can't be reused: they are incomplete, have expired, or are "
                    + "for another project or topic; choose another folder, or remove this one")
        }
        return found
    }

    private func bytes(of file: String) -> [UInt8]? { FileManager.default.contents(atPath: file).map(Array.init) }

    func keep(_ identities: SimulatorIdentities, host: String) throws {
        try write(try identities.server.pem(), to: server(host))
        // The file holds a private key.
        try? FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: server(host))
    }

    /// Writes `ready.json` last.
    func write(_ ready: SimulatorReady) throws {
        let identities = ready.identities
        try write(identities.authorityPEM, to: authority)
        try write(try identities.key.privatePEM(), to: key)
        try write(try identities.certificate.pem(), to: certificate)
        try write(identities.account.file(tokenURI: ready.tokenURL), to: account)
        try write(ready.json + [UInt8(ascii: "\n")], to: self.ready)
    }

    private func write(_ bytes: [UInt8], to file: String) throws {
        do { try Data(bytes).write(to: URL(filePath: file), options: .atomic) } catch {
            throw StartFault("\(file) can't be written")
        }
    }
}

/// New keys and certificates at every start, unless an earlier run's are kept: no trust should outlast a run.
struct SimulatorIdentities {
    let authorityPEM: [UInt8]
    let server: TLSIdentity
    let certificate: TLSIdentity
    let key: ES256Key
    let account: ServiceAccount

    static let keyID = "SIMULATED1"
    static let hostDefault = "localhost"
    static let teamID = "SIMULATED2"
    static let topicDefault = "com.example.carillon"
    private static let lifetimeDays = 30
    /// The providers' own names too: for clients that can't use another name, with an entry in the hosts file.
    private static let names = [
        hostDefault, "127.0.0.1", "api.push.apple.com", "api.sandbox.push.apple.com",
        "api.development.push.apple.com", "fcm.googleapis.com", "iid.googleapis.com", "oauth2.googleapis.com",
    ]

    init(host: String, project: String, topics: [String]) throws {
        let validity = CertificateValidity.days(SimulatorIdentities.lifetimeDays, from: Clocks.wallNow())
        let authority = try CertificateAuthority(name: "Carillon stand-in", validity: validity)
        authorityPEM = authority.pem
        let names = SimulatorIdentities.names
        server = try authority.issue(
            CertificateSubject(commonName: Self.hostDefault), names: names.contains(host) ? names : [host] + names,
            validity: validity)
        let bundleID = topics.first ?? SimulatorIdentities.topicDefault
        certificate = try authority.issue(
            CertificateSubject(
                commonName: "Apple Push Services: \(bundleID)", userID: bundleID,
                organizationalUnit: SimulatorIdentities.teamID),
            validity: validity,
            apple: AppleExtensions(topics: [bundleID, bundleID + ".voip", bundleID + ".complication"]))
        key = try ES256Key.generate()
        account = try ServiceAccount(projectID: project)
    }

    /// Reads the identities from files; nil if one is missing or invalid.
    init?(authorityPEM: [UInt8]?, server: [UInt8]?, certificate: [UInt8]?, key: [UInt8]?, account: [UInt8]?) {
        guard let authorityPEM, let server = server.flatMap({ try? TLSIdentity(pem: $0) }),
            let certificate = certificate.flatMap({ try? TLSIdentity(pem: $0) }),
            let key = key.flatMap({ try? ES256Key(pem: $0) }),
            let account = account.flatMap({ ServiceAccount(file: $0) })
        else { return nil }
        (self.authorityPEM, self.server, self.certificate) = (authorityPEM, server, certificate)
        (self.key, self.account) = (key, account)
    }

    func serves(project: String, topics: [String]) -> Bool {
        account.projectID == project && certificate.certificate.userID == topics.first ?? Self.topicDefault
    }

    func isValid(at now: WallInstant) -> Bool {
        server.certificate.notAfter > now && certificate.certificate.notAfter > now
    }

    func registeredKey() throws -> RegisteredKey {
        RegisteredKey(
            keyID: SimulatorIdentities.keyID, teamID: SimulatorIdentities.teamID, publicKeyPEM: try key.publicPEM())
    }
}

/// The content of `ready.json`: what clients need to know of the stand-ins.
struct SimulatorReady {
    let files: SimulatorFiles
    let identities: SimulatorIdentities
    let host: String
    var apnsPort: UInt16 = 0
    var sandboxPort: UInt16?
    var fcmPort: UInt16 = 0

    var apnsURL: String { "https://\(host):\(apnsPort)" }
    var sandboxURL: String { "https://\(host):\(sandboxPort ?? apnsPort)" }
    var fcmURL: String { "https://\(host):\(fcmPort)" }
    var tokenURL: String { fcmURL + "/token" }

    var json: [UInt8] {
        JSONWriter.body {
            $0.member("apns_production_url", apnsURL)
            $0.member("apns_sandbox_url", sandboxURL)
            $0.member("fcm_url", fcmURL)
            $0.member("oauth_token_url", tokenURL)
            $0.member("ca_file", whole(files.authority))
            $0.member("apns_key_file", whole(files.key))
            $0.member("apns_key_id", SimulatorIdentities.keyID)
            $0.member("apns_team_id", SimulatorIdentities.teamID)
            $0.member("apns_certificate_file", whole(files.certificate))
            $0.member("fcm_service_account_file", whole(files.account))
            $0.member("fcm_project_id", identities.account.projectID)
        }
    }

    private func whole(_ file: String) -> String { URL(filePath: file).standardizedFileURL.path }
}
