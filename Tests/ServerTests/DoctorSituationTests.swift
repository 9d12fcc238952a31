import CommandLine
import JSON
import Postgres
import Server
import Store
import Testing

/// The doctor's rules for what an operator set up. The journeys show the same situations with a real database.
@Suite("The doctor of an operator's setup")
struct DoctorSituationTests {
    private static func place() throws -> DatabasePlace {
        .named(try PostgresSettings(parsing: "postgresql://carillon:pass-of-a-test@db.example.com/garden"))
    }

    @Test(
        "names each reason why PostgreSQL lets nobody in, with its remedy and without the password",
        arguments: [
            (UnavailableReason.rejected(.databaseMissing), "has no database of this name", "createdb"),
            (.rejected(.invalidPassword), "refuses the user or the password", "correct the user and the password"),
            (.rejected(.invalidAuthorization), "has no such role, or its pg_hba.conf", "createuser"),
            (.rejected(.invalidAuthorization), "does not let the role in", "ALTER ROLE carillon LOGIN"),
            (
                .rejected(.insufficientPrivilege), "the role may not connect to the database",
                "GRANT CONNECT ON DATABASE garden TO carillon"
            ),
            (
                .rejected(.notInPrerequisiteState), "the database accepts no connections",
                "ALTER DATABASE garden ALLOW_CONNECTIONS true"
            ),
            (.rejected(.tooManyConnections), "has no free connection", "max_connections"),
            (.unreachable, "no PostgreSQL server answers", "start it"),
            (.nameUnknown, "the host's name is not known", "name server"),
        ])
    func unusable(reason: UnavailableReason, cause: String, remedy: String) throws {
        let finding = DoctorRules.unusable(reason, .unavailable(reason), at: try Self.place())
        #expect(finding.level == .bad && finding.subject == "database")
        #expect(finding.text.hasPrefix("the database postgresql://carillon@db.example.com:5432/garden can't be used: "))
        #expect(finding.text.contains(cause) && finding.remedy?.contains(remedy) == true, "\(finding)")
        #expect(!finding.text.contains("pass-of-a-test"))
    }

    @Test("asks the gateway, and names what it hears")
    func gateway() {
        func finding(_ answer: GatewayAnswer, isService: Bool = false) -> Finding {
            DoctorRules.gateway(answer, at: "127.0.0.1:8080", isService: isService)
        }
        #expect(finding(GatewayAnswer(status: 200, ["status": "ready"])).level == .good)
        let waiting = finding(GatewayAnswer(status: 503, ["code": "not_ready", "detail": "The database is away."]))
        #expect(waiting.level == .bad && waiting.text.hasSuffix("is not ready: The database is away. (not_ready)"))
        for (status, body) in [
            (200, nil), (200, ["status": "UP"]), (404, ["error": "x"]), (503, nil),
        ] as [(Int, JSONValue?)] {
            let foreign = finding(GatewayAnswer(status: status, body))
            #expect(foreign.level == .bad && foreign.text == "another program answers at 127.0.0.1:8080 (\(status))")
        }
        let stopped = finding(.unreachable(.connectionRefused), isService: true)
        #expect(stopped.level == .bad && stopped.remedy?.hasPrefix("systemctl start carillon") == true)
        #expect(finding(.unreachable(.timedOut)).remedy?.hasPrefix("start it with carillon serve") == true)
        #expect(finding(.portUnknown).level == .unchecked)
    }

