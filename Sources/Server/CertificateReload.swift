import API
import Basis
import Calendar
import Logging
import ServiceLifecycle
import UnixSignals

/// Reads the certificate of the API's port again at each SIGHUP.
struct CertificateReload: NamedService {
    let description = "TLS certificate"
    let files: ListenerFiles?
    let identity: ServedIdentity?
    let log: Logger

    func run() async throws {
        let signals = await UnixSignalsSequence(trapping: .sighup)
        await cancelWhenGracefulShutdown {
            for await _ in signals { reload() }
        }
    }

    private func reload() {
        guard let files, let identity else {
            return log.notice("SIGHUP ignored: the API's port has no TLS certificate")
        }
        do throws(StartFault) {
            let fresh = try files.read()
            identity.replace(by: fresh)
            let end = WallInstant(secondsSince1970: fresh.notAfterSeconds)
            log.notice(
                "TLS certificate read again: new connections get it",
                metadata: ["expires_at": "\(RFC3339.format(end))"])
        } catch {
            log.error("TLS certificate can't be used: the old one stays in use", metadata: ["fault": "\(error)"])
        }
    }
}
