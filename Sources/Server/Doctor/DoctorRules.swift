import Basis
import Calendar
import CommandLine
import JSON
import Store
import WakeUpStore

package struct Finding: Equatable, Sendable {
    package enum Level: String, Sendable { case good, note, bad, unchecked }

    package let level: Level
    package let subject: String
    package let text: String
    package let remedy: String?

    package static func good(_ subject: String, _ text: String) -> Finding {
        Finding(level: .good, subject: subject, text: text, remedy: nil)
    }

    /// Nothing is wrong yet, or nothing that stops the gateway.
    package static func note(_ subject: String, _ text: String, _ remedy: String? = nil) -> Finding {
        Finding(level: .note, subject: subject, text: text, remedy: remedy)
    }

    /// Nothing is known about it.
    package static func unchecked(_ subject: String, _ text: String, _ remedy: String) -> Finding {
        Finding(level: .unchecked, subject: subject, text: text, remedy: remedy)
    }

    package static func bad(_ subject: String, _ text: String, _ remedy: String) -> Finding {
        Finding(level: .bad, subject: subject, text: text, remedy: remedy)
    }
}

extension Finding {
    /// 1: something keeps the gateway from working.
    package static func exitCode(_ findings: [Finding]) -> Int32 { findings.contains { $0.level == .bad } ? 1 : 0 }

    package static func json(_ findings: [Finding]) -> JSONValue {
        let items = findings.map { finding -> JSONValue in
            [
                "level": .string(finding.level.rawValue), "subject": .string(finding.subject),
                "finding": .string(finding.text), "remedy": finding.remedy.map(JSONValue.string) ?? .null,
            ]
        }
        return ItemList(items).json
    }
}

