import Foundation
import ProviderInterface
import Providers
import Server
import Testing

@Suite("Settings")
struct SettingsTests {
    private func read(_ environment: [String: String]) throws(StartFault) -> Settings {
        try SettingsReader(environment: environment).read()
    }

    private func complaint(_ environment: [String: String]) throws -> String {
        let fault = #expect(throws: StartFault.self) { try read(environment) }
        return try #require(fault).description
    }

    private func withFile(_ text: String, _ body: (_ path: String) throws -> Void) throws {
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString + ".json")
        try Data(text.utf8).write(to: path)
        defer { try? FileManager.default.removeItem(at: path) }
        try body(path.path(percentEncoded: false))
    }

    @Test("need no value at all, thanks to their defaults")
    func defaults() throws {
        let settings = try read([:])
        #expect(settings.databaseURL == nil)
        #expect(settings.listen == ListenAddress(host: "127.0.0.1", port: 8080))
        #expect(settings.apnsProduction == Endpoint(host: "api.push.apple.com", port: 443))
    }

    @Test("give every provider that this version delivers to an address in each of its environments")
    func endpoints() throws {
        let endpoints = try read([:]).providerEndpoints
        for provider in PushProviders.offered {
            let environments = endpoints.filter { $0.provider == provider.id }.map(\.environment)
            #expect(environments == provider.environments, "\(provider.title)")
        }
    }

    @Test("come from the environment first, then from the file, then from the defaults")
    func precedence() throws {
        try withFile(#"{"listen": "[::1]:1", "lease_seconds": 77, "suspect_share": 0.5}"#) { path in
            let settings = try read(["CARILLON_SETTINGS_FILE": path, "CARILLON_LISTEN": "0.0.0.0:0"])
            #expect(settings.listen == ListenAddress(host: "0.0.0.0", port: 0))
            #expect(settings.lease == .seconds(77))
            #expect(settings.suspectShare == 0.5)
            #expect(settings.parcelMembers == 5_000)
        }
    }

    @Test("choose the log format, even for a command that needs no other setting")
    func logFormat() throws {
        #expect(try read([:]).logFormat == .text)
        #expect(try read(["CARILLON_LOG_FORMAT": "json"]).logFormat == .json)
        let halfSet = ["CARILLON_DATABASE_URL": "postgresql://user@host/name", "CARILLON_LOG_FORMAT": "json"]
        #expect(throws: StartFault.self) { try read(halfSet) }
        #expect(try SettingsReader(environment: halfSet).logFormat() == .json)
    }

    @Test("know which of them differ from their defaults, and keep secrets to themselves")
    func changes() throws {
        #expect(try read([:]).changes.isEmpty)
        let settings = try read([
            "CARILLON_LISTEN": "[::1]:1", "CARILLON_LEASE_SECONDS": "60",
            "CARILLON_ADMIN_KEY": "carillon-admin-key-of-32-letters",
            "CARILLON_PROVIDER_PROXY": "http://anna:hunter2@proxy.example:3128",
        ])
        #expect(
            settings.changes == [
                "LISTEN": "[::1]:1", "ADMIN_KEY": "set", "PROVIDER_PROXY": "http://(hidden)@proxy.example:3128",
            ])
    }

    @Test("treat an empty variable as absent")
    func emptyVariable() throws {
        #expect(try read(["CARILLON_LISTEN": ""]).listen.port == 8080)
    }

    @Test(
        "accept URLs with and without port, and with IPv6 addresses",
        arguments: [
            ("https://localhost:2197", "localhost:2197"), ("https://127.0.0.1", "127.0.0.1:443"),
            ("https://[::1]:8443/", "[::1]:8443"),
        ])
    func endpoints(text: String, expected: String) throws {
        #expect(try read(["CARILLON_APNS_SANDBOX_URL": text]).apnsSandbox.description == expected)
    }

    @Test(
        "stop the start with one line that names the setting, its source and a correct value",
        arguments: [
            ("LISTEN", "8080"), ("LISTEN", "host:99999"), ("LISTEN", ":8080"), ("LEASE_SECONDS", "0"),
            ("LEASE_SECONDS", "soon"),
            ("LOG_LEVEL", "loud"), ("LOG_FORMAT", "JSON"), ("APNS_PRODUCTION_URL", "http://api.push.apple.com"),
            ("APNS_PRODUCTION_URL", "https://host/path"), ("SUSPECT_SHARE", "2"), ("PROVIDER_PROXY", "proxy"),
            ("BODY_BYTES", "12"), ("TOKEN_HOSTS", "https://tokens.example.com"), ("TOKEN_HOSTS", "a.example,,b"),
        ])
    func badValues(name: String, value: String) throws {
        let line = try complaint(["CARILLON_" + name: value])
        #expect(line.hasPrefix("CARILLON_\(name) (environment) must be "))
        #expect(line.hasSuffix(", not \"\(value)\""))
        #expect(!line.contains("\n"))
    }

    @Test("let credentials name only listed hosts as soon as there is a proxy")
    func targetHosts() throws {
        #expect(try read(["CARILLON_TOKEN_HOSTS": "tokens.example.com"]).targetHosts == .outside)
        let proxy = ["CARILLON_PROVIDER_PROXY": "http://proxy:3128"]
        let google = ["oauth2.googleapis.com", "accounts.google.com", "www.googleapis.com"]
        #expect(try read(proxy).targetHosts == .listed(google))
        let own = proxy.merging(["CARILLON_TOKEN_HOSTS": "Tokens.example.com, b.example"]) { $1 }
        #expect(try read(own).targetHosts == .listed(["tokens.example.com", "b.example"]))
        let open = own.merging(["CARILLON_ALLOW_PRIVATE_TARGETS": "true"]) { $1 }
        #expect(try read(open).targetHosts == .all)
    }

    @Test("never repeat a secret in an error")
    func secretsStayHidden() throws {
        let short = try complaint(["CARILLON_ADMIN_KEY": "hunter2"])
        #expect(!short.contains("hunter2"))
        let url = try complaint(["CARILLON_DATABASE_URL": "mysql-hunter2"])
        #expect(!url.contains("hunter2"))
    }

    @Test(
        "never show a password that stands in an address",
        arguments: [
            ("PROVIDER_PROXY", "http://deborah:hunter2@proxy"), ("PROVIDER_PROXY", "deborah:hunter2@proxy:port"),
            ("PROVIDER_PROXY", "http://deborah:hunter2%zz@proxy:3128"),
            ("PROVIDER_PROXY", "http://debo%3Arah:hunter2@proxy:3128"),
            ("PROVIDER_PROXY", "http://deborah:hunter2%0a@proxy:1"),
            ("PROVIDER_PROXY", "https://deborah:hunter2@proxy:1"),
            ("APNS_PRODUCTION_URL", "https://deborah:hunter2@api.push.apple.com"),
            ("APNS_SANDBOX_URL", "https://hunter2@api.push.apple.com"), ("LISTEN", "deborah:hunter2@127.0.0.1:80"),
            ("DATABASE_URL", "mysql://deborah:hunter2@db/carillon"),
        ])
    func passwordsInAddressesStayHidden(name: String, value: String) throws {
        let environment = ["CARILLON_" + name: value]
        let line = try complaint(environment)
        #expect(line.hasPrefix("CARILLON_\(name) (environment) must be "))
        let listing = SettingsListing.lines(try SettingsReader(environment: environment)).joined(separator: "\n")
        for text in [line, listing] { #expect(!text.contains("hunter2") && !text.contains("deborah")) }
    }

    @Test(
        "take user and password of the proxy from its URL",
        arguments: [
            ("http://proxy:3128", nil), ("http://@proxy:3128", nil),
            ("http://deborah:hunter2@proxy:3128", "deborah:hunter2"),
            ("deborah:hunter2@proxy:3128", "deborah:hunter2"), ("http://deborah@proxy:3128", "deborah:"),
            ("http://d%C3%A9borah:h%3A%40%2Fr2:@proxy:3128", "déborah:h:@/r2:"),
        ])
    func proxyAuthorization(value: String, userinfo: String?) throws {
        let environment = ["CARILLON_PROVIDER_PROXY": value]
        let proxy = try #require(try read(environment).providerProxy)
        #expect(proxy.forLanes.host == "proxy" && proxy.forLanes.port == 3128)
        let expected = userinfo.map { "Basic " + Data($0.utf8).base64EncodedString() }
        #expect(proxy.forLanes.authorization?.revealed == expected.map { Array($0.utf8) })
        #expect("\(proxy)" == "proxy:3128")
        let listing = SettingsListing.lines(try SettingsReader(environment: environment)).joined(separator: "\n")
        #expect(listing.contains("proxy:3128  [environment]"))
        for secret in ["deborah", "borah", "hunter2", "r2:"] { #expect(!listing.contains(secret)) }
    }

    @Test("appear once each in the JSON listing, without secrets")
    func listedAsJSON() throws {
        let environment = [
            "CARILLON_ADMIN_KEY": String(repeating: "k", count: 40), "CARILLON_LEASE_SECONDS": "77",
            "CARILLON_LEESE_SECONDS": "77",
        ]
        let listing = SettingsListing.json(try SettingsReader(environment: environment))
        let rows = try #require(listing.object?["items"]?.array).compactMap(\.object)
        #expect(Set(rows.compactMap { $0["name"]?.string }).count == SettingsCatalogue.all.count)
        let lease = try #require(rows.first { $0["name"] == "CARILLON_LEASE_SECONDS" })
        #expect(lease["value"] == "77" && lease["source"] == "environment" && lease["default"] == "60")
        #expect(listing.object?["unknown"] == ["CARILLON_LEESE_SECONDS"] && listing.object?["next"] == .null)
        #expect(!String(decoding: listing.bytes, as: UTF8.self).contains("kkkk"))
    }

    @Test(
        "require certificate and key of TLS together",
        arguments: [("CERTIFICATE", "KEY"), ("KEY", "CERTIFICATE")])
    func halfAnIdentity(given: String, missing: String) throws {
        let line = try complaint(["CARILLON_TLS_\(given)": "/etc/half.pem"])
        #expect(line.hasPrefix("CARILLON_TLS_\(missing) is missing"))
        let whole = try read(["CARILLON_TLS_CERTIFICATE": "/etc/chain.pem", "CARILLON_TLS_KEY": "/etc/key.pem"])
        #expect(whole.tlsCertificateFile == "/etc/chain.pem" && whole.tlsKeyFile == "/etc/key.pem")
    }

    @Test("require the master key if the database is not the private one")
    func masterKeyIsNeeded() throws {
        let line = try complaint(["CARILLON_DATABASE_URL": "postgresql://carillon@db/carillon"])
        #expect(line.hasPrefix("CARILLON_MASTER_KEY_FILE is missing"))
        let settings = try read([
            "CARILLON_DATABASE_URL": "postgresql://carillon@db/carillon", "CARILLON_MASTER_KEY_FILE": "/etc/key",
            "CARILLON_ADMIN_KEY": String(repeating: "k", count: 32),
        ])
        #expect(settings.masterKeyFile == "/etc/key")
    }

    @Test("require a lease that is longer than the request deadline")
    func leaseOutlivesRequests() throws {
        let line = try complaint(["CARILLON_LEASE_SECONDS": "5", "CARILLON_REQUEST_DEADLINE_SECONDS": "5"])
        #expect(line == "CARILLON_LEASE_SECONDS must be more than CARILLON_REQUEST_DEADLINE_SECONDS")
    }

    @Test(
        "refuse a file that is missing, malformed or contains an unknown setting",
        arguments: [
            "{", "[]", #"{"lissten": "x"}"#, #"{"LISTEN": "127.0.0.1:1"}"#, #"{"listen": ["127.0.0.1:1"]}"#,
            #"{"listen": true}"#,
        ])
    func badFiles(text: String) throws {
        try withFile(text) { path in
            let line = try complaint(["CARILLON_SETTINGS_FILE": path])
            #expect(line.contains(path))
            #expect(!line.contains("\n"))
        }
        #expect(try complaint(["CARILLON_SETTINGS_FILE": "/nowhere/at/all.json"]).contains("can't be read"))
    }

    @Test(
        "stop the start with a setting that this version does not support",
        arguments: ["CREDENTIALS_DIR", "HMS_URL", "HMS_TOKEN_URL"])
    func planned(name: String) throws {
        let line = try complaint(["CARILLON_" + name: "x"])
        #expect(line.hasPrefix("CARILLON_\(name) (environment) is not supported by this version: leave it out; "))
        #expect(try read(["CARILLON_" + name: ""]).listen.port == 8080)
        try withFile(#"{"\#(name.lowercased())": "x"}"#) { path in
            let line = try complaint(["CARILLON_SETTINGS_FILE": path])
            #expect(line.contains("is not supported by this version"))
        }
    }

    @Test("report unknown variables that begin with CARILLON_, and the nearest known name")
    func unknownVariables() throws {
        let reader = try SettingsReader(environment: [
            "CARILLON_LISTNE": "x", "CARILLON_LISTEN": "127.0.0.1:1", "CARILLON_SERVICE_HOST": "x", "HOME": "/",
        ])
        #expect(reader.unknownVariables.map(\.name) == ["CARILLON_LISTNE", "CARILLON_SERVICE_HOST"])
        #expect(reader.unknownVariables.map(\.nearest) == ["CARILLON_LISTEN", nil])
        let advice = SettingsListing.lines(reader).filter { $0.hasSuffix("Did you mean CARILLON_LISTEN?") }
        #expect(advice.map { $0.hasPrefix("CARILLON_LISTNE is set, but is not a setting") } == [true])
    }

    @Test("stop the start with an unknown member of the file, and name the nearest setting")
    func unknownMember() throws {
        for (member, meant) in [("lsiten", "listen"), ("LISTEN", "listen"), ("lease_second", "lease_seconds")] {
            try withFile(#"{"\#(member)": "x"}"#) { path in
                let line = try complaint(["CARILLON_SETTINGS_FILE": path])
                #expect(line.contains("\"\(member)\" is not a setting; did you mean \"\(meant)\"?"), "\(line)")
            }
        }
    }

    @Test("appear in docs/operations.md exactly as carillon settings --markdown prints them")
    func operations() throws {
        let root = URL(filePath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let page = try String(contentsOf: root.appending(path: "docs/operations.md"), encoding: .utf8)
        #expect(page.contains(SettingsListing.markdown + "\n"))
    }

    @Test("appear in the listing with default, source and meaning, and without secrets")
    func listing() throws {
        let key = String(repeating: "k", count: 40)
        let lines = SettingsListing.lines(
            try SettingsReader(environment: ["CARILLON_ADMIN_KEY": key, "CARILLON_LISTEN": "0.0.0.0:9"]))
        let text = lines.joined(separator: "\n")
        for name in SettingsCatalogue.all.map(\.name) { #expect(lines.contains("CARILLON_" + name)) }
        #expect(!text.contains(key))
        #expect(text.contains("(hidden)  [environment]"))
        #expect(text.contains("0.0.0.0:9  [environment]\n    default: 127.0.0.1:8080"))
    }
}
