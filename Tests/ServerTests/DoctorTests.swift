import Basis
import CommandLine
import Model
import QueueRules
import Server
import Store
import Testing
import WakeUpStore

@Suite("The doctor")
struct DoctorTests {
    /// 2026-12-01T12:00:00Z
    private static let noon = WallInstant(secondsSince1970: 1_796_126_400)

    private static func limits(_ files: String) -> String {
        """
        Limit                     Soft Limit           Hard Limit           Units
        Max cpu time              unlimited            unlimited            seconds
        Max open files            256                  \(files)              files

        """
    }

    @Test("notes a low limit of open files, and an unknown one")
    func files() {
        #expect(DoctorRules.files(limits: Self.limits("65536")).level == .good)
        #expect(DoctorRules.files(limits: Self.limits("4096")).level == .good)
        #expect(DoctorRules.files(limits: Self.limits("unlimited")).level == .good)
        let few = DoctorRules.files(limits: Self.limits("1024"))
        #expect(few.level == .note && few.text.hasPrefix("1024 ") && few.remedy?.contains("65536") == true)
        #expect(DoctorRules.files(limits: "").level == .note)
    }

    @Test(
        "compares the database's clock with the time between request and answer",
        arguments: [(0, true), (3, true), (7, true), (-2, true), (9, true), (-3, false), (10, false), (-3_600, false)])
    func clock(seconds: Int, agrees: Bool) {
        let finding = DoctorRules.clock(
            asked: Self.noon, answered: Self.noon + .seconds(7), theirs: Self.noon + .seconds(seconds))
        #expect(finding.level == (agrees ? .good : .bad), "\(finding)")
        #expect(agrees == (finding.remedy == nil))
    }

    @Test("notes missing migrations without reporting a failure")
    func schema() {
        #expect(DoctorRules.schema(migrationsMissing: 0).level == .good)
        let finding = DoctorRules.schema(migrationsMissing: 2)
        #expect(finding.level == .note && finding.text.hasPrefix("2 ") && finding.remedy?.contains("migrate") == true)
    }

    @Test("names each setting that lets tokens into the database's log")
    func databaseLog() {
        #expect(DoctorRules.databaseLog(verbosity: "terse", parameters: "0", parametersOnError: "0").level == .good)
        let loose = DoctorRules.databaseLog(verbosity: "default", parameters: "-1", parametersOnError: "0")
        #expect(loose.level == .note)
        #expect(loose.remedy?.contains("log_error_verbosity = terse") == true)
        #expect(loose.remedy?.contains("log_parameter_max_length = 0") == true)
        #expect(loose.remedy?.contains("on_error") == false)
        let onError = DoctorRules.databaseLog(verbosity: "terse", parameters: "0", parametersOnError: "-1")
        #expect(onError.remedy?.contains("log_parameter_max_length_on_error = 0") == true)
    }

    @Test("counts registrations whose time zone the database does not know, and names some of these")
    func timeZones() {
        #expect(DoctorRules.timeZones(unknown: []).level == .good)
        let zones = (1...6).map { UnknownTimeZone(name: "Nowhere/L\($0)", registrations: Int64(10 - $0)) }
        let finding = DoctorRules.timeZones(unknown: zones)
        #expect(finding.level == .note && finding.text.hasPrefix("39 ") && finding.remedy?.contains("tzdata") == true)
        #expect(finding.text.contains("Nowhere/L5, ...") && !finding.text.contains("Nowhere/L6"))
    }

    @Test("reports the listener's expired certificate with its own remedy")
    func listener() {
        func finding(_ secondsLeft: Int64) -> Finding {
            DoctorRules.listener(notAfterSeconds: Self.noon.secondsSince1970 + secondsLeft, now: Self.noon)
        }
        #expect(finding(-1).level == .bad && finding(86_400).level == .note && finding(90 * 86_400).level == .good)
        #expect(finding(-1).remedy?.contains("SIGHUP") == true)
    }

