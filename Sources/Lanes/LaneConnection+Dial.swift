import HTTP2
import LaneRules
import Reactor
import TLS

// Dialling: from a name to an open HTTP/2 connection, step by step.
extension LaneConnection {
    func resolved(_ result: Result<[SocketAddress], ReactorError>) {
        switch result {
        case .success(let found):
            addresses = DialOrder.arrange(found, start: Int(truncatingIfNeeded: id.value))
            if addresses.isEmpty { detail = "no address" }
        case .failure(let error): detail = error.description
        }
        handle(.resolved(addresses: addresses.count))
    }

    func connect(to address: SocketAddress) {
        dropSocket()
        do throws(ReactorError) { socket = try StreamSocket.connect(to: address) } catch {
            detail = error.description
            return handle(.connectFailed)
        }
        watch(.write)
    }

    func finishConnecting() {
        do throws(ReactorError) { try socket?.connectResult() } catch {
            detail = error.description
            return handle(.connectFailed)
        }
        handle(.connected(throughProxy: core.settings.proxy != nil))
    }

    func askProxy() {
        guard let proxy = core.settings.proxy else { return }
        tunnel = ProxyTunnel()
        unsent += ProxyTunnel.request(
            host: core.settings.host, port: core.settings.port, authorization: proxy.authorization?.revealed)
        writeUnsent()
    }

    func takeProxyAnswer(_ bytes: Span<UInt8>) {
        switch tunnel?.take(bytes) {
        case .needsMore, nil: return
        case .refused(let status):
            fail(.unreachable, status.map { "proxy answered \($0)" } ?? "proxy did not answer in HTTP")
        case .open(let remaining):
            tunnel = nil
            handle(.tunnelled)
            takeCiphertext(remaining.span)
        }
    }

    func secure() {
        do throws(TLSError) {
            let session = try TLSSession(core.settings.tls, serverName: core.settings.host)
            tls = session
            try session.advance()
        } catch { return fail(.tlsRefused, error.description) }
        flush()
    }

    func sendPreface() {
        guard tls?.alpn == "h2" else { return fail(.tlsRefused, "the peer did not choose h2") }
        do throws(HTTP2Fault) {
            session = try HTTP2ClientSession(core.settings.sessionSettings)
        } catch {
            return fail(.protocolViolation, "\(error)")
        }
        flush()
    }
}

extension LaneSettings {
    var sessionSettings: HTTP2ClientSettings {
        var session = HTTP2ClientSettings()
        session.streamLimitAtStart = streamsAtStart
        session.streamsMax = LaneSettings.streamsMax
        session.responseBodyBytesMax = answerRules.bodyBytesMax
        session.keepsHeadersOfSuccess = answerRules.successIsInBody
        return session
    }

    /// Our own bound on a connection's open streams, whatever the peer allows: Apple has allowed up to 1,500.
    static let streamsMax = 2_000
}