    @Test("ends with what was not checked, and calms about nothing else")
    func conclusion() {
        let (good, bad) = (Finding.good("a", "b"), Finding.bad("c", "d", "e"))
        let unchecked = [Finding.unchecked("gateway", "f", "g"), .unchecked("database", "h", "i")]
        #expect(DoctorRules.conclusion([good]) == "Nothing keeps the gateway from working.")
        #expect(DoctorRules.conclusion([good, bad]) == "1 to be fixed.")
        #expect(DoctorRules.conclusion([bad] + unchecked) == "1 to be fixed. Not checked: gateway, database.")
        #expect(
            DoctorRules.conclusion([good] + unchecked)
                == "No fault in what was checked. Not checked: gateway, database.")
    }

    @Test("names a database that answers and can't be written to", arguments: DatabaseCondition.allCases)
    func impaired(condition: DatabaseCondition) {
        let finding = DoctorRules.impaired(condition)
        #expect(finding.level == .bad && finding.subject == "database" && finding.remedy?.isEmpty == false)
        #expect(finding.text == "\(condition.sentence): all work waits")
    }

    @Test("notes each setting with which a crash may lose messages, and says which level was raised")
    func durability() {
        let level = { DoctorRules.durability(DatabaseDurability(commitLevel: $0, dangers: [])) }
        for strong in ["on", "remote_apply"] {
            #expect(level(strong).level == .good && level(strong).text.hasSuffix("(synchronous_commit is \(strong))"))
        }
        for weak in ["off", "local", "remote_write"] {
            let found = level(weak)
            #expect(found.level == .good && found.text.hasPrefix("synchronous_commit is \(weak) by default"))
        }
        let unsafe = DoctorRules.durability(
            DatabaseDurability(commitLevel: "off", dangers: ["fsync", "full_page_writes"]))
        #expect(unsafe.level == .note)
        #expect(unsafe.text.contains(": fsync = off, full_page_writes = off; synchronous_commit is off by default"))
        let strong = DoctorRules.durability(DatabaseDurability(commitLevel: "on", dangers: ["fsync"]))
        #expect(strong.text.hasSuffix(": fsync = off"))
        #expect(unsafe.remedy?.contains("fsync = on, full_page_writes = on") == true)
    }

    @Test("notes each unknown setting, with the known name that is nearest")
    func unknownSettings() {
        #expect(DoctorRules.settings(unknown: []).map(\.level) == [.good])
        let known = ["CARILLON_LISTEN", "CARILLON_LEASE_SECONDS"]
        let found = DoctorRules.settings(
            unknown: ["CARILLON_LISTNE", "CARILLON_SERVICE_HOST"].map { UnknownSetting(name: $0, known: known) })
        #expect(found.map(\.level) == [.note, .note])
        #expect(found[0].text.hasPrefix("CARILLON_LISTNE is not a setting of this version"))
        #expect(found[0].remedy == "did you mean CARILLON_LISTEN?")
        #expect(found[1].remedy?.hasPrefix("leave it out") == true)
    }

    @Test(
        "notes plain HTTP at an address that other machines reach",
        arguments: [
            ("127.0.0.1", true), ("127.1.2.3", true), ("::1", true), ("localhost", true), ("0.0.0.0", false),
            ("::", false), ("192.168.1.7", false), ("gateway.example.com", false),
        ])
    func plainHTTP(host: String, isQuiet: Bool) {
        let findings = DoctorRules.plainHTTP(at: ListenAddress(host: host, port: 8080))
        #expect(findings.map(\.level) == (isQuiet ? [] : [.note]))
        #expect(findings.allSatisfy { $0.subject == "TLS" && $0.remedy?.contains("CARILLON_TLS_CERTIFICATE") == true })
    }

    @Test("notes a TLS chain that lacks its issuer, by name")
    func chain() {
        #expect(DoctorRules.chain(missing: nil, in: "server.pem").isEmpty)
        let finding = DoctorRules.chain(missing: "R11", in: "server.pem").first
        #expect(finding?.level == .note && finding?.text.contains("\"R11\"") == true)
    }

    @Test("notes a topic that no credential covers, with the command that adds one")
    func uncovered() {
        let finding = DoctorRules.uncovered(
            UncoveredTopic(
                app: "garden", provider: .apns, environment: .production, topic: "com.example.garden",
                registrations: 12))
        #expect(finding.level == .note && finding.subject == "app garden")
        #expect(finding.text.hasPrefix("apns production, topic com.example.garden: no active credential covers it"))
        #expect(finding.text.hasSuffix("registered tokens that need one: 12"))
        #expect(finding.remedy?.hasPrefix("carillon credentials add --app garden") == true)
    }
}
