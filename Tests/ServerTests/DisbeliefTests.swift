import ArgumentParser
import CommandLine
import Foundation
import Server
import Testing

@Suite("A server that answers every command with nonsense", .timeLimit(.minutes(5)))
struct DisbeliefTests {
    private static let commands = [
        "apps list", "apps create garden", "apps delete garden --yes", "keys list --all-apps",
        "keys create x --all-apps --scopes devices", "keys revoke 3 --all-apps", "devices list --app garden",
        "devices show x --app garden", "devices remove x --app garden", "devices erase-user u --app garden --yes",
        "credentials list --app garden", "credentials activate 7 --app garden",
        "credentials retire 7 --app garden --yes", "credentials retire 7 --app garden",
        "credentials delete 7 --app garden --yes", "messages list --app garden", "messages show m --app garden",
        "messages watch m --app garden", "messages failures m --app garden", "messages push m x --app garden",
        "messages pause m --app garden", "messages resume m --app garden", "messages cancel m --app garden --yes",
        "messages cancel --last --app garden --yes", "messages edit m --app garden --name Noon",
        "messages duplicate m --app garden", "send --app garden --all --body Hello --count",
        "send --app garden --installation x --body Hello", "send --app garden --installation x --body Hello --detach",
    ]

    @Test("makes every command exit with 65", arguments: commands, ["null", "{}", #"{"items":[1,null],"next":null}"#])
    func disbelieved(command: String, answer: String) async throws {
        #expect(try await exitCode(of: command, reading: answer) == 65)
    }

    @Test(
        "makes commands exit with 65 if a count is not a natural number",
        arguments: ["1e999", "-1", "1.5", #""7""#])
    func absurd(audience: String) async throws {
        let row = #"{"id":"m","state":"finished","audience":\#(audience),"outcomes":{"accepted":7},"pending":0}"#
        let page = #"{"items":[\#(row)],"next":null}"#
        #expect(try await exitCode(of: "messages list --app garden", reading: page) == 65)
        #expect(try await exitCode(of: "messages watch m --app garden", reading: row) == 65)
        let believed = row.replacing(#""audience":\#(audience)"#, with: #""audience":7"#)
        #expect(try await exitCode(of: "messages watch m --app garden", reading: believed) == 0)
    }

    @Test(
        "causes an error that says what the answer should have been",
        arguments: [
            ("null", "not a list"), ("{}", "not a list"), (#"{"items":[1]}"#, "not a device"),
            (#"{"items":[{}]}"#, "not a device"),
        ])
    func reported(answer: String, arguments: String) async throws {
        let gateway = try await Listener(
            reporting: "HTTP/1.1 200 OK\r\ncontent-length: \(answer.utf8.count)\r\nconnection: close\r\n\r\n\(answer)")
        let client = GatewayClient(base: "http://127.0.0.1:\(gateway.port)", key: "none")
        let fault = await #expect(throws: CommandFault.self) { try await client.list("/v1/devices", of: .device) }
        #expect(fault?.description == "the gateway answered with something that is \(arguments)")
        try await gateway.close()
    }
}

/// Returns the exit code of a command whose server gives the same answer to every request.
func exitCode(of arguments: String, reading answer: String, key: [UInt8] = Array("none".utf8)) async throws -> Int32 {
    let gateway = try await Listener(
        reporting: "HTTP/1.1 200 OK\r\ncontent-length: \(answer.utf8.count)\r\nconnection: close\r\n\r\n\(answer)")
    let keyFile = FileManager.default.temporaryDirectory.appending(path: "key-\(UUID().uuidString)")
    try Data(key).write(to: keyFile)
    defer { try? FileManager.default.removeItem(at: keyFile) }
    let arguments =
        arguments.split(separator: " ").map(String.init) + [
            "--url", "http://127.0.0.1:\(gateway.port)", "--key-file", keyFile.path(percentEncoded: false),
        ]
    let parsed = try CarillonCommand.parseAsRoot(arguments)
    var command = try #require(parsed as? any AsyncParsableCommand)
    var code: Int32 = 0
    do { try await command.run() } catch let error as ExitCode { code = error.rawValue }
    try await gateway.close()
    return code
}
