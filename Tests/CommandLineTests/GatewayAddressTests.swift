import CommandLine
import Testing

@Suite("The gateway address of a command")
struct GatewayAddressTests {
    @Test(
        "accepts a URL with a host, with or without a port",
        arguments: [
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"), ("http://127.0.0.1:8080/", "http://127.0.0.1:8080"),
            ("https://push.example.com", "https://push.example.com"), ("http://[::1]:8080", "http://[::1]:8080"),
            ("https://[::1]", "https://[::1]"), ("https://example.com/push/", "https://example.com/push"),
        ])
    func taken(text: String, base: String) throws {
        #expect(try GatewayAddress.base(text) == base)
    }

    @Test("comes from CARILLON_URL, then from the address that the gateway listens on")
    func defaults() {
        let listen = ["CARILLON_LISTEN": "0.0.0.0:8443"]
        let named = listen.merging(["CARILLON_URL": "https://push.example.com"]) { $1 }
        #expect(GatewayAddress.text(environment: named) == "https://push.example.com")
        #expect(GatewayAddress.text(environment: listen) == "http://127.0.0.1:8443")
        let encrypted = listen.merging(["CARILLON_TLS_CERTIFICATE": "chain.pem"]) { $1 }
        #expect(GatewayAddress.text(environment: encrypted) == "https://127.0.0.1:8443")
        #expect(GatewayAddress.text(environment: [:]) == "http://127.0.0.1:8080")
    }

    @Test(
        "names a host that can be reached, and a port that is known",
        arguments: [
            ("[::]:8080", "http://[::1]:8080"), ("10.0.0.7:9000", "http://10.0.0.7:9000"),
            ("[fd00::7]:9000", "http://[fd00::7]:9000"), ("127.0.0.1:0", "http://127.0.0.1:8080"),
            ("0.0.0.0", "http://127.0.0.1:8080"), ("0.0.0.0:", "http://127.0.0.1:8080"),
        ])
    func listening(listen: String, text: String) {
        #expect(GatewayAddress.text(environment: ["CARILLON_LISTEN": listen]) == text)
    }

    @Test(
        "refuses text that is no such URL, so that no request goes to an unintended port",
        arguments: [
            "127.0.0.1:8080", "ftp://127.0.0.1", "http://", "http://127.0.0.1:", "http://127.0.0.1:/",
            "https://[::1]:", "http://127.0.0.1:0", "http://127.0.0.1:65536", "http://127.0.0.1:port",
            "http://127.0.0.1:18446744073709551617", "https://[::1]:18446744073709551617",
        ])
    func refused(text: String) {
        let fault = #expect(throws: CommandFault.self) { try GatewayAddress.base(text) }
        #expect(fault?.kind == .usage && fault?.description.contains("is not a URL such as") == true)
    }

    @Test(
        "refuses a password or a query, and repeats neither in the error",
        arguments: [
            "http://frida:geheim@127.0.0.1:8080", "http://geheim@127.0.0.1", "https://:geheim@[::1]/",
            "http://127.0.0.1:8080?key=geheim", "http://127.0.0.1/?geheim", "http://127.0.0.1/#geheim",
            "http://frida:geheim@127.0.0.1:0", "ftp://frida:geheim@127.0.0.1", "frida:geheim@127.0.0.1:8080",
            "http://frida:ge heim@127.0.0.1", "http://127.0.0.1:port?geheim",
        ])
    func secretive(text: String) {
        let fault = #expect(throws: CommandFault.self) { try GatewayAddress.base(text) }
        #expect(fault?.kind == .usage && fault?.description.contains("heim") == false, "\(fault?.description ?? "")")
    }
}