package enum DoctorRules {
    /// A provider's Date header has whole seconds, and came over the network.
    private static let providersSkewMax: Int64 = 60
    private static let filesWanted = 4_096
    private static let daysBeforeExpiry: Int64 = 30
    /// A fan-out takes milliseconds, and the slowest wait for a push is some seconds.
    private static let dueMax: Duration = .seconds(60)
    private static let zonesNamed = 5

    /// Judges the hard limit, to which the gateway raises its own.
    ///
    /// - Parameter limits: as the kernel writes them in /proc/self/limits.
    package static func files(limits: String) -> Finding {
        let line = limits.split(separator: "\n").first { $0.hasPrefix("Max open files") }
        guard let text = line?.split(separator: " ").dropFirst(4).first else {
            return .note("open files", "the limit can't be read")
        }
        guard text != "unlimited" else { return .good("open files", "unlimited") }
        guard let allowed = Int(text) else { return .note("open files", "the limit can't be read") }
        guard allowed < filesWanted else { return .good("open files", "\(allowed) allowed") }
        return .note(
            "open files", "\(allowed) allowed; many clients at once need more",
            "LimitNOFILE=65536 in the unit file, or ulimit -Hn 65536")
    }

    /// - Parameter file: one with a secret that every user of this machine may read. In a container that may be intended.
    package static func exposed(_ file: String) -> Finding {
        .note("secrets", "every user of this machine can read \(file)", "chmod 600 '\(file)', as the gateway's user")
    }

    /// "APNs production: key ABCDE12345 (credential 1)".
    package static func name(of credential: CredentialRecord, _ facts: JSONObject) -> String {
        var shown = facts
        shown["id"] = .string(String(credential.id.value))
        shown["kind"] = .string(credential.kind.rawValue)
        let place = CredentialText.place(provider: credential.provider.name, environment: credential.environment.name)
        return "\(place): \(CredentialText.title(of: .object(shown)))"
    }

    /// - Parameter refusal: the latest one that holds; nil: the credential works, as far as is known.
    package static func credential(
        _ subject: String, _ name: String, notAfterSeconds end: Int64?, refusal: CredentialRefusal?, now: WallInstant
    ) -> Finding {
        if let refusal {
            let why = refusal.isByProvider ? "is refused by the provider" : "can't be used"
            return .bad(subject, "\(name) \(why): \(refusal.reason)", "add a working one, and activate it")
        }
        guard let end else { return .good(subject, "\(name), active") }
        return expiry(
            subject, name, end, now, ifValid: ", active,", remedy: "renew it at the provider, add it, and activate it")
    }

    static func expiry(
        _ subject: String, _ name: String, _ end: Int64, _ now: WallInstant, ifValid verb: String = " is",
        remedy: String
    ) -> Finding {
        let left = end - now.secondsSince1970
        let days = left / 86_400
        guard left > 0 else { return .bad(subject, "\(name) has expired", remedy) }
        return days < daysBeforeExpiry
            ? .note(subject, "\(name) expires in \(days) days", remedy)
            : .good(subject, "\(name)\(verb) valid for \(days) days")
    }

    /// - Parameters:
    ///   - theirs: nil: its answer has no time that can be read.
    ///   - speaksHTTP2: whether it chose HTTP/2 in the TLS handshake (ALPN).
    package static func provider(
        _ name: String, at place: String, speaksHTTP2: Bool, theirs: WallInstant?, now: WallInstant, isUsed: Bool
    ) -> Finding {
        guard speaksHTTP2 else {
            let text = "\(place) answers without HTTP/2 (ALPN h2), and pushes need it"
            let remedy =
                "a proxy or firewall that intercepts TLS answers instead: let the provider through, or let it offer h2"
            return isUsed ? .bad(name, text, remedy) : .note(name, text, remedy)
        }
        guard let theirs else { return .good(name, "\(place) answers") }
        let skew = abs(theirs.secondsSince1970 - now.secondsSince1970)
        guard skew > providersSkewMax else { return .good(name, "\(place) answers, and agrees with our clock") }
        return .bad(
            name, "\(place) answers, and its clock differs from ours by \(skew) s: our tokens would be refused",
            "synchronise the clock (timedatectl set-ntp true)")
    }

    package static func unreachable(
        _ name: String, at place: String, _ trouble: NetworkTrouble, port: UInt16, hasProxy: Bool, isUsed: Bool
    ) -> Finding {
        let remedy =
            switch trouble {
            case .nameUnknown: hasProxy ? "check the proxy's name server" : "check the name server (/etc/resolv.conf)"
            case .certificateUntrusted:
                "a proxy or firewall that intercepts TLS answers instead: let the provider through, or name its "
                    + "authority in CARILLON_PROVIDER_CA_FILE"
            case .certificateExpired, .certificateNotYetValid:
                "check this machine's clock (timedatectl set-ntp true), and what answers in the provider's place"
            case .certificateOfOtherNames, .lacksTLS, .noTLS:
                "check what answers in the provider's place: a proxy, a firewall, or a CARILLON_..._URL of yours"
            case .proxyRefuses: "check CARILLON_PROVIDER_PROXY, its user name and password"
            case .connectionRefused, .noWayThere, .noConnection, .timedOut, .closed, .errorNumber, .other:
                "check the firewall (outgoing TCP \(port)), and "
                    + (hasProxy ? "the proxy" : "CARILLON_PROVIDER_PROXY where there is a proxy")
            }
        let text = "\(place) can't be reached: \(trouble.sentence)"
        // A gateway that sends to APNs only may be behind a firewall that blocks Google.
        return isUsed ? .bad(name, text, remedy) : .note(name, text, remedy)
    }

    /// A throttling provider is a note: nothing is to be done about it.
    package static func wait(_ wait: RouteWait) -> Finding {
        let place = WaitPlace(provider: wait.provider.name, environment: wait.environment.name, topic: wait.topic)
        let explanation = WaitText.Explanation(
            wait.cause, app: wait.app, at: place, since: wait.since.map(RFC3339.format), reason: wait.reason)
        guard let explanation else { return .note("app \(wait.app)", "pushes wait: \(wait.cause.name)") }
        let text = "pushes wait: \(explanation.why)"
        return wait.cause == .throttled
            ? .note("app \(wait.app)", text, explanation.remedy) : .bad("app \(wait.app)", text, explanation.remedy)
    }

    /// - Parameter zones: those of all apps, the most frequent first.
    package static func timeZones(unknown zones: [UnknownTimeZone]) -> Finding {
        guard !zones.isEmpty else { return .good("time zones", "the database knows those of all registrations") }
        let count = zones.reduce(0) { $0 + $1.registrations }
        let named = zones.prefix(zonesNamed).map(\.name).joined(separator: ", ")
        return .note(
            "time zones",
            "\(count) registrations use their app's clock, because the database does not know their time zones: \(named)"
                + (zones.count > zonesNamed ? ", ..." : ""),
            "update the database server's time zones (its package tzdata), or correct the registrations")
    }

    package static func uncovered(_ topic: UncoveredTopic) -> Finding {
        let place =
            "\(topic.provider.name) \(topic.environment.name)" + (topic.topic.isEmpty ? "" : ", topic \(topic.topic)")
        return .note(
            "app \(topic.app)",
            "\(place): no active credential covers it; registered tokens that need one: \(topic.registrations)",
            WaitText.remedy(
                app: topic.app, provider: topic.provider.name, environment: topic.environment.name, topic: topic.topic,
                isRefused: false))
    }

    package static func refused(_ refused: RefusedRoute) -> Finding {
        let place =
            "\(refused.provider.name) \(refused.environment.name)"
            + (refused.topic.isEmpty ? "" : ", topic \(refused.topic)")
        let sample = refused.sample
        return .bad(
            "app \(refused.app)",
            "\(place): \(sample.suspected) of the latest \(sample.answered) answers blame the token: the project, bundle "
                + "id or environment is probably wrong, so no token was retired",
            "compare those of the app's build with the credential's; carillon messages failures shows the reasons")
    }

    /// - Parameter counts: those of all apps.
    package static func wakeUp(_ counts: WakeUpCounts, now: WallInstant) -> Finding {
        func number(_ count: Int64, _ one: String, _ many: String) -> String {
            // A count ends at its limit.
            "\(count)\(count >= SubscriptionStore.countMax ? " or more" : "") \(count == 1 ? one : many)"
        }
        let text = [
            number(counts.subscriptions, "subscription", "subscriptions"),
            number(counts.dueWatches, "due watch", "due watches"), number(counts.notices, "notice", "notices"),
        ].joined(separator: ", ")
        guard let since = counts.dueSince, now - since > dueMax else { return .good("wake-up", text) }
        return .note(
            "wake-up", text + "; the oldest watch has been due for \((now - since).components.seconds) s",
            "check that a gateway runs on this database, and its log for \"wake-ups delayed\"")
    }
}
