import Basis
import Calendar
import Foundation
import Listener
import Logging
import Reactor
import ServiceLifecycle
import UnixSignals

/// Reads the certificate of the API's port again at each SIGHUP.
struct CertificateReload: NamedService {
    let description = "TLS certificate"
    /// nil: SIGHUP ends the gateway.
    let hangUps: UnixSignalsSequence?
    let files: ListenerFiles?
    let identity: ServedIdentity?
    let log: Logger

    func run() async throws {
        guard let hangUps else { return try await gracefulShutdown() }
        await cancelWhenGracefulShutdown {
            for await _ in hangUps { reload() }
        }
    }

    /// Traps SIGHUP, so that it no longer ends the process. It is called before anything else, because `systemctl reload`
    /// may come during the start. Such a signal is answered after the start.
    ///
    /// - Parameter isEncrypted: whether the API's port has a certificate; nil: not known yet.
    /// - Returns: nil: this terminal's end should end the gateway.
    static func trap(isEncrypted: Bool?) async -> UnixSignalsSequence? {
        let isOnTerminal = isatty(FileHandle.standardInput.fileDescriptor) == 1
        guard !isOnTerminal || isEncrypted == true else { return nil }
        return await UnixSignalsSequence(trapping: .sighup)
    }

    private func reload() {
        guard let files, let identity else {
            return log.notice("SIGHUP ignored: the API's port has no TLS certificate")
        }
        do throws(StartFault) {
            let fresh = try files.read()
            guard fresh.notAfterSeconds > Clocks.wallNow().secondsSince1970 else {
                throw StartFault("the certificate has expired")
            }
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
