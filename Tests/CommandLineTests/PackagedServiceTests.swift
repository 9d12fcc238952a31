import CommandLine
import Foundation
import Testing

@Suite("The installed service")
struct PackagedServiceTests {
    /// Makes a service's files as the package does, and removes them after the test.
    private func withService(_ settings: String, _ body: (PackagedService) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "service-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "settings.env")
        try Data(settings.utf8).write(to: file)
        try body(
            PackagedService(
                dataFolder: folder.path(percentEncoded: false), settingsFile: file.path(percentEncoded: false)))
    }

    @Test("has the settings that systemd reads in its file")
    func settings() {
        let text = """
            # The address.
            ; Another comment.
            CARILLON_LISTEN=0.0.0.0:8443

              CARILLON_TLS_KEY = /etc/carillon/a key.pem
            CARILLON_ADMIN_KEY="with=signs#and;more"
            CARILLON_LOG_FORMAT='json'
            CARILLON_FCM_URL=
            no setting
            """
        #expect(
            PackagedService.variables(in: text) == [
                "CARILLON_LISTEN": "0.0.0.0:8443", "CARILLON_TLS_KEY": "/etc/carillon/a key.pem",
                "CARILLON_ADMIN_KEY": "with=signs#and;more", "CARILLON_LOG_FORMAT": "json", "CARILLON_FCM_URL": "",
            ])
    }

    /// Each of these was given to systemd 252 too.
    @Test(
        "has each value as systemd reads it",
        arguments: [
            ("A=one\\\n  two\nB=3\n", ["A": "one  two", "B": "3"]), ("A=C:\\\\dir\\ name\n", ["A": "C:\\dir name"]),
            ("A=\"one \\\ntwo\"\n", ["A": "one two"]), ("A=\"one\ntwo\"\n", ["A": "one\ntwo"]),
            ("A=\"\\$x \\\" \\n\"\n", ["A": "$x \" \\n"]), ("A='one\\\ntwo'\n", ["A": "one\\\ntwo"]),
            ("A=\"one\" 'two' three\n", ["A": "onetwothree"]), ("A='  '\nB=  \n", ["A": "  ", "B": ""]),
            ("A=it's\nB=2", ["A": "it's", "B": "2"]), ("A=1 # no comment \n", ["A": "1 # no comment"]),
            ("# joined \\\nA=1\n ; B=2\r\nC=3\r\n", ["C": "3"]), ("A\\\n=1\nB=1\nB=2\n", ["B": "2"]),
        ])
    func systemd(text: String, variables: [String: String]) {
        #expect(PackagedService.variables(in: text) == variables, "\(text)")
    }

    @Test("gets none of the variables of a caller who names no gateway")
    func meant() throws {
        try withService("CARILLON_LISTEN=127.0.0.1:9000\n") { service throws in
            let caller = ["PATH": "/usr/bin", "CARILLON_LOG_LEVEL": "debug", "CARILLON_DATABASE_URL": ""]
            #expect(
                service.environment(of: caller, hasData: false) == [
                    "PATH": "/usr/bin", "CARILLON_DATA_DIR": service.dataFolder, "CARILLON_LISTEN": "127.0.0.1:9000",
                ])
            #expect(service.environment(of: caller, hasData: true) == nil)
        }
    }

    @Test(
        "gives way to a gateway that a variable names",
        arguments: ["CARILLON_DATA_DIR", "CARILLON_DATABASE_URL", "CARILLON_SETTINGS_FILE"])
    func notMeant(name: String) throws {
        try withService("") { service throws in
            #expect(service.environment(of: [name: "somewhere"], hasData: false) == nil)
        }
    }

    @Test("gives nothing where it is not installed")
    func absent() {
        let service = PackagedService(dataFolder: "/nowhere", settingsFile: "/nowhere/settings.env")
        #expect(!service.isHere && service.environment(of: [:], hasData: false) == nil)
    }

    @Test("gives commands its address, certificate and key, with relative paths in its folder")
    func asked() throws {
        let text = "CARILLON_LISTEN=127.0.0.1:8443\nCARILLON_TLS_CERTIFICATE=chain.pem\nCARILLON_ADMIN_KEY=its-key\n"
        try withService(text) { service throws in
            let found = service.asking(for: ["PATH": "/usr/bin", "CARILLON_APP": "weather"], hasData: false)
            #expect(
                found == [
                    "PATH": "/usr/bin", "CARILLON_APP": "weather", "CARILLON_DATA_DIR": service.dataFolder,
                    "CARILLON_LISTEN": "127.0.0.1:8443", "CARILLON_ADMIN_KEY": "its-key",
                    "CARILLON_TLS_CERTIFICATE": service.dataFolder + "/chain.pem",
                ])
            #expect(GatewayAddress.text(environment: found) == "https://127.0.0.1:8443")
        }
    }

    @Test(
        "gives commands neither its key nor its address if the caller names another address",
        arguments: [
            ["CARILLON_URL": "http://127.0.0.1:9"], ["CARILLON_LISTEN": "127.0.0.1:9"],
            ["CARILLON_LISTEN": "127.0.0.1:9", "CARILLON_URL": ""], ["CARILLON_URL": "http://127.0.0.1:8443"],
        ])
    func addressNamed(caller: [String: String]) throws {
        let text = "CARILLON_LISTEN=127.0.0.1:8443\nCARILLON_TLS_CERTIFICATE=/chain.pem\nCARILLON_ADMIN_KEY=its-key\n"
        try withService(text) { service throws in
            #expect(service.asking(for: caller, hasData: false) == caller)
            #expect(!service.isAsked(by: caller, hasData: false))
            let named = service.asking(for: ["PATH": "/usr/bin"], url: "http://127.0.0.1:9", hasData: false)
            #expect(named == ["PATH": "/usr/bin"])
        }
    }

    @Test(
        "gives commands its key if the caller names its own address",
        arguments: ["http://127.0.0.1:9000", "http://127.0.0.1:9000/"])
    func sameAddress(url: String) throws {
        try withService("CARILLON_LISTEN=0.0.0.0:9000\nCARILLON_ADMIN_KEY=its-key\n") { service throws in
            let named = service.asking(for: ["CARILLON_URL": url], hasData: false)
            #expect(named["CARILLON_ADMIN_KEY"] == "its-key")
            #expect(service.asking(for: [:], url: url, hasData: false)["CARILLON_ADMIN_KEY"] == "its-key")
            #expect(service.isAsked(by: [:], url: url, hasData: false))
        }
    }

    @Test("sends its key to no other gateway, and the error names that gateway")
    func otherGateway() throws {
        try withService("") { service throws in
            try Data("key-of-the-service\n".utf8).write(to: URL(filePath: service.dataFolder + "/admin-key"))
            let (caller, address) = (["CARILLON_URL": "http://127.0.0.1:9"], "http://127.0.0.1:9")
            let environment = service.asking(for: caller, hasData: false)
            let asked = service.isAsked(by: caller, hasData: false) ? service : nil
            let fault = #expect(throws: CommandFault.self) {
                try GatewayKey.read(
                    file: nil, environment: environment, here: "/nowhere", service: asked, for: address)
            }
            #expect(fault?.description.contains("no API key for \(address)") == true)
        }
    }

    @Test("gives commands what its JSON file says, unless a variable says otherwise")
    func settingsFile() throws {
        try withService("CARILLON_SETTINGS_FILE=more.json\nCARILLON_ADMIN_KEY=of-the-variable\n") { service throws in
            let json = #"{"listen": "127.0.0.1:9000", "admin_key": "of-the-file", "backlog_messages": 5}"#
            try Data(json.utf8).write(to: URL(filePath: service.dataFolder + "/more.json"))
            let found = service.asking(for: [:], hasData: false)
            #expect(found["CARILLON_LISTEN"] == "127.0.0.1:9000" && found["CARILLON_ADMIN_KEY"] == "of-the-variable")
        }
    }

    /// A service whose user was taken over must not make root's commands send it the admin key of another gateway.
    @Test("gives commands nothing of a JSON file behind its user's link", .enabled(if: geteuid() == 0))
    func linkedSettingsFile() throws {
        try withService("CARILLON_SETTINGS_FILE=more.json\n") { service throws in
            let (file, link) = (service.dataFolder + "/of-root.json", service.dataFolder + "/more.json")
            try Data(#"{"admin_key": "of-root"}"#.utf8).write(to: URL(filePath: file))
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
            #expect(service.asking(for: [:], hasData: false)["CARILLON_ADMIN_KEY"] == "of-root", "the link is root's")
            #expect(unsafe lchown(link, 65_534, 65_534) == 0)
            #expect(service.asking(for: [:], hasData: false)["CARILLON_ADMIN_KEY"] == nil)
        }
    }

    @Test("gives commands nothing if the caller's folder or variables name another gateway")
    func notAsked() throws {
        try withService("CARILLON_LISTEN=127.0.0.1:8443\n") { service throws in
            #expect(service.asking(for: [:], hasData: true) == [:])
            #expect(!service.isAsked(by: [:], hasData: true))
            let other = ["CARILLON_DATA_DIR": "/srv/other"]
            #expect(service.asking(for: other, hasData: false) == other && !service.isAsked(by: other, hasData: false))
        }
    }

    /// A service whose user was taken over must not make root's commands send root's secrets to it.
    @Test("gives commands no key that is a link, or that has not a key's form", arguments: ["link", "text"])
    func forgedKey(kind: String) throws {
        try withService("") { service throws in
            let (file, secret) = (service.dataFolder + "/admin-key", service.dataFolder + "/of-root")
            try Data("root:$y$j9T$kq0:20000:0:99999:7:::\n".utf8).write(to: URL(filePath: secret))
            if kind == "link" {
                try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: secret)
            } else {
                try FileManager.default.moveItem(atPath: secret, toPath: file)
            }
            let fault = #expect(throws: CommandFault.self) {
                try GatewayKey.read(file: nil, environment: [:], here: "/nowhere", service: service)
            }
            #expect(fault?.kind == .noPermission && fault?.description.contains(file) == true)
            #expect(fault?.description.contains("99999") == false)
        }
    }

    @Test("gives commands its key, and else an error that names the key's file and what to do")
    func key() throws {
        try withService("") { service throws in
            let file = service.dataFolder + "/admin-key"
            let fault = #expect(throws: CommandFault.self) {
                try GatewayKey.read(file: nil, environment: [:], here: "/nowhere", service: service)
            }
            #expect(fault?.kind == .noPermission && fault?.description.contains(file) == true)
            #expect(fault?.description.contains("CARILLON_ADMIN_KEY") == true)
            let key = "key-of-the-service"
            try Data("\(key)\n".utf8).write(to: URL(filePath: file))
            #expect(try GatewayKey.read(file: nil, environment: [:], here: "/nowhere", service: service) == key)
            #expect(try GatewayKey.read(file: nil, environment: [:], here: service.dataFolder) == key)
        }
    }
}
