import Basis
import CommandLine

extension DoctorRules {
    /// The first finding of a doctor that checks the installed service.
    package static func examines(_ service: PackagedService) -> Finding {
        .good("service", "this is about the installed one: \(service.settingsFile), \(service.dataFolder)")
    }

    package static func settings(unknown: [UnknownSetting]) -> [Finding] {
        guard !unknown.isEmpty else { return [.good("settings", "all are valid")] }
        return unknown.map { setting in
            .note(
                "settings", "\(setting.name) is not a setting of this version, and has no effect",
                setting.nearest.map { "did you mean \($0)?" } ?? "leave it out; carillon settings lists them all")
        }
    }

    /// The finding for variables of libpq's, which fill what the database's address leaves open; empty: none is set.
    package static func variables(_ names: [String]) -> [Finding] {
        guard !names.isEmpty else { return [] }
        return [
            .note(
                "database",
                "\(names.joined(separator: ", ")) \(names.count == 1 ? "is" : "are") set, and may change what "
                    + "CARILLON_DATABASE_URL leaves open",
                "unset what is meant for other programs, or name it in the URL")
        ]
    }

    /// The finding for a listener without TLS; empty: only this machine can reach it.
    package static func plainHTTP(at listen: ListenAddress) -> [Finding] {
        guard !listen.isLoopback else { return [] }
        return [
            .note(
                "TLS", "the API listens on \(listen) without TLS: the network can read keys and tokens",
                "set CARILLON_TLS_CERTIFICATE and CARILLON_TLS_KEY, or let a proxy with TLS alone reach this address")
        ]
    }

    package static func listener(notAfterSeconds end: Int64, now: WallInstant) -> Finding {
        expiry("TLS", "the certificate of the HTTP port", end, now, remedy: "renew it, and send the gateway SIGHUP")
    }

    /// - Parameter issuer: the authority whose certificate is missing; nil: none is.
    package static func chain(missing issuer: String?, in file: String) -> [Finding] {
        guard let issuer else { return [] }
        return [
            .note(
                "TLS chain",
                "\(file) lacks the certificate of its issuer, \"\(issuer)\": clients that do not know it refuse to connect",
                "append the intermediate certificate (certbot's fullchain.pem has it), and send the gateway SIGHUP")
        ]
    }
}
