import Credentials
import Testing

@Suite("The host of a URL in a credential")
struct TargetHostTests {
    @Test(
        "counts as private in every spelling of a private host",
        arguments: [
            "localhost", "LOCALHOST", "localhost.", "a.localhost", "metadata.google.internal", "db.local",
            "router.home.arpa", "127.0.0.1", "127.0.0.1.", "127.1", "127.0.1", "0", "0x7f.1", "0x7F000001",
            "2130706433",
            "017700000001", "0177.0.0.1", "127.0.0.01", "10.1", "192.168.257", "169.254.169.254", "0xa9fea9fe", "::1",
            "::ffff:127.0.0.1", "fe80::1", "fd00::1", "a.1", "a.0x", "8.8.8.8.8", "8.8.8", ".", "a..",
        ])
    func hidden(host: String) {
        #expect(TargetHost.isPrivate(host), "\(host)")
    }

    @Test(
        "counts as public as an ordinary name or a public address",
        arguments: [
            "oauth2.googleapis.com", "OAUTH2.GOOGLEAPIS.COM.", "8.8.8.8", "2001:4860:4860::8888", "1.1.1.1.example.com",
            "local.example.com", "internal.io", "0x.example", "3com.com", "xn--p1ai",
        ])
    func open(host: String) {
        #expect(!TargetHost.isPrivate(host), "\(host)")
    }

    @Test("must be listed behind a proxy, where it could have any address")
    func listed() {
        let hosts = TargetHosts.listed(["oauth2.googleapis.com", "tokens.example.com"])
        for host in ["oauth2.googleapis.com", "OAUTH2.googleapis.com.", "tokens.example.com"] {
            #expect(hosts.allows(host), "\(host)")
        }
        for host in ["intranet.example.com", "example.com", "8.8.8.8", ""] {
            #expect(!hosts.allows(host), "\(host)")
        }
    }
}