    @Test(
        "reports an expired certificate as bad, and notes one that expires soon",
        arguments: [
            (-1 as Int64, Finding.Level.bad), (0, .bad), (1, .note), (29 * 86_400, .note), (30 * 86_400, .good),
        ])
    func certificate(secondsLeft: Int64, level: Finding.Level) {
        let finding = DoctorRules.credential(
            "app garden", "APNs production: certificate 7", notAfterSeconds: Self.noon.secondsSince1970 + secondsLeft,
            refusal: nil, now: Self.noon)
        #expect(finding.level == level, "\(finding)")
        #expect(finding.text.contains("certificate 7") && (finding.remedy == nil) == (level == .good))
        if level == .good { #expect(finding.text == "APNs production: certificate 7, active, valid for 30 days") }
    }

    @Test("reports a key as bad only if it is refused, or gets no token")
    func key() {
        func finding(_ reason: String?, isByProvider: Bool = true) -> Finding {
            let refusal = reason.map {
                CredentialRefusal(credential: CredentialID(1), reason: $0, since: Self.noon, isByProvider: isByProvider)
            }
            return DoctorRules.credential(
                "app garden", "apns key", notAfterSeconds: nil, refusal: refusal, now: Self.noon)
        }
        #expect(finding(nil) == .good("app garden", "apns key, active"))
        let refused = finding("InvalidProviderToken")
        #expect(refused.level == .bad && refused.text.hasSuffix("is refused by the provider: InvalidProviderToken"))
        let tokenless = finding("invalid_grant", isByProvider: false)
        #expect(tokenless.level == .bad && tokenless.text.hasSuffix("can't be used: invalid_grant"))
    }

    @Test(
        "names every cause for which pushes wait, since when and why, with a remedy",
        arguments: PushWait.Cause.allCases)
    func waits(_ cause: PushWait.Cause) {
        let wait = RouteWait(
            app: "garden", provider: .fcm, environment: .production, topic: "", cause: cause, reason: "invalid_grant",
            since: Self.noon)
        let finding = DoctorRules.wait(wait)
        // These keep a message, and no route.
        let isOfMessage = cause == .onHold || cause == .later || cause.isReady
        #expect(finding.level == (cause == .throttled || isOfMessage ? .note : .bad), "\(finding)")
        guard !isOfMessage else { return }
        #expect(finding.subject == "app garden" && finding.remedy?.isEmpty == false)
        #expect(finding.text.hasPrefix("pushes wait: ") && finding.text.contains(" since 2026-12-01T12:00:00.000Z"))
        let hasReason = ![.credential, .topicMissing, .newerProgram].contains(cause)
        #expect(finding.text.contains("(invalid_grant)") == hasReason, "\(finding)")
    }

    @Test("reports a whole audience that is refused as if its tokens were wrong")
    func refused() {
        let finding = DoctorRules.refused(
            RefusedRoute(
                route: RouteID(1), app: "garden", provider: .fcm, environment: .production, topic: "",
                sample: AnswerSample(answered: 120, suspected: 118)))
        #expect(finding.level == .bad && finding.subject == "app garden")
        #expect(finding.text.hasPrefix("fcm production: 118 of the latest 120 answers blame the token"))
        #expect(finding.text.contains("project, bundle id or environment") && finding.remedy != nil)
    }

    @Test("reports a provider as good if it answers and its clock agrees")
    func provider() {
        func finding(_ seconds: Int?) -> Finding {
            DoctorRules.provider(
                "APNs", at: "api.push.apple.com:443", speaksHTTP2: true,
                theirs: seconds.map { Self.noon + .seconds($0) }, now: Self.noon, isUsed: true)
        }
        #expect(finding(nil).level == .good && finding(60).level == .good && finding(-60).level == .good)
        #expect(finding(61).level == .bad && finding(-61).level == .bad)
        #expect(finding(3_600).text.contains("3600 s"))
    }

    @Test("reports a provider that answers without HTTP/2 as bad if it is used")
    func withoutHTTP2() {
        for (isUsed, level) in [(true, Finding.Level.bad), (false, .note)] {
            let finding = DoctorRules.provider(
                "APNs", at: "api.push.apple.com:443", speaksHTTP2: false, theirs: Self.noon, now: Self.noon,
                isUsed: isUsed)
            #expect(finding.level == level && finding.text.contains("without HTTP/2 (ALPN h2)"))
        }
    }

    @Test("reports an unreachable provider as bad if it is used, with a remedy for the cause")
    func unreachable() {
        func finding(_ trouble: NetworkTrouble, hasProxy: Bool = false, isUsed: Bool = true) -> Finding {
            DoctorRules.unreachable(
                "FCM", at: "fcm.googleapis.com:443", trouble, port: 443, hasProxy: hasProxy, isUsed: isUsed)
        }
        #expect(finding(.connectionRefused).level == .bad && finding(.connectionRefused, isUsed: false).level == .note)
        #expect(finding(.noConnection).remedy?.contains("TCP 443") == true)
        #expect(finding(.noConnection, hasProxy: true).remedy?.contains("PROVIDER_PROXY") == false)
        #expect(finding(.nameUnknown).remedy?.contains("name server") == true)
        #expect(finding(.certificateUntrusted).remedy?.contains("CARILLON_PROVIDER_CA_FILE") == true)
    }

    @Test("names the variables that change the database's address")
    func variables() {
        #expect(DoctorRules.variables([]) == [])
        let findings = DoctorRules.variables(["PGOPTIONS", "PGSSLMODE"])
        #expect(findings.map(\.level) == [.note] && findings[0].text.hasPrefix("PGOPTIONS, PGSSLMODE are set"))
    }

    @Test("notes a stopped private PostgreSQL, and reports one that cannot start as bad")
    func privateServer() {
        #expect(DoctorRules.privateServer(fault: nil, in: "data").level == .unchecked)
        let finding = DoctorRules.privateServer(fault: .programsMissing, in: "data")
        #expect(finding.level == .bad && finding.remedy?.contains("apt install postgresql") == true)
        let service = PackagedService()
        let beside = DoctorRules.privateServer(fault: nil, in: "data", service: service)
        #expect(beside.remedy?.contains("sudo carillon doctor") == true)
        let stopped = DoctorRules.privateServer(fault: nil, in: service.dataFolder, service: service)
        #expect(stopped.remedy?.contains("systemctl start carillon") == true)
    }

    @Test(
        "notes that watches have been due for more than a minute",
        arguments: [(nil as Int?, Finding.Level.good), (0, .good), (60, .good), (61, .note), (7_200, .note)])
    func wakeUp(dueFor seconds: Int?, level: Finding.Level) {
        var counts = WakeUpCounts()
        (counts.subscriptions, counts.dueWatches, counts.notices) = (12, 2, 1)
        counts.dueSince = seconds.map { Self.noon + .seconds(-$0) }
        let finding = DoctorRules.wakeUp(counts, now: Self.noon)
        #expect(finding.level == level, "\(finding)")
        #expect(finding.text.hasPrefix("12 subscriptions, 2 due watches, 1 notice"))
        #expect((finding.remedy != nil) == (level == .note))
    }

    @Test("counts no wake-ups beyond a limit")
    func manyWakeUps() {
        var counts = WakeUpCounts()
        counts.subscriptions = SubscriptionStore.countMax
        let text = DoctorRules.wakeUp(counts, now: Self.noon).text
        #expect(text == "1000000 or more subscriptions, 0 due watches, 0 notices")
    }

    @Test("prints JSON for scripts, and exits with 0 if there are only notes")
    func scripts() {
        let findings: [Finding] = [.good("clock", "fine"), .note("files", "\"few\"", "more")]
        #expect(Finding.exitCode(findings) == 0)
        #expect(Finding.exitCode(findings + [.bad("database", "gone", "start it")]) == 1)
        #expect(
            String(decoding: Finding.json(findings).bytes, as: UTF8.self)
                == #"{"items":[{"level":"good","subject":"clock","finding":"fine","remedy":null},"#
                + #"{"level":"note","subject":"files","finding":"\"few\"","remedy":"more"}],"next":null}"#)
    }
}
