import Glibc
import Reactor
import Testing

@Suite("The search of PostgreSQL's log")
struct ServersLogTests {
    @Test("finds a logged token once, and reports a missing log")
    func finds() throws {
        let path = "/tmp/carillon-log-\(getpid())-\(Entropy.uint64())"
        defer { _ = unsafe unlink(path) }
        let log = ServersLog(path: path)
        #expect(log.secrets().count == 1, "a missing log is reported")
        let line = "DETAIL:  parameters: $1 = '\(GatewayWorld.token(7))'"
        let text = Array("LOG:  statement: SELECT 1\n\(line)\n".utf8)
        let file = unsafe open(path, O_CREAT | O_WRONLY, 0o600)
        #expect(unsafe write(file, text, text.count) == text.count)
        close(file)
        #expect(log.secrets() == [line])
        #expect(log.secrets() == [])
    }
}
